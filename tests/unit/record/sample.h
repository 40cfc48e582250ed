/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries for tests, built field by field, so that odd ones can be made too.
 */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>
#include <msgpack.h>

#include "record/record_view.h"

struct sample {
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	size_t map_offset;
	uint16_t field_count;
};

static inline void sample_text(struct sample *sample, const char *name, const char *text)
{
	msgpack_pack_str_with_body(&sample->packer, name, strlen(name));
	msgpack_pack_str_with_body(&sample->packer, text, strlen(text));
	sample->field_count++;
}

static inline void sample_number(struct sample *sample, const char *name, int64_t number)
{
	msgpack_pack_str_with_body(&sample->packer, name, strlen(name));
	msgpack_pack_int64(&sample->packer, number);
	sample->field_count++;
}

static inline void sample_true(struct sample *sample, const char *name)
{
	msgpack_pack_str_with_body(&sample->packer, name, strlen(name));
	msgpack_pack_true(&sample->packer);
	sample->field_count++;
}

static inline void sample_flag(struct sample *sample, const char *flag)
{
	msgpack_pack_str_with_body(&sample->packer, "flags", 5);
	msgpack_pack_array(&sample->packer, 1);
	msgpack_pack_str_with_body(&sample->packer, flag, strlen(flag));
	sample->field_count++;
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

/* The same, of schema 1. */
static inline void sample_begin_on(struct sample *sample, const char *host, const char *kind,
				   int64_t pid)
{
	sample_begin_empty(sample);
	sample_number(sample, "schema", 1);
	sample_text(sample, "kind", kind);
	sample_text(sample, "record_id", "id");
	sample_text(sample, "host_name", host);
	sample_number(sample, "pid", pid);
}

static inline void sample_begin(struct sample *sample, const char *kind, int64_t pid)
{
	sample_begin_on(sample, "web-1", kind, pid);
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

static inline void sample_begin_cpu(struct sample *sample, int64_t pid, int64_t tid,
				    const char *request_id, int64_t user_ns, int64_t kernel_ns)
{
	sample_begin(sample, "cpu", pid);
	sample_number(sample, "tid", tid);
	sample_text(sample, "request_id", request_id);
	sample_number(sample, "cpu_ns", user_ns + kernel_ns);
	sample_number(sample, "user_ns", user_ns);
	sample_number(sample, "kernel_ns", kernel_ns);
	sample_number(sample, "run_queue_ns", 1);
	sample_number(sample, "blocked_ns", 2);
	sample_number(sample, "slices", 3);
	sample_number(sample, "switches_voluntary", 4);
	sample_number(sample, "switches_involuntary", 5);
	sample_number(sample, "ambiguous_ns", 0);
}

/* A stack record of what another one called; parent_id: NULL: nothing did. */
static inline void sample_begin_frame(struct sample *sample, int64_t pid, const char *id,
				      const char *parent_id, const char *name, const char *kind)
{
	sample_begin(sample, "stack", pid);
	sample_text(sample, "stack_id", id);
	if (parent_id)
		sample_text(sample, "parent_id", parent_id);
	sample_text(sample, "name", name);
	sample_text(sample, "frame_kind", kind);
}
