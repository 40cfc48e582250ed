/* SPDX-License-Identifier: GPL-2.0-only */
/* Which long waits are whose, what ended them, and how they are printed: reader/aggregate/stalls.h,
 * reader/report/stalls_view.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <jansson.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/report/formats.h"
#include "record/sample.h"

#define MS "000000"

static struct stalls stalls;
static size_t successes = SIZE_MAX; /* that memory is given while a record is added */

static void begin_with(const char *by, const char *where, size_t kept_max)
{
	struct filter filter = { 0 };

	if (where)
		assert_int_equal(filter_add(&filter, where), 0);
	stalls_init(&stalls, &filter, by, kept_max);
}

static int set_up(void **state)
{
	(void)state;
	begin_with(NULL, NULL, 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	stalls_deinit(&stalls);
	return 0;
}

/* Adds a record of a line (sample_record). */
__attribute__((format(printf, 1, 2))) static int try_record(const char *format, ...)
{
	static struct record_view view;
	struct sample sample;
	va_list values;
	int r;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	sample_decode(&sample, &view);
	memory_fails_after(successes);
	r = stalls_add(&stalls, &view);
	memory_never_fails();
	msgpack_sbuffer_destroy(&sample.buffer);
	return r;
}

#define ADD(...) assert_int_equal(try_record(__VA_ARGS__), 0)

/* A request of GET /a was blocked on a lock for this number of ms. */
#define STALL(start, ms)                                                              \
	"stall pid=7 tid=8 request_id=a endpoint=\"GET /a\" start_ns=" start "000" MS \
	" end_ns=" start ms MS " blocked_ns=" ms MS " run_queue_ns=0 blocked_on=futex"

static void add_some(void)
{
	ADD("meta pid=7 keys=[request_id endpoint]");
	ADD("cpu pid=7 tid=8 request_id=a endpoint=\"GET /a\" cpu_ns=5");
	ADD(STALL("1", "100") " syscall=futex thread_name=worker woken_by=thread woken_by_pid=7 "
			      "woken_by_tid=9 woken_by_thread_name=other woken_by_request_id=b "
			      "woken_by_endpoint=\"POST /b\"");
	ADD(STALL("2", "300") " woken_by=thread woken_by_pid=7 woken_by_tid=9 "
			      "woken_by_request_id=c woken_by_endpoint=\"POST /b\"");
	ADD(STALL("3", "200") " waited_on=/tmp/x woken_by=interrupt");
	ADD("stall pid=7 tid=8 request_id=a endpoint=\"GET /a\" start_ns=5" MS " end_ns=55" MS
	    " blocked_ns=10" MS " run_queue_ns=40" MS " woken_by=interrupt ran_instead_pid=3 "
	    "ran_instead_tid=4 ran_instead_thread_name=greedy");
}

typedef int (*format_fn)(const struct stalls *stalls, const struct stalls_view_options *options,
			 FILE *out);

static struct frames *shown_frames;

static char *print(format_fn format, size_t width, size_t top_count)
{
	const struct stalls_view_options options = { .width = width,
						     .top_count = top_count,
						     .frames = shown_frames };
	char *text = NULL;
	size_t size_bytes;
	FILE *out = open_memstream(&text, &size_bytes);

	assert_non_null(out);
	assert_int_equal(stalls_finish(&stalls), 0);
	assert_int_equal(format(&stalls, &options, out), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void expect_part(format_fn format, size_t width, const char *part)
{
	char *text = print(format, width, 0);

	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
	free(text);
}

static void expect(format_fn format, size_t width, size_t top_count, const char *wanted)
{
	char *text = print(format, width, top_count);

	assert_string_equal(text, wanted);
	free(text);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(stalls_table_shows_what_ended_them_and_the_longest)
{
	add_some();
	expect(stalls_view_print, 110, 0,
	       "endpoint  ended by       stalls      time    share      mean   longest\n"
	       "GET /a    POST /b             2  400.0 ms  61.54 %  200.0 ms  300.0 ms\n"
	       "GET /a    interrupt           1  200.0 ms  30.77 %  200.0 ms  200.0 ms\n"
	       "GET /a    CPU of greedy       1  50.00 ms   7.69 %  50.00 ms  50.00 ms\n"
	       "\n"
	       "endpoint      wait  on     in     file or peer  ended by       in request  "
	       "request_id  thread   began (UTC)\n"
	       "GET /a    300.0 ms  futex                       POST /b        c           "
	       "a                   00:00:02.000\n"
	       "GET /a    200.0 ms  futex         /tmp/x        interrupt                  "
	       "a                   00:00:03.000\n"
	       "GET /a    100.0 ms  futex  futex                POST /b        b           "
	       "a           worker  00:00:01.000\n"
	       "GET /a    50.00 ms  CPU                         CPU of greedy              "
	       "a                   00:00:00.005\n"
	       "\n"
	       "4 waits: 610.0 ms blocked, 40.00 ms for a CPU. An interrupt may be a timer, a "
	       "packet or a disk.\n");
}

FIXTURE_TEST(stalls_csv_has_row_per_ender_and_wait)
{
	stalls_deinit(&stalls);
	begin_with(NULL, NULL, 1);
	add_some();
	expect(print_stalls_csv, 100, 1,
	       "row,endpoint,ended_by,ender,stalls,blocked_ns,run_queue_ns,gvl_ns,longest_ns,stalls_lost,"
	       "start_ns,end_ns,pid,tid,thread_name,request_id,blocked_on,syscall,waited_on,"
	       "ender_pid,ender_tid,ender_request_id,hogs,kept_ns,cpu_ns,held_requests,held_ns,method,file,line\r\n"
	       "ended_by,GET /a,request,POST /b,2,400000000,0,,300000000,,,,,,,,,,,,,,,,,,,,,\r\n"
	       "stall,GET /a,request,POST /b,,300000000,0,,,,2000000000,2300000000,7,8,,a,futex,,,7,"
	       "9,c,,,,,,,,\r\n");
}

FIXTURE_TEST(stalls_json_has_total_enders_and_waits)
{
	char *text;
	json_t *root, *total;

	add_some();
	ADD("balance pid=7 window_ns=1000 exec_ns=0 stalls_lost=3");
	text = print(print_stalls_json, 80, 0);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	total = json_object_get(root, "total");
	assert_int_equal(json_integer_value(json_object_get(total, "stalls")), 4);
	assert_int_equal(json_integer_value(json_object_get(total, "blocked_ns")), 610000000);
	assert_int_equal(json_integer_value(json_object_get(total, "run_queue_ns")), 40000000);
	assert_int_equal(json_integer_value(json_object_get(total, "stalls_lost")), 3);
	assert_int_equal(json_array_size(json_object_get(root, "ended_by")), 3);
	assert_int_equal(json_array_size(json_object_get(root, "stalls")), 4);
	json_decref(root);
	free(text);
	expect_part(stalls_view_print, 100,
		    "3 long waits of all processes could not be recorded.\n");
}

FIXTURE_TEST(stalls_ndjson_has_line_per_ender_and_wait)
{
	ADD(STALL("1", "100") " woken_by=timer");
	expect(print_stalls_ndjson, 100, 0,
	       "{\"row\":\"ended_by\",\"by\":\"endpoint\",\"endpoint\":\"GET /a\",\"ended_by\":\"timer\","
	       "\"stalls\":1,\"blocked_ns\":100000000,\"run_queue_ns\":0,\"longest_ns\":100000000}\n"
	       "{\"row\":\"stall\",\"by\":\"endpoint\",\"endpoint\":\"GET /a\",\"ended_by\":\"timer\","
	       "\"blocked_ns\":100000000,\"run_queue_ns\":0,\"start_ns\":1000000000,\"end_ns\":1100000000,"
	       "\"pid\":7,\"tid\":8,\"request_id\":\"a\",\"blocked_on\":\"futex\"}\n");
}

FIXTURE_TEST(stalls_show_what_was_for_the_gvl)
{
	char *text;
	json_t *root, *total;

	ADD("meta pid=7 keys=[request_id endpoint]");
	ADD("cpu pid=7 tid=8 request_id=a endpoint=\"GET /a\" cpu_ns=5");
	ADD(STALL("1", "100") " gvl_ns=60" MS " woken_by=timer");
	ADD(STALL("2", "200") " gvl_ns=40" MS " woken_by=timer");
	expect(stalls_view_print, 110, 0,
	       "endpoint  ended by  stalls      time     share      mean   longest  for the GVL\n"
	       "GET /a    timer          2  300.0 ms  100.00 %  150.0 ms  200.0 ms     100.0 ms\n"
	       "\n"
	       "endpoint      wait  on     in  file or peer  ended by  in request  request_id  "
	       "thread   began (UTC)\n"
	       "GET /a    200.0 ms  futex                    timer                 a           "
	       "        00:00:02.000\n"
	       "GET /a    100.0 ms  GVL                      timer                 a           "
	       "        00:00:01.000\n"
	       "\n"
	       "2 waits: 300.0 ms blocked, 0 ns for a CPU.\n");
	text = print(print_stalls_json, 80, 0);
	root = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	total = json_object_get(root, "total");
	assert_int_equal(json_integer_value(json_object_get(total, "gvl_ns")), 100000000);
	json_decref(root);
	free(text);
}

FIXTURE_TEST(stalls_tell_apart_what_ended_them)
{
	ADD(STALL("1", "001") " woken_by=thread woken_by_tid=9 woken_by_thread_name=cron");
	ADD(STALL("1", "002") " woken_by=thread woken_by_tid=9 woken_by_request_id=a "
			      "woken_by_endpoint=\"GET /a\"");
	ADD(STALL("1", "003") " woken_by=thread woken_by_tid=9 woken_by_request_id=z");
	ADD(STALL("1", "004"));
	ADD("stall pid=7 tid=8 request_id=a endpoint=\"GET /a\" start_ns=1 end_ns=6 blocked_ns=0 "
	    "run_queue_ns=5");
	expect(stalls_view_print, 60, 0,
	       "endpoint  ended by       stalls      time    share   longest\n"
	       "GET /a    -                   1  4.000 ms  40.00 %  4.000 ms\n"
	       "GET /a    (no endpoint)       1  3.000 ms  30.00 %  3.000 ms\n"
	       "GET /a    itself              1  2.000 ms  20.00 %  2.000 ms\n"
	       "GET /a    thread cron         1  1.000 ms  10.00 %  1.000 ms\n"
	       "GET /a    idle CPU            1      5 ns   0.00 %      5 ns\n"
	       "… 1 more column on a wider screen: mean\n"
	       "\n"
	       "endpoint      wait  on     file or peer  ended by     \n"
	       "GET /a    4.000 ms  futex                -            \n"
	       "GET /a    3.000 ms  futex                (no endpoint)\n"
	       "GET /a    2.000 ms  futex                itself       \n"
	       "GET /a    1.000 ms  futex                thread cron  \n"
	       "GET /a        5 ns  CPU                  idle CPU     \n"
	       "… 5 more columns on a wider screen\n"
	       "\n"
	       "5 waits: 10.00 ms blocked, 5 ns for a CPU.\n");
}

/* As its router does. */
FIXTURE_TEST(stalls_apply_late_endpoint_to_whole_request)
{
	ADD("meta pid=7 keys=[request_id endpoint]");
	ADD("stall pid=7 tid=8 request_id=a start_ns=1 end_ns=6 blocked_ns=5 run_queue_ns=0");
	ADD("cpu pid=7 tid=8 request_id=a endpoint=\"GET /late\" cpu_ns=5");
	expect_part(print_stalls_csv, 100, "stall,GET /late,unknown,,,5,0,");
}

FIXTURE_TEST(stalls_group_by_request_if_no_endpoint_recorded)
{
	ADD("meta pid=7 keys=[request_id tenant]");
	ADD("stall pid=7 tid=8 request_id=a start_ns=1 end_ns=6 blocked_ns=5 run_queue_ns=0 "
	    "woken_by=thread woken_by_tid=9 woken_by_request_id=b");
	/* Requests have a column of their own. */
	expect_part(print_stalls_csv, 100, "row,key,ended_by,ender,");
	expect_part(print_stalls_ndjson, 100,
		    "{\"row\":\"ended_by\",\"by\":\"request_id\",\"key\":\"a\",");
	expect_part(print_stalls_ndjson, 100, "\"ender\":\"b\"");
}

FIXTURE_TEST(stalls_filter_whole_requests)
{
	stalls_deinit(&stalls);
	begin_with(NULL, "endpoint=GET /b", 0);
	add_some();
	ADD("cpu pid=7 tid=8 request_id=d endpoint=\"GET /b\" cpu_ns=5");
	ADD("stall pid=7 tid=8 request_id=d endpoint=\"GET /b\" start_ns=1 end_ns=6 blocked_ns=5 "
	    "run_queue_ns=0");
	assert_int_equal(stalls_finish(&stalls), 0);
	assert_true(stalls.has_wanted && stalls.has_any);
	assert_int_equal(stalls.count, 1);
	assert_int_equal(stalls.blocked_ns, 5);
}

static void give_frames(struct frames *frames)
{
	static const char *const records[] = {
		"stack pid=7 stack_id=f1 name=main frame_kind=ruby file=a.rb line=3",
		"stack pid=7 stack_id=f2 parent_id=f1 name=\"Worker#run\" frame_kind=ruby file=b line=8",
		"stack pid=7 stack_id=f3 parent_id=f2 name=\"Queue#pop\" frame_kind=c",
		"stack pid=7 stack_id=f4 name=sleep frame_kind=native",
	};
	static struct record_view view;

	frames_init(frames);
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++) {
		struct sample sample;

		sample_record(&sample, "%s", records[i]);
		sample_decode(&sample, &view);
		assert_int_equal(frames_add(frames, &view), 0);
		msgpack_sbuffer_destroy(&sample.buffer);
	}
	assert_int_equal(frames_finish(frames), 0);
	shown_frames = frames;
}

FIXTURE_TEST(stalls_have_innermost_ruby_method)
{
	struct frames frames;

	give_frames(&frames);
	ADD(STALL("1", "100") " stack_id=f3");
	ADD(STALL("1", "090") " stack_id=f4");
	ADD(STALL("1", "080") " stack_id=f9");
	expect_part(print_stalls_csv, 100, ",,,,Worker#run,b,8\r\n");
	expect_part(stalls_view_print, 200, "began (UTC)  method    \n");
	expect_part(stalls_view_print, 200, "00:00:01.000  Worker#run\n");
	shown_frames = NULL;
	frames_deinit(&frames);
}

static void add_life(const char *request, int from, int to)
{
	ADD("cpu pid=7 tid=8 request_id=%s endpoint=\"GET /%s\" cpu_ns=5 first_ns=%d "
	    "last_ns=%d",
	    request, request, from, to);
}

static void add_hogs(void)
{
	ADD("meta pid=7 keys=[request_id endpoint]");
	add_life("a", 100, 900);
	add_life("b", 150, 250);
	add_life("c", 250, 300);
	/* Its other thread, later. */
	ADD("cpu pid=7 tid=9 request_id=b endpoint=\"GET /b\" cpu_ns=5 first_ns=160 last_ns=170");
	ADD("cpu pid=7 tid=9 request_id=d endpoint=\"GET /d\" cpu_ns=5 first_ns=100 last_ns=900");
	/* A thread of another machine, or of another container, with the same numbers. */
	ADD("cpu host_name=other pid=7 tid=8 request_id=e endpoint=\"GET /e\" cpu_ns=5 "
	    "first_ns=100 last_ns=900");
	ADD("stall pid=7 tid=8 request_id=a endpoint=\"GET /a\" hog=true start_ns=200 end_ns=280 "
	    "cpu_ns=60 blocked_ns=5 run_queue_ns=15 thread_name=worker");
	ADD("stall pid=7 tid=8 request_id=a endpoint=\"GET /a\" hog=true start_ns=400 end_ns=410 "
	    "cpu_ns=10 blocked_ns=0 run_queue_ns=0");
}

FIXTURE_TEST(hogs_have_the_requests_that_were_under_way_on_their_thread)
{
	add_hogs();
	expect(stalls_view_print, 110, 0,
	       "endpoint  hogs  kept a thread    cpu  longest  held up  for, in sum\n"
	       "GET /a       2          90 ns  70 ns    80 ns        2        80 ns\n"
	       "\n"
	       "endpoint  kept its thread    cpu  held up  for, in sum  request_id  thread   began "
	       "(UTC)\n"
	       "GET /a              80 ns  60 ns        2        80 ns  a           worker  "
	       "00:00:00.000\n"
	       "GET /a              10 ns  10 ns        0         0 ns  a                   "
	       "00:00:00.000\n"
	       "Held up: requests that were under way in other fibers of that thread, whatever they "
	       "waited for.\n"
	       "\n"
	       "0 waits: 0 ns blocked, 0 ns for a CPU.\n");
	expect_part(print_stalls_csv, 100,
		    "hog_sum,GET /a,,,,,,,80,,,,,,,,,,,,,,2,90,70,2,80,,,\r\n"
		    "hog,GET /a,,,,5,15,,,,200,280,7,8,worker,a,,,,,,,,,60,2,80,,,\r\n");
	expect_part(print_stalls_ndjson, 100,
		    "\"cpu_ns\":60,\"held_requests\":2,\"held_ns\":80}\n");
}

FIXTURE_TEST(hogs_have_the_method_that_they_were_in)
{
	struct frames frames;

	give_frames(&frames);
	add_hogs();
	ADD("stall pid=7 tid=8 request_id=a endpoint=\"GET /a\" hog=true start_ns=500 end_ns=510 "
	    "cpu_ns=10 blocked_ns=0 run_queue_ns=0 stack_id=f3");
	expect_part(print_stalls_csv, 100, ",10,0,0,Worker#run,b,8\r\n");
	expect_part(stalls_view_print, 200, "began (UTC)  method    \n");
	expect_part(stalls_view_print, 200, "00:00:00.000  Worker#run\n");
	shown_frames = NULL;
	frames_deinit(&frames);
}

FIXTURE_TEST(hogs_are_summed_up_by_key_and_those_that_held_most_up_come_first)
{
	add_hogs();
	ADD("stall pid=7 tid=8 request_id=b endpoint=\"GET /b\" hog=true start_ns=150 end_ns=250 "
	    "cpu_ns=60 blocked_ns=5 run_queue_ns=15");
	ADD("stall pid=7 tid=1 request_id=x endpoint=\"GET /x\" hog=true start_ns=150 end_ns=550 "
	    "cpu_ns=1 blocked_ns=5 run_queue_ns=15");
	ADD("stall pid=7 tid=1 request_id=y endpoint=\"GET /y\" hog=true start_ns=650 end_ns=750 "
	    "cpu_ns=1 blocked_ns=5 run_queue_ns=15");
	expect_part(stalls_view_print, 110,
		    "GET /b       1         100 ns  60 ns   100 ns        1       100 ns\n"
		    "GET /a       2          90 ns  70 ns    80 ns        2        80 ns\n"
		    "GET /x       1         400 ns   1 ns   400 ns        0         0 ns\n"
		    "GET /y       1         100 ns   1 ns   100 ns        0         0 ns\n");
}

FIXTURE_TEST(hogs_that_held_selected_request_up_are_shown)
{
	stalls_deinit(&stalls);
	begin_with(NULL, "request_id=c", 0);
	add_hogs();
	assert_int_equal(stalls_finish(&stalls), 0);
	assert_int_equal(stalls.hog_count, 1);
	assert_int_equal(stalls.hogs[0]->held_count, 1);
	assert_int_equal(stalls.hogs[0]->held_ns, 30);
}

FIXTURE_TEST(stalls_without_times_are_left_out)
{
	ADD("stall pid=7 tid=8 request_id=a start_ns=1 blocked_ns=5 run_queue_ns=0");
	ADD("stall pid=7 tid=8 request_id=b start_ns=7 end_ns=6 blocked_ns=5 run_queue_ns=0");
	assert_int_equal(stalls_finish(&stalls), 0);
	assert_int_equal(stalls.left_out, 2);
	assert_int_equal(stalls.count, 0);
	expect(stalls_view_print, 80, 0, "0 waits: 0 ns blocked, 0 ns for a CPU.\n");
}

FIXTURE_TEST(stalls_table_says_from_when_on_they_are_long)
{
	ADD("meta pid=7 stall_ns=5" MS " keys=[request_id endpoint]");
	ADD(STALL("1", "100"));
	expect_part(stalls_view_print, 100,
		    "\n1 wait of at least 5.000 ms: 100.0 ms blocked, 0 ns ");
}

FIXTURE_TEST(stalls_keep_the_longest)
{
	stalls_deinit(&stalls);
	begin_with(NULL, NULL, 3);
	for (int i = 0; i < 100; i++)
		ADD("stall pid=7 tid=8 request_id=a start_ns=%d end_ns=%d blocked_ns=5 "
		    "run_queue_ns=0",
		    i, i + 1 + i * 37 % 100);
	assert_int_equal(stalls_finish(&stalls), 0);
	assert_int_equal(stalls.count, 100);
	assert_int_equal(stalls.wait_count, 3);
	for (int i = 0; i < 3; i++)
		assert_int_equal(stalls_wait_ns(stalls.waits[i]), 100 - i);
}

FIXTURE_TEST(stalls_table_escapes_control_characters)
{
	char *text;

	ADD("stall pid=7 tid=8 request_id=a endpoint=\"\x1b[31m\" start_ns=1 end_ns=6 blocked_ns=5 "
	    "run_queue_ns=0 waited_on=\"/tmp/\x1b[0m\" thread_name=\"a\tb\"");
	text = print(stalls_view_print, 200, 0);
	assert_null(strchr(text, '\x1b'));
	assert_null(strchr(text, '\t'));
	free(text);
}

FIXTURE_TEST(stalls_survive_lack_of_memory)
{
	int r = -ENOMEM;

	for (successes = 0; r < 0; successes++) {
		stalls_deinit(&stalls);
		begin_with(NULL, NULL, 0);
		r = try_record(STALL("1", "100") " woken_by=interrupt");
		assert_true(r == 0 || r == -ENOMEM);
	}
	successes = SIZE_MAX;
	assert_int_equal(stalls_finish(&stalls), 0);
	assert_int_equal(stalls.count, 1);
}
