/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries for tests, from lines of text, so that odd ones can be made too:
 *
 *   sample_record(&sample, "cpu pid=42 tid=%d request_id=r-1 flags=[inherited]", tid);
 *   sample_decode(&sample, &view);
 *
 * A line is as by printf: the kind of the record, then fields, NAME=VALUE, with blanks between. A
 * VALUE is a whole number, true, false, nil, a text, or an array of these, [VALUE VALUE]. A text
 * with a blank, or that would be read as something else, stands in double quotes, in which a
 * backslash takes the next character as it is. Fields are written in the order of the line.
 */
#pragma once

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>
#include <msgpack.h>

#include "record/record_view.h"

enum {
	SAMPLE_LINE_BYTES = 2 * RECORD_VIEW_TEXT_BYTES_MAX, /* with its NUL */
};

struct sample {
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	size_t map_offset;
	uint16_t field_count;
};

static inline void sample_pack_text(msgpack_packer *packer, const char *text, size_t size_bytes)
{
	msgpack_pack_str_with_body(packer, text, size_bytes);
}

/* Packs the text in double quotes that *line begins with, and moves *line behind it. */
static inline void sample_pack_quoted(msgpack_packer *packer, const char **line)
{
	char text[SAMPLE_LINE_BYTES];
	size_t size_bytes = 0;
	const char *c = *line + 1;

	for (; *c != '"'; c++) {
		if (*c == '\\')
			c++;
		assert_int_not_equal(*c, '\0');
		text[size_bytes++] = *c;
	}
	sample_pack_text(packer, text, size_bytes);
	*line = c + 1;
}

/* The same of a value without quotes. */
static inline void sample_pack_word(msgpack_packer *packer, const char **line)
{
	size_t size_bytes = strcspn(*line, " ]");
	char word[SAMPLE_LINE_BYTES];
	char *end;
	long long number;

	memcpy(word, *line, size_bytes);
	word[size_bytes] = '\0';
	*line += size_bytes;
	errno = 0;
	number = strtoll(word, &end, 10);
	if (*word && !*end && errno == ERANGE && number > 0)
		msgpack_pack_uint64(packer, strtoull(word, NULL, 10));
	else if (*word && !*end)
		msgpack_pack_int64(packer, number);
	else if (!strcmp(word, "true"))
		msgpack_pack_true(packer);
	else if (!strcmp(word, "false"))
		msgpack_pack_false(packer);
	else if (!strcmp(word, "nil"))
		msgpack_pack_nil(packer);
	else
		sample_pack_text(packer, word, size_bytes);
}

/* The same of an array. */
static inline void sample_pack_array(msgpack_packer *packer, const char **line)
{
	msgpack_sbuffer values;
	msgpack_packer inner;
	size_t count = 0;

	msgpack_sbuffer_init(&values);
	msgpack_packer_init(&inner, &values, msgpack_sbuffer_write);
	for (++*line; **line != ']'; count++) {
		assert_int_not_equal(**line, '\0');
		if (**line == '"')
			sample_pack_quoted(&inner, line);
		else
			sample_pack_word(&inner, line);
		*line += strspn(*line, " ");
	}
	++*line;
	msgpack_pack_array(packer, count);
	packer->callback(packer->data, values.data, values.size);
	msgpack_sbuffer_destroy(&values);
}

static inline void sample_pack_fields(struct sample *sample, const char *line)
{
	for (line += strspn(line, " "); *line; line += strspn(line, " ")) {
		size_t name_bytes = strcspn(line, "= ");

		assert_int_equal(line[name_bytes], '=');
		sample_pack_text(&sample->packer, line, name_bytes);
		line += name_bytes + 1;
		if (*line == '"')
			sample_pack_quoted(&sample->packer, &line);
		else if (*line == '[')
			sample_pack_array(&sample->packer, &line);
		else
			sample_pack_word(&sample->packer, &line);
		sample->field_count++;
	}
}

/* Adds fields: a line without a kind. */
__attribute__((format(printf, 2, 0))) static inline void
sample_fields_v(struct sample *sample, const char *format, va_list values)
{
	char line[SAMPLE_LINE_BYTES];

	assert_in_range(vsnprintf(line, sizeof(line), format, values), 0, sizeof(line) - 1);
	sample_pack_fields(sample, line);
}

