/* SPDX-License-Identifier: GPL-2.0-only */
/* Which calls are whose, and how they are printed: reader/aggregate/syscalls.h,
 * reader/report/syscalls_view.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/formats.h"
#include "record/sample.h"

static struct tally syscalls;
static size_t successes = SIZE_MAX; /* that memory is given while a record is added */

static void begin_with(const char *by, const char *where)
{
	struct filter filter = { 0 };

	if (where)
		assert_int_equal(filter_add(&filter, where), 0);
	tally_init(&syscalls, &syscalls_subject, &filter, by);
}

static int set_up(void **state)
{
	(void)state;
	begin_with(NULL, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tally_deinit(&syscalls);
	return 0;
}

static int add(struct sample *sample)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	memory_fails_after(successes);
	r = tally_add(&syscalls, &view);
	memory_never_fails();
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* Adds a record of a line (sample_record). */
__attribute__((format(printf, 1, 2))) static void add_record(const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(add(&sample), 0);
}

static void begin_record(struct sample *sample, const char *kind, const char *request_id,
			 const char *endpoint)
{
	sample_record(sample, "%s pid=7 tid=8", kind);
	if (request_id)
		sample_fields(sample, "request_id=%s", request_id);
	if (endpoint)
		sample_fields(sample, "endpoint=\"%s\"", endpoint);
}

static void add_cpu(const char *request_id, const char *endpoint, int64_t calls)
{
	struct sample sample;

	begin_record(&sample, "cpu", request_id, endpoint);
	sample_fields(&sample, "cpu_ns=1000 syscalls=%ld", calls);
	assert_int_equal(add(&sample), 0);
}

static int try_call(const char *request_id, const char *endpoint, const char *name, const char *abi,
		    int64_t calls)
{
	struct sample sample;

	begin_record(&sample, "syscall", request_id, endpoint);
	sample_fields(&sample, "syscall=\"%s\"", name);
	if (abi)
		sample_fields(&sample, "syscall_abi=%s", abi);
	sample_fields(&sample, "syscalls=%ld inside_ns=%ld", calls, 10 * calls);
	return add(&sample);
}

static void add_call(const char *request_id, const char *endpoint, const char *name, int64_t calls)
{
	assert_int_equal(try_call(request_id, endpoint, name, NULL, calls), 0);
}

static void add_meta(const char *key)
{
	add_record("meta pid=7 keys=[request_id %s]", key);
}

static void add_balance(int64_t lost)
{
	add_record("balance pid=7 window_ns=1000 exec_ns=0 attributed_ns=0 unattributed_ns=0 "
		   "overflow_ns=0 residual_ns=0 syscalls_lost=%ld",
		   lost);
}

/* Two requests of an endpoint, one of another, and none. */
static void add_some(void)
{
	add_meta("endpoint");
	add_cpu("a", "GET /a", 5);
	add_call("a", "GET /a", "read", 2);
	add_call("a", "GET /a", "stat", 3);
	add_cpu("b", "GET /a", 10);
	add_call("b", "GET /a", "stat", 10);
	add_cpu("c", "GET /c", 1);
	add_call("c", "GET /c", "read", 1);
	add_cpu("", "", 4);
	add_call("", "", "futex", 4);
}

typedef int (*format_fn)(const struct tally *syscalls, const struct tally_view_options *options,
			 FILE *out);

static char *print(format_fn format, size_t width, size_t top_count)
{
	const struct tally_view_options options = { .width = width, .top_count = top_count };
	char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(tally_finish(&syscalls), 0);
	assert_int_equal(format(&syscalls, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect(format_fn format, size_t top_count, const char *wanted)
{
	char *text = print(format, 100, top_count);

	assert_string_equal(text, wanted);
	free(text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(syscalls_sort_endpoints_and_calls_by_count)
{
	add_some();
	expect(print_syscalls_csv, 0,
	       "row,endpoint,requests,syscall,syscalls,inside_ns\r\n"
	       "group,GET /a,2,stat,13,130\r\n"
	       "group,GET /a,2,read,2,20\r\n"
	       "group,GET /c,1,read,1,10\r\n"
	       "unattributed,,,futex,4,40\r\n");
}

FIXTURE_TEST(syscalls_table_sums_rows_beyond_top_count)
{
	add_some();
	expect(syscalls_view_print, 1,
	       "endpoint      requests  calls  a request     share  inside  inside a request   each\n"
	       "GET /a               2     15        7.5   75.00 %  150 ns             75 ns  10 ns\n"
	       "  stat                     13        6.5   65.00 %  130 ns             65 ns  10 ns\n"
	       "  … 1 more                  2        1.0   10.00 %   20 ns             10 ns  10 ns\n"
	       "unattributed         -      4          -   20.00 %   40 ns                 -  10 ns\n"
	       "  futex                     4          -   20.00 %   40 ns                 -  10 ns\n"
	       "… 1 more                    1          -    5.00 %   10 ns                 -  10 ns\n"
	       "───────────────────────────────────────────────────────────────────────────────────\n"
	       "total                -     20          -  100.00 %  200 ns                 -  10 ns\n"
	       "\n"
	       "These are all 20 calls of the accounts.\n");
}

FIXTURE_TEST(syscalls_json_lists_calls_of_each_group)
{
	char *text;
	json_t *root, *groups, *group;

	add_some();
	text = print(print_syscalls_json, 80, 0);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	assert_string_equal(json_string_value(json_object_get(root, "by")), "endpoint");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(root, "total"),
							    "account_syscalls")),
			 20);
	groups = json_object_get(root, "groups");
	assert_int_equal(json_array_size(groups), 3);
	group = json_array_get(groups, 0);
	assert_string_equal(json_string_value(json_object_get(group, "endpoint")), "GET /a");
	assert_int_equal(json_integer_value(json_object_get(group, "requests")), 2);
	assert_int_equal(json_array_size(json_object_get(group, "calls")), 2);
	assert_null(json_object_get(json_array_get(groups, 2), "endpoint"));
	json_decref(root);
	free(text);
}

FIXTURE_TEST(syscalls_ndjson_has_line_per_group_and_call)
{
	add_some();
	expect(print_syscalls_ndjson, 1,
	       "{\"by\":\"endpoint\",\"row\":\"group\",\"endpoint\":\"GET /a\",\"requests\":2,\"syscall\":\"stat\","
	       "\"syscalls\":13,\"inside_ns\":130}\n"
	       "{\"by\":\"endpoint\",\"row\":\"unattributed\",\"syscall\":\"futex\",\"syscalls\":4,\"inside_ns\":40}\n");
}

/* As its router does: what it called before is that endpoint's. */
FIXTURE_TEST(syscalls_apply_late_endpoint_to_whole_request)
{
	add_meta("endpoint");
	add_cpu("a", NULL, 3);
	add_call("a", NULL, "read", 3);
	add_cpu("a", "GET /a", 0);
	expect(print_syscalls_csv, 0,
	       "row,endpoint,requests,syscall,syscalls,inside_ns\r\ngroup,GET /a,1,read,3,30\r\n");
}

FIXTURE_TEST(syscalls_show_requests_without_endpoint_in_own_row)
{
	add_meta("endpoint");
	add_cpu("a", NULL, 3);
	add_call("a", NULL, "read", 3);
	add_cpu("b", NULL, 0);
	expect(print_syscalls_csv, 0,
	       "row,endpoint,requests,syscall,syscalls,inside_ns\r\nwithout_key,,2,read,3,30\r\n");
}

FIXTURE_TEST(syscalls_group_by_request_if_no_endpoint_recorded)
{
	add_meta("tenant");
	add_cpu("a", NULL, 3);
	add_call("a", NULL, "read", 3);
	expect(print_syscalls_csv, 0,
	       "row,request_id,requests,syscall,syscalls,inside_ns\r\ngroup,a,1,read,3,30\r\n");
}

FIXTURE_TEST(syscalls_group_by_any_key)
{
	tally_deinit(&syscalls);
	begin_with("tenant", NULL);
	add_record("syscall pid=7 tid=8 request_id=a endpoint=\"GET /a\" tenant=x syscall=read "
		   "syscalls=2");
	expect(print_syscalls_csv, 0,
	       "row,tenant,requests,syscall,syscalls,inside_ns\r\ngroup,x,1,read,2,0\r\n");
}

FIXTURE_TEST(syscalls_filter_whole_requests)
{
	tally_deinit(&syscalls);
	begin_with(NULL, "endpoint=GET /a");
	add_some();
	add_cpu("d", NULL, 3);
	add_call("d", NULL, "mmap", 3);
	add_cpu("d", "GET /a", 0);
	expect(print_syscalls_csv, 0,
	       "row,endpoint,requests,syscall,syscalls,inside_ns\r\n"
	       "group,GET /a,3,stat,13,130\r\n"
	       "group,GET /a,3,mmap,3,30\r\n"
	       "group,GET /a,3,read,2,20\r\n");
	assert_true(syscalls.has_wanted);
	assert_int_equal(syscalls.account, 18);
}

FIXTURE_TEST(syscalls_of_overflow_count_as_no_requests)
{
	add_record("syscall pid=7 tid=8 flags=[overflow] syscall=read syscalls=2 inside_ns=3");
	add_record("syscall pid=7 tid=8 request_id= flags=[unknown] syscall=read syscalls=4 "
		   "inside_ns=5");
	expect(print_syscalls_csv, 0,
	       "row,endpoint,requests,syscall,syscalls,inside_ns\r\n"
	       "unattributed,,,read,4,5\r\noverflow,,,read,2,3\r\n");
}

FIXTURE_TEST(syscalls_keep_calls_of_other_abi_apart)
{
	assert_int_equal(try_call("a", "GET /a", "read", "i386", 1), 0);
	assert_int_equal(try_call("a", "GET /a", "read", NULL, 2), 0);
	expect(print_syscalls_csv, 0,
	       "row,endpoint,requests,syscall,syscalls,inside_ns\r\n"
	       "group,GET /a,1,read,2,20\r\ngroup,GET /a,1,i386 read,1,10\r\n");
}

FIXTURE_TEST(syscalls_table_reports_lost_calls)
{
	char *text;

	add_some();
	add_cpu("e", "GET /e", 7);
	add_balance(7);
	text = print(syscalls_view_print, 200, 0);
	assert_non_null(strstr(text, "The accounts have 27 calls, these are 20: 7 were lost"));
	free(text);
}

FIXTURE_TEST(syscalls_table_escapes_control_characters)
{
	char *text;

	add_call("a", "GET /\x1b[31m", "re\tad", 1);
	text = print(syscalls_view_print, 100, 0);
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\t'));
	free(text);
}

FIXTURE_TEST(syscalls_count_names_beyond_limit)
{
	char name[32];

	for (int i = 0; i < TALLY_NAMES_MAX + 3; i++) {
		(void)snprintf(name, sizeof(name), "call_%d", i);
		add_call("a", "GET /a", name, 1);
	}
	assert_int_equal(syscalls.left_out, 3);
	assert_int_equal(tally_finish(&syscalls), 0);
	assert_int_equal(syscalls.numbers[SYSCALLS_CALLS], TALLY_NAMES_MAX);
}

FIXTURE_TEST(syscalls_sums_saturate_at_int64_max)
{
	add_call("a", "GET /a", "read", INT64_MAX / 10);
	for (int i = 0; i < 11; i++)
		add_call("a", "GET /a", "read", INT64_MAX / 10);
	assert_int_equal(tally_finish(&syscalls), 0);
	assert_true(syscalls.numbers[SYSCALLS_CALLS] == INT64_MAX);
}

/* Each failing once: it is said, and nothing is lost of what was there. */
FIXTURE_TEST(syscalls_return_enomem_without_memory)
{
	const struct tally_view_options options = { .width = 80 };
	int added = -ENOMEM, finished = -ENOMEM;

	for (size_t given = 0; added < 0 || finished < 0; given++) {
		tally_deinit(&syscalls);
		begin_with(NULL, NULL);
		successes = SIZE_MAX;
		add_cpu("a", "GET /a", 5);
		successes = given;
		added = try_call("b", "GET /b", "read", NULL, 1);
		memory_fails_after(given);
		finished = added == 0 ? tally_finish(&syscalls) : -ENOMEM;
		memory_never_fails();
		assert_true(added == 0 || added == -ENOMEM);
		assert_true(finished == 0 || finished == -ENOMEM);
	}
	successes = SIZE_MAX;
	memory_fails_after(0);
	assert_int_equal(syscalls_view_print(&syscalls, &options, stdout), -ENOMEM);
	memory_never_fails();
}
