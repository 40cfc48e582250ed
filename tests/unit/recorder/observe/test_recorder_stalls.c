/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording with --stall: in which window a stall is written, and what its record says. */
#include <arpa/inet.h>

#include <correlator/stall.h>

#include "unit_test.h"

#include "recorder/observe/fake_recorder.h"
#include "recorder/observe/window/window_stalls.h"

UNIT_TEST_ALONE;

enum {
	READ = 1, /* the machine's own call 0 */
	OTHER = SOME + 1, /* a context */
};

static struct record_view view;
static struct record_reader *reader; /* that the view is of */
static struct stall object; /* what a stall has from it */

static int begin(void **state)
{
	if (set_up(state) < 0)
		return -1;
	fake.recording.stall_least_ns = 5 * NS_PER_MS;
	fake.recording.duration_ns = 2 * NS_PER_S;
	return 0;
}

/* Of the first thread, in its request. */
static struct stall *stall(void)
{
	struct stall *stall = &fake.stalls[fake.stall_count++];

	assert_true(fake.stall_count <= FAKE_STALLS_MAX);
	*stall = (struct stall){ .start_ns = FAKE_START_NS + 100 * NS_PER_MS,
				 .end_ns = FAKE_START_NS + 110 * NS_PER_MS,
				 .blocked_ns = 9 * NS_PER_MS,
				 .run_queue_ns = NS_PER_MS,
				 .context_hash = SOME,
				 .thread_serial = 1,
				 .life = life_of(FAKE_PID),
				 .tid = 1,
				 .ns_tid = 4,
				 .epoch = (uint32_t)fake.epoch,
				 .blocked_on = BLOCKED_ON_PIPE,
				 .comm = "worker" };
	return stall;
}

/* The record of the only stall. */
static void find_stall(void)
{
	size_t found = 0;

	record_reader_free(reader);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind != RECORD_KIND_STALL)
			continue;
		found++;
		break;
	}
	assert_int_equal(found, 1);
}

static bool has(const char *field)
{
	return record_view_find(&view, field);
}

static int end(void **state)
{
	(void)state;
	record_reader_free(reader);
	reader = NULL;
	return 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, begin, end)

static void wait_alone(void)
{
	run_a_request();
	(void)stall();
}

FIXTURE_TEST(recorder_writes_stall_after_balance_of_its_window)
{
	plan(NS_PER_S / 2, wait_alone);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.stall_least_ns, 5 * NS_PER_MS);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 0\n"
					"stall 0 r1 pipe 9000000 + 1000000 ns\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n");
	find_stall();
	assert_int_equal(number(&view, "start_ns"), FAKE_WALL_NS + 100 * NS_PER_MS);
	assert_int_equal(number(&view, "end_ns"), FAKE_WALL_NS + 110 * NS_PER_MS);
	assert_int_equal(number(&view, "tid"), 1);
	assert_int_equal(number(&view, "ns_tid"), 4);
	assert_string_equal(text(&view, "thread_name"), "worker");
	assert_false(has("syscall"));
	assert_false(has("waited_on"));
	assert_false(has("woken_by"));
	assert_false(has("woken_by_request_id"));
	assert_false(has("ran_instead_tid"));
	assert_false(has("hog"));
	assert_false(has("cpu_ns"));
}

static void wait_into_next_window(void)
{
	run_a_request();
	stall()->epoch++;
	/* Of a process that nobody knows any more. */
	stall()->life = life_of(FAKE_PID + 77);
}

FIXTURE_TEST(recorder_keeps_stall_until_its_window_ends)
{
	plan(NS_PER_S / 2, wait_into_next_window);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_non_null(strstr(recorded(), "balance 0 1000 = 600 + 300 + 100, own 0\n"
					   "self 0\n"
					   "balance 0 0 = 0 + 0 + 0, own 0\n"
					   "stall 0 r1 pipe 9000000 + 1000000 ns\n"));
}

static void be_woken(void)
{
	struct stall *one;

	run_a_request();
	(void)publish(OTHER, "r2");
	charge(0, 2, OTHER, 10);
	one = stall();
	one->flags = STALL_WAS_WOKEN | STALL_IS_INHERITED;
	one->call = READ;
	one->waker_tgid = FAKE_PID;
	one->waker_tid = 2;
	one->waker_hash = OTHER;
	strcpy(one->waker_comm, "other");
}

