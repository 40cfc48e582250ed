/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "reader/report/json_record.h"

#include <stdlib.h>

#include "reader/report/json_part.h"
#include "record/sample.h"

static struct sample sample;
static struct record_view view;

typedef int (*print_fn)(const struct record_view *record, FILE *out);

static char *print(print_fn print_record)
{
	size_t size_bytes = 0;
	char *line = NULL;
	FILE *out = open_memstream(&line, &size_bytes);

	assert_non_null(out);
	assert_int_equal(print_record(&view, out), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(line), size_bytes);
	return line;
}

/* What is behind that which every sample has. It is what the library says, too, which keeps the
 * whole of it in memory. */
static void expect(const char *rest)
{
	static const char begin_of_all[] = "{\"wall_ns\":1700000001000000000,\"schema\":1,\"kind\":"
					   "\"cpu\",\"record_id\":\"id\",\"host_name\":\"web-1\","
					   "\"pid\":7";
	char *line, *by_library;

	sample_decode(&sample, &view);
	line = print(json_record_print);
	by_library = print(json_part_print_record);
	assert_string_equal(line, by_library);
	assert_memory_equal(line, begin_of_all, sizeof(begin_of_all) - 1);
	if (rest)
		assert_string_equal(line + sizeof(begin_of_all) - 1, rest);
	free(line);
	free(by_library);
	msgpack_sbuffer_destroy(&sample.buffer);
}

TEST(json_record_is_one_line_with_fields_in_order)
{
	sample_record(&sample, "cpu pid=7");
	expect("}\n");
	sample_record(&sample, "cpu pid=7 endpoint=\"GET /a b~\" =0 request_id=");
	expect(",\"endpoint\":\"GET /a b~\",\"\":0,\"request_id\":\"\"}\n");
}

TEST(json_record_prints_integers_exactly)
{
	sample_record(&sample, "cpu pid=7 a=9 b=10 c=-1 d=-1234567890 e=9223372036854775807 "
			       "f=-9223372036854775808");
	expect(",\"a\":9,\"b\":10,\"c\":-1,\"d\":-1234567890,\"e\":9223372036854775807,"
	       "\"f\":-9223372036854775808}\n");
}

TEST(json_record_prints_booleans_null_and_lists)
{
	sample_record(&sample,
		      "cpu pid=7 yes=true no=false nothing=nil none=[] two=[a \"\\\"\n\"]");
	expect(",\"yes\":true,\"no\":false,\"nothing\":null,\"none\":[],"
	       "\"two\":[\"a\",\"\\\"\\\\x0a\"]}\n");
}

/* Not of a line, which has a meaning for some of their bytes. */
static void add_text(const char *name, const char *text)
{
	sample_pack_text(&sample.packer, name, strlen(name));
	sample_pack_text(&sample.packer, text, strlen(text));
	sample.field_count++;
}

TEST(json_record_escapes_quotes_and_control_characters)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "\"", "\\\"" },
		{ "a\\", "a\\\\" },
		{ "\x1b[31m", "\\\\x1b[31m" },
		{ "\x1f", "\\\\x1f" },
		{ "\x7f", "\\\\x7f" },
		{ "\xff", "\\\\xff" },
		{ "a\xc2\x85", "a\\\\xc2\\\\x85" },
		{ "\xe2\x80\x8b", "\\\\xe2\\\\x80\\\\x8b" }, /* it has no width */
		{ "caf\xc3\xa9 \"\xf0\x9f\x98\x80\"", "caf\xc3\xa9 \\\"\xf0\x9f\x98\x80\\\"" },
	};
	char expected[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sample_record(&sample, "cpu pid=7");
		add_text("endpoint", cases[i].text);
		(void)snprintf(expected, sizeof(expected), ",\"endpoint\":\"%s\"}\n",
			       cases[i].expected);
		expect(expected);
		sample_record(&sample, "cpu pid=7");
		add_text(cases[i].text, "x");
		(void)snprintf(expected, sizeof(expected), ",\"%s\":\"x\"}\n", cases[i].expected);
		expect(expected);
	}
}

TEST(json_record_keeps_last_value_of_duplicate_member)
{
	sample_record(&sample, "cpu pid=7 a=first b=x a=last");
	expect(",\"a\":\"last\",\"b\":\"x\"}\n");
	/* Only once they are escaped. */
	sample_record(&sample, "cpu pid=7 \xff=first \\xff=last");
	expect(",\"\\\\xff\":\"last\"}\n");
	sample_record(&sample, "cpu pid=7 pid=7");
	expect("}\n");
}

TEST(json_record_field_wall_ns_replaces_record_time)
{
	char *line;

	sample_record(&sample, "cpu pid=7 wall_ns=5");
	sample_decode(&sample, &view);
	line = print(json_record_print);
	assert_memory_equal(line, "{\"wall_ns\":5,\"schema\"", 21);
	free(line);
	msgpack_sbuffer_destroy(&sample.buffer);
}

/* Longer than what is collected, and of just that size. */
TEST(json_record_prints_lines_longer_than_buffer)
{
	static char text[RECORD_VIEW_TEXT_BYTES_MAX + 1];

	for (size_t size_bytes = 3900; size_bytes < 4096; size_bytes++) {
		memset(text, 'x', size_bytes);
		text[size_bytes] = '\0';
		sample_record(&sample, "cpu pid=7 long=%s", text);
		expect(NULL);
	}
	sample_record(&sample, "cpu pid=7");
	for (int i = 0; i < 20; i++) {
		memset(text, i % 2 ? 'x' : '\x01', RECORD_VIEW_TEXT_BYTES_MAX);
		sample_fields(&sample, "long-%d=%s", i, text);
	}
	expect(NULL);
}