__attribute__((format(printf, 2, 3))) static inline void sample_fields(struct sample *sample,
								       const char *format, ...)
{
	va_list values;

	va_start(values, format);
	sample_fields_v(sample, format, values);
	va_end(values);
}

/* Starts an entry at wall clock 1700000001 s. */
static inline void sample_begin_empty(struct sample *sample)
{
	static const char time_bytes[8] = { 0x65, 0x53, (char)0xf1, 0x01 };

	msgpack_sbuffer_init(&sample->buffer);
	msgpack_packer_init(&sample->packer, &sample->buffer, msgpack_sbuffer_write);
	sample->field_count = 0;
	msgpack_pack_array(&sample->packer, 2);
	msgpack_pack_ext_with_body(&sample->packer, time_bytes, sizeof(time_bytes), 0);
	sample->map_offset = sample->buffer.size;
	msgpack_sbuffer_write(&sample->buffer, "\xde\0\0", 3);
}

/*
 * Starts a record of schema 1 at wall clock 1700000001 s, of a line. Fields that each record has,
 * and that the line does not name, stand before its own: record_id=id host_name=web-1.
 */
__attribute__((format(printf, 2, 0))) static inline void
sample_record_v(struct sample *sample, const char *format, va_list values)
{
	char line[SAMPLE_LINE_BYTES];
	size_t kind_bytes;

	assert_in_range(vsnprintf(line, sizeof(line), format, values), 0, sizeof(line) - 1);
	kind_bytes = strcspn(line, " ");
	sample_begin_empty(sample);
	sample_fields(sample, "schema=1 kind=%.*s", (int)kind_bytes, line);
	if (!strstr(line, " record_id="))
		sample_pack_fields(sample, "record_id=id");
	if (!strstr(line, " host_name="))
		sample_pack_fields(sample, "host_name=web-1");
	sample_pack_fields(sample, line + kind_bytes);
}

__attribute__((format(printf, 2, 3))) static inline void sample_record(struct sample *sample,
								       const char *format, ...)
{
	va_list values;

	va_start(values, format);
	sample_record_v(sample, format, values);
	va_end(values);
}

/* The entry is of this time instead. */
static inline void sample_set_time(struct sample *sample, uint32_t s, uint32_t ns)
{
	for (int i = 0; i < 4; i++) {
		sample->buffer.data[3 + i] = (char)(s >> (24 - 8 * i));
		sample->buffer.data[7 + i] = (char)(ns >> (24 - 8 * i));
	}
}

static inline void sample_end(struct sample *sample)
{
	sample->buffer.data[sample->map_offset + 1] = (char)(sample->field_count >> 8);
	sample->buffer.data[sample->map_offset + 2] = (char)sample->field_count;
}

/* Ends the sample; the view lives as long as its buffer. */
static inline void sample_decode(struct sample *sample, struct record_view *ret_view)
{
	sample_end(sample);
	assert_int_equal(record_view_decode((const uint8_t *)sample->buffer.data,
					    sample->buffer.size, ret_view),
			 0);
}

/*
 * A record of a thread's CPU time, with the other figures of such records. The texts here and below
 * stand in double quotes: see above.
 */
static inline void sample_begin_cpu(struct sample *sample, int64_t pid, int64_t tid,
				    const char *request_id, int64_t user_ns, int64_t kernel_ns)
{
	sample_record(sample,
		      "cpu pid=%ld tid=%ld request_id=\"%s\" cpu_ns=%ld user_ns=%ld kernel_ns=%ld "
		      "run_queue_ns=1 blocked_ns=2 slices=3 switches_voluntary=4 "
		      "switches_involuntary=5 ambiguous_ns=0",
		      pid, tid, request_id, user_ns + kernel_ns, user_ns, kernel_ns);
}

/* A stack record of what another one called; parent_id: NULL: nothing did. */
static inline void sample_begin_frame(struct sample *sample, int64_t pid, const char *id,
				      const char *parent_id, const char *name, const char *kind)
{
	sample_record(sample, "stack pid=%ld stack_id=\"%s\"", pid, id);
	if (parent_id)
		sample_fields(sample, "parent_id=\"%s\"", parent_id);
	sample_fields(sample, "name=\"%s\" frame_kind=\"%s\"", name, kind);
}