FIXTURE_TEST(recorder_names_who_ended_stall_and_in_which_request)
{
	plan(NS_PER_S / 2, be_woken);
	assert_int_equal(record(), EXIT_CODE_OK);
	find_stall();
	assert_string_equal(text(&view, "woken_by"), "thread");
	assert_int_equal(number(&view, "woken_by_pid"), FAKE_PID);
	assert_int_equal(number(&view, "woken_by_tid"), 2);
	assert_string_equal(text(&view, "woken_by_thread_name"), "other");
	assert_string_equal(text(&view, "woken_by_request_id"), "r2");
	assert_string_equal(text(&view, "syscall"), "read");
	assert_true(record_view_lists_at(&view, RECORD_PLACE(stall, flags), "inherited"));
}

static void be_interrupted(void)
{
	struct stall *one;

	run_a_request();
	one = stall();
	one->flags = STALL_WAS_WOKEN | STALL_BY_INTERRUPT | object.flags;
	one->blocked_on = object.blocked_on;
	strcpy(one->waker_comm, "anyone");
}

static void expect_interrupt(enum blocked_reason reason, uint32_t flags, const char *expected)
{
	void *state = NULL;

	object = (struct stall){ .blocked_on = reason, .flags = flags };
	assert_int_equal(begin(&state), 0);
	plan(NS_PER_S / 2, be_interrupted);
	assert_int_equal(record(), EXIT_CODE_OK);
	find_stall();
	assert_string_equal(text(&view, "woken_by"), expected);
}

FIXTURE_TEST(recorder_tells_interrupts_apart_by_what_they_end)
{
	expect_interrupt(BLOCKED_ON_SLEEP, 0, "timer");
	expect_interrupt(BLOCKED_ON_FUTEX, STALL_BY_SOFTIRQ, "timer");
	expect_interrupt(BLOCKED_ON_DISK, STALL_BY_HARDIRQ, "disk");
	expect_interrupt(BLOCKED_ON_FAULT, 0, "disk");
	expect_interrupt(BLOCKED_ON_POLL, STALL_BY_HARDIRQ, "timer");
	expect_interrupt(BLOCKED_ON_POLL, STALL_BY_SOFTIRQ, "network");
	expect_interrupt(BLOCKED_ON_POLL, 0, "interrupt");
	expect_interrupt(BLOCKED_ON_NETWORK, STALL_BY_SOFTIRQ, "network");
	expect_interrupt(BLOCKED_ON_NETWORK, STALL_BY_HARDIRQ, "interrupt");
	expect_interrupt(BLOCKED_ON_CHILD, STALL_BY_HARDIRQ, "interrupt");
}

FIXTURE_TEST(recorder_names_nobody_behind_interrupt)
{
	object = (struct stall){ .blocked_on = BLOCKED_ON_PIPE };
	plan(NS_PER_S / 2, be_interrupted);
	assert_int_equal(record(), EXIT_CODE_OK);
	find_stall();
	assert_string_equal(text(&view, "woken_by"), "interrupt");
	assert_false(has("woken_by_tid"));
	assert_false(has("woken_by_thread_name"));
}

static void wait_for_cpu(void)
{
	struct stall *one;

	run_a_request();
	one = stall();
	one->blocked_ns = 0;
	one->run_queue_ns = 10 * NS_PER_MS;
	one->flags = STALL_WAS_WOKEN;
	one->other_tgid = 5;
	one->other_tid = 6;
	strcpy(one->other_comm, "greedy");
}

FIXTURE_TEST(recorder_names_who_had_the_cpu_instead)
{
	plan(NS_PER_S / 2, wait_for_cpu);
	assert_int_equal(record(), EXIT_CODE_OK);
	find_stall();
	assert_int_equal(number(&view, "ran_instead_pid"), 5);
	assert_int_equal(number(&view, "ran_instead_tid"), 6);
	assert_string_equal(text(&view, "ran_instead_thread_name"), "greedy");
	assert_false(has("blocked_on"));
	assert_false(has("woken_by"));
}

static void keep_thread(void)
{
	struct stall *one;

	run_a_request();
	one = stall();
	one->flags = STALL_IS_HOG;
	one->cpu_ns = 7 * NS_PER_MS;
	one->blocked_ns = NS_PER_MS;
	one->run_queue_ns = 2 * NS_PER_MS;
}

FIXTURE_TEST(recorder_writes_hog_with_its_parts)
{
	plan(NS_PER_S / 2, keep_thread);
	assert_int_equal(record(), EXIT_CODE_OK);
	find_stall();
	assert_int_equal(number(&view, "hog"), 1);
	assert_int_equal(number(&view, "cpu_ns"), 7 * NS_PER_MS);
	assert_int_equal(number(&view, "blocked_ns"), NS_PER_MS);
	assert_int_equal(number(&view, "run_queue_ns"), 2 * NS_PER_MS);
	assert_false(has("blocked_on"));
	assert_false(has("woken_by"));
	assert_false(has("ran_instead_tid"));
}

