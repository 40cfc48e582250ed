/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/json_record.h"

#include <string.h>

#include "base/display.h"
#include "reader/report/json_part.h"

enum {
	LINE_BYTES = 4096,
	DIGITS_MAX = 20,
	ESCAPED_BYTES = 4 * RECORD_VIEW_TEXT_BYTES_MAX + 1,
};

static const char wall_name[] = "wall_ns";

/* Output that is not written yet. */
struct line {
	FILE *out;
	size_t used_bytes;
	char bytes[LINE_BYTES];
};

static void flush(struct line *line)
{
	(void)fwrite(line->bytes, 1, line->used_bytes, line->out);
	line->used_bytes = 0;
}

static void put(struct line *line, const char *bytes, size_t size_bytes)
{
	while (size_bytes > 0) {
		size_t room_bytes = LINE_BYTES - line->used_bytes;
		size_t step_bytes = size_bytes < room_bytes ? size_bytes : room_bytes;

		memcpy(line->bytes + line->used_bytes, bytes, step_bytes);
		line->used_bytes += step_bytes;
		bytes += step_bytes;
		size_bytes -= step_bytes;
		if (line->used_bytes == LINE_BYTES)
			flush(line);
	}
}

static void put_byte(struct line *line, char byte)
{
	put(line, &byte, 1);
}

static void put_word(struct line *line, const char *word)
{
	put(line, word, strlen(word));
}

static void put_integer(struct line *line, int64_t integer)
{
	char digits[DIGITS_MAX], *next = digits + DIGITS_MAX;
	uint64_t rest = integer < 0 ? -(uint64_t)integer : (uint64_t)integer;

	do
		*--next = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (integer < 0)
		*--next = '-';
	put(line, next, (size_t)(digits + DIGITS_MAX - next));
}

/* Whether JSON needs no escapes: printable ASCII without quotes and backslashes. */
static bool is_plain(struct record_text text)
{
	bool is_odd = false;

	/* No early exit, so that the compiler can check many bytes at once. */
	for (size_t i = 0; i < text.size_bytes; i++) {
		unsigned char byte = (unsigned char)text.bytes[i];

		is_odd |= byte < 0x20 || byte > 0x7e || byte == '"' || byte == '\\';
	}
	return !is_odd;
}

/* display_escape() returns UTF-8 without control characters: only quotes and backslashes are left
 * to escape. */
static void put_escaped(struct line *line, struct record_text text)
{
	char escaped[ESCAPED_BYTES];
	size_t size_bytes = display_escape(text.bytes, text.size_bytes, escaped, sizeof(escaped));

	for (size_t i = 0; i < size_bytes; i++) {
		if (escaped[i] == '"' || escaped[i] == '\\')
			put_byte(line, '\\');
		put_byte(line, escaped[i]);
	}
}

static void put_text(struct line *line, struct record_text text)
{
	put_byte(line, '"');
	if (is_plain(text))
		put(line, text.bytes, text.size_bytes);
	else
		put_escaped(line, text);
	put_byte(line, '"');
}

static void put_list(struct line *line, const struct record_field *field)
{
	put_byte(line, '[');
	for (size_t i = 0; i < field->item_count; i++) {
		if (i > 0)
			put_byte(line, ',');
		put_text(line, field->items[i]);
	}
	put_byte(line, ']');
}

static void put_value(struct line *line, const struct record_field *field)
{
	switch (field->value) {
	case RECORD_VALUE_INTEGER:
		put_integer(line, field->integer);
		break;
	case RECORD_VALUE_BOOL:
		put_word(line, field->integer ? "true" : "false");
		break;
	case RECORD_VALUE_TEXT:
		put_text(line, field->text);
		break;
	case RECORD_VALUE_LIST:
		put_list(line, field);
		break;
	default:
		put_word(line, "null");
		break;
	}
}

static bool is_same(struct record_text a, struct record_text b)
{
	return a.size_bytes == b.size_bytes && memcmp(a.bytes, b.bytes, a.size_bytes) == 0;
}

/* Whether each field is a member of its own. Names that are not plain may be equal once escaped. */
static bool has_distinct_names(const struct record_view *record)
{
	for (size_t i = 0; i < record->field_count; i++) {
		struct record_text name = record->fields[i].name;

		if (!is_plain(name) || record_text_is(name, wall_name))
			return false;
		for (size_t j = 0; j < i; j++)
			if (is_same(record->fields[j].name, name))
				return false;
	}
	return true;
}

static void put_fields(struct line *line, const struct record_view *record)
{
	for (size_t i = 0; i < record->field_count; i++) {
		const struct record_field *field = &record->fields[i];

		put_word(line, ",\"");
		put(line, field->name.bytes, field->name.size_bytes);
		put_word(line, "\":");
		put_value(line, field);
	}
}

int json_record_print(const struct record_view *record, FILE *out)
{
	struct line line;

	/* Not one of our records: jansson replaces members of the same name. */
	if (!has_distinct_names(record))
		return json_part_print_record(record, out);
	line.out = out;
	line.used_bytes = 0;
	put_word(&line, "{\"");
	put_word(&line, wall_name);
	put_word(&line, "\":");
	put_integer(&line, (int64_t)record->wall_ns);
	put_fields(&line, record);
	put_byte(&line, '}');
	flush(&line);
	/* Written on its own: if writing failed, the stream still has something to write, and its
	 * flush reports the cause. */
	(void)fputc('\n', out);
	return 0;
}
