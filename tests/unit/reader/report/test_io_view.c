/* SPDX-License-Identifier: GPL-2.0-only */
/* How reads and writes are printed: reader/report/io_view.h. tests/unit/command/cases/report.txt
 * has whole tables. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/formats.h"
#include "record/sample.h"

static struct tally io;

static int set_up(void **state)
{
	struct filter filter = { 0 };

	(void)state;
	tally_init(&io, &io_subject, &filter, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tally_deinit(&io);
	return 0;
}

/* Adds a record of a line (sample_record). */
__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	static struct record_view view;
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	sample_decode(&sample, &view);
	assert_int_equal(tally_add(&io, &view), 0);
	msgpack_sbuffer_destroy(&sample.buffer);
}

/* Adds an io record of a request in an endpoint: its fields, as in a line. */
static void add_io(const char *request_id, const char *endpoint, const char *fields)
{
	add("io pid=7 tid=8 request_id=\"%s\" endpoint=\"%s\" %s", request_id, endpoint, fields);
}

static void add_lost(int64_t lost)
{
	add("balance pid=7 window_ns=1000 exec_ns=0 attributed_ns=0 unattributed_ns=0 "
	    "overflow_ns=0 residual_ns=0 io_lost=%ld",
	    lost);
}

/* Two requests of an endpoint, and none. */
static void add_some(void)
{
	add("meta pid=7 keys=[request_id endpoint]");
	add("cpu pid=7 tid=8 request_id=a endpoint=\"GET /a\" cpu_ns=1");
	add("cpu pid=7 tid=8 request_id=b endpoint=\"GET /a\" cpu_ns=1");
	add_io("a", "GET /a",
	       "io_on=tcp peer=10.0.0.5:5432 io_calls=4 in_bytes=2048 out_bytes=100 connects=2 "
	       "connect_ns=3000");
	add_io("b", "GET /a",
	       "io_on=dns peer=10.0.0.2:53 io_calls=2 in_bytes=60 out_bytes=30 connects=1 "
	       "connect_ns=1 answers=2 answer_ns=5000");
	add_io("a", "GET /a",
	       "io_on=tcp peer=0.0.0.0:3000 accepted=true io_calls=1 in_bytes=7 out_bytes=8");
	add_io("", "", "io_on=file io_calls=1 in_bytes=5 out_bytes=0");
}

typedef int (*format_fn)(const struct tally *io, const struct tally_view_options *options,
			 FILE *out);