static void wait_on_object(void)
{
	struct stall *one;

	run_a_request();
	one = stall();
	one->object = object.object;
	one->inode = object.inode;
	one->flags = object.flags;
	one->peer = object.peer;
	memcpy(one->names, object.names, sizeof(one->names));
}

static void expect_object(enum stall_object kind, const char *expected)
{
	void *state = NULL;

	object.object = kind;
	assert_int_equal(begin(&state), 0);
	plan(NS_PER_S / 2, wait_on_object);
	assert_int_equal(record(), EXIT_CODE_OK);
	find_stall();
	assert_string_equal(text(&view, "waited_on"), expected);
}

FIXTURE_TEST(recorder_names_what_stall_was_on)
{
	object = (struct stall){ .peer.port = 5432, .inode = 77 };
	expect_object(STALL_OBJECT_NONE, "-");
	expect_object(STALL_OBJECT_PIPE, "pipe:[77]");
	assert_int_equal(inet_pton(AF_INET, "10.0.0.7", object.peer.address), 1);
	expect_object(STALL_OBJECT_ADDRESS, "10.0.0.7:5432");
	assert_int_equal(inet_pton(AF_INET6, "fe80::1", object.peer.address), 1);
	object.peer.is_ipv6 = 1;
	expect_object(STALL_OBJECT_ADDRESS, "[fe80::1]:5432");
	expect_object(STALL_OBJECT_UNIX, "unix:");
	strcpy((char *)object.names, "/run/some.sock");
	expect_object(STALL_OBJECT_UNIX, "unix:/run/some.sock");
	/* A page fault's, which was named when the ring was read. */
	strcpy((char *)object.names, "/usr/lib/some.so");
	expect_object(STALL_OBJECT_MAPPED, "/usr/lib/some.so");
	object.names[0][0] = '\0';
	expect_object(STALL_OBJECT_MAPPED, "-");
}

FIXTURE_TEST(recorder_names_what_ended_wait_for_epoll_set)
{
	object = (struct stall){ .inode = 77, .flags = STALL_OBJECT_IS_IN_SET };
	expect_object(STALL_OBJECT_PIPE, "epoll:pipe:[77]");
	object.names[0][0] = 'x';
	expect_object(STALL_OBJECT_PATH, "epoll:/x");
}

FIXTURE_TEST(recorder_names_path_that_stall_was_on)
{
	object = (struct stall){ .names = { "data", "lib", "", "var" } };
	expect_object(STALL_OBJECT_PATH, "/var/lib/data");
	object = (struct stall){ .names = { "[eventfd]" } };
	expect_object(STALL_OBJECT_PATH, "[eventfd]");
	/* Its beginning is not known. */
	object = (struct stall){ .names = { "last", [STALL_NAMES - 1] = "first" } };
	expect_object(STALL_OBJECT_PATH, ".../first/last");
}

FIXTURE_TEST(recorder_reads_stalls_five_times_a_second)
{
	plan(NS_PER_S / 2, wait_alone);
	assert_int_equal(record(), EXIT_CODE_OK);
	/* In two seconds, and at the end of each window. */
	assert_in_range(fake.stall_readings, 11, 13);
}

static void wait_too_often(void)
{
	struct stall *one;

	run_a_request();
	fake.stall_repeats = 1 << 15;
	one = stall();
	one->life = life_of(FAKE_PID);
}

FIXTURE_TEST(recorder_counts_stalls_without_room)
{
	int64_t lost = 0, told = 0;

	plan(NS_PER_S / 2, wait_too_often);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		told += view.kind == RECORD_KIND_STALL;
		if (view.kind == RECORD_KIND_BALANCE)
			lost += number(&view, "stalls_lost");
	}
	assert_in_range(told, 1, (1 << 15) - 1);
	assert_int_equal(told + lost, 1 << 15);
}

FIXTURE_TEST(recorder_asks_for_no_stalls_without_option)
{
	fake.recording.stall_least_ns = 0;
	plan(NS_PER_S / 2, wait_alone);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.stall_least_ns, 0);
	assert_int_equal(fake.stall_count, 1);
	assert_null(strstr(recorded(), "stall"));
}

TEST_GROUP(make_file, remove_file)