static char *print(format_fn format, size_t width, size_t top_count)
{
	const struct tally_view_options options = { .width = width, .top_count = top_count };
	char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(tally_finish(&io), 0);
	assert_int_equal(format(&io, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(format_fn format, size_t width, size_t top_count, const char *wanted)
{
	char *text = print(format, width, top_count);

	assert_string_equal(text, wanted);
	free(text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(io_table_shows_ends_of_each_group)
{
	add_some();
	expect(io_view_print, 80, 0,
	       "endpoint                       calls       in    out  connects    answer\n"
	       "GET /a                             7  2.1 KiB  138 B         3         -\n"
	       "  tcp 10.0.0.5:5432                4  2.0 KiB  100 B         2  1.500 us\n"
	       "  dns 10.0.0.2:53                  2     60 B   30 B         1  2.500 us\n"
	       "  tcp clients of 0.0.0.0:3000      1      7 B    8 B         0         -\n"
	       "unattributed                       1      5 B    0 B         0         -\n"
	       "  file                             1      5 B    0 B         0         -\n"
	       "────────────────────────────────────────────────────────────────────────\n"
	       "total                              8  2.1 KiB  138 B         3         -\n"
	       "… 4 more columns on a wider screen\n"
	       "\n"
	       "What io_uring and memory-mapped files transfer is not seen.\n");
}

FIXTURE_TEST(io_table_sums_ends_beyond_top_count)
{
	add_some();
	add_io("c", "GET /c", "io_on=file io_calls=1 in_bytes=1 out_bytes=1");
	expect(io_view_print, 60, 1,
	       "endpoint             calls       in    out    answer\n"
	       "GET /a                   7  2.1 KiB  138 B         -\n"
	       "  tcp 10.0.0.5:5432      4  2.0 KiB  100 B  1.500 us\n"
	       "  … 2 more               3     67 B   38 B         -\n"
	       "unattributed             1      5 B    0 B         -\n"
	       "  file                   1      5 B    0 B         -\n"
	       "… 1 more                 1      1 B    1 B         -\n"
	       "────────────────────────────────────────────────────\n"
	       "total                    9  2.1 KiB  139 B         -\n"
	       "… 5 more columns on a wider screen\n"
	       "\n"
	       "What io_uring and memory-mapped files transfer is not seen.\n");
}

FIXTURE_TEST(io_table_divides_by_requests_on_wide_screen)
{
	char *text;

	add_some();
	text = print(io_view_print, 140, 1);
	assert_non_null(strstr(text, "  2      7        3.5  2.1 KiB       1.0 KiB"));
	free(text);
}

FIXTURE_TEST(io_csv_has_line_per_end)
{
	add_some();
	expect(print_io_csv, 0, 0,
	       "row,endpoint,requests,io_on,peer,accepted,io_calls,in_bytes,out_bytes,connects,"
	       "connect_ns,answers,answer_ns\r\n"
	       "group,GET /a,2,tcp,10.0.0.5:5432,,4,2048,100,2,3000,0,0\r\n"
	       "group,GET /a,2,dns,10.0.0.2:53,,2,60,30,1,1,2,5000\r\n"
	       "group,GET /a,2,tcp,0.0.0.0:3000,true,1,7,8,0,0,0,0\r\n"
	       "unattributed,,,file,,,1,5,0,0,0,0,0\r\n");
}

FIXTURE_TEST(io_ndjson_has_line_per_end)
{
	add_io("a", "GET /a", "io_on=unix peer=/run/s accepted=true io_calls=1");
	expect(print_io_ndjson, 0, 0,
	       "{\"by\":\"endpoint\",\"row\":\"group\",\"endpoint\":\"GET /a\",\"requests\":1,"
	       "\"io_on\":\"unix\",\"peer\":\"/run/s\",\"accepted\":true,\"io_calls\":1,"
	       "\"in_bytes\":0,\"out_bytes\":0,\"connects\":0,\"connect_ns\":0,\"answers\":0,"
	       "\"answer_ns\":0}\n");
}

FIXTURE_TEST(io_json_lists_ends_of_each_group)
{
	json_t *root, *total, *groups, *end;
	char *text;

	add_some();
	add_lost(3);
	text = print(print_io_json, 0, 0);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	total = json_object_get(root, "total");
	assert_int_equal(json_integer_value(json_object_get(total, "in_bytes")), 2120);
	assert_int_equal(json_integer_value(json_object_get(total, "io_lost")), 3);
	assert_int_equal(json_object_size(total), _IO_NUMBER_MAX + 1);
	groups = json_object_get(root, "groups");
	assert_int_equal(json_array_size(groups), 2);
	end = json_array_get(json_object_get(json_array_get(groups, 0), "on"), 2);
	assert_true(json_is_true(json_object_get(end, "accepted")));
	assert_string_equal(json_string_value(json_object_get(end, "peer")), "0.0.0.0:3000");
	json_decref(root);
	free(text);
}

FIXTURE_TEST(io_table_reports_lost_calls)
{
	char *text;

	add_some();
	add_lost(1);
	text = print(io_view_print, 100, 0);
	assert_non_null(strstr(text, "\n1 call (of all processes) is in no record,"));
	free(text);
	add_lost(1999);
	text = print(io_view_print, 100, 0);
	assert_non_null(strstr(text, "\n2,000 calls (of all processes) are in no record,"));
	free(text);
}

FIXTURE_TEST(io_table_escapes_control_characters)
{
	char *text;

	add_io("a", "GET /\x1b[31m", "io_on=\"un\tix\" peer=\"/run/\x1b[31m\" io_calls=1");
	text = print(io_view_print, 100, 0);
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\t'));
	assert_non_null(strstr(text, "/run/\\x1b[31m"));
	free(text);
}

FIXTURE_TEST(io_table_bounds_long_names)
{
	char peer[2000];
	char *text;

	memset(peer, '\x01', sizeof(peer) - 1);
	peer[sizeof(peer) - 1] = '\0';
	add("io pid=7 tid=8 request_id=a endpoint=a io_on=unix peer=\"%s\" in_bytes=%ld", peer,
	    INT64_MAX);
	text = print(io_view_print, 100, 0);
	assert_non_null(strstr(text, "8.0 EiB"));
	assert_true(strchr(text, '\n') - text <= 100);
	free(text);
}

FIXTURE_TEST(io_view_returns_enomem_without_memory)
{
	const struct tally_view_options options = { .width = 80 };

	add_some();
	assert_int_equal(tally_finish(&io), 0);
	for (size_t given = 0; given < 2; given++) {
		memory_fails_after(given);
		assert_int_equal(io_view_print(&io, &options, stdout), -ENOMEM);
		memory_never_fails();
	}
}
