/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording with --syscalls: when its calls are taken, and whose they are. */
#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/observe/fake_recorder.h"

UNIT_TEST_ALONE;

enum {
	READ = 1, /* the machine's own call 0 */
	NEWER = 1 + 1023,
	INVALID = 1 + SYSCALL_NUMBERS,
};

static int begin(void **state)
{
	if (set_up(state) < 0)
		return -1;
	fake.recording.counts_syscalls = true;
	fake.recording.duration_ns = 2 * NS_PER_S;
	return 0;
}

static void make(const struct account_key *account, uint32_t call, uint64_t calls)
{
	assert_in_range(fake.call_count, 0, FAKE_CALLS_MAX - 1);
	fake.calls[fake.call_count++] =
		(struct fake_call){ .key = { .account = *account, .call = call },
				    .sums = { .calls = calls, .inside_ns = 100 * calls } };
}

static void make_some(void)
{
	run_a_request();
	make(&fake.accounts[0].key, READ, 7);
	make(&fake.accounts[0].key, NEWER, 1);
	make(&fake.accounts[1].key, INVALID, 2);
}

#define FIXTURE_TEST(test) TEST_WITH(test, begin, NULL)

FIXTURE_TEST(recorder_writes_syscalls_after_balance_of_their_window)
{
	plan(NS_PER_S / 2, make_some);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_true(fake.options.counts_syscalls);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 0\n"
					"syscall 0 r1 read 7 700 ns\n"
					"syscall 0 r1 syscall_1023 1 100 ns\n"
					"syscall 0  invalid without number 2 200 ns\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n");
}

static void make_others(void)
{
	struct account_key key;

	run_a_request();
	key = fake.accounts[0].key;
	key.context_hash = CONTEXT_HASH_OVERFLOW;
	make(&key, READ, 3);
	/* Of a process that nobody knows any more. */
	key.life = life_of(FAKE_PID + 77);
	make(&key, READ, 4);
	key = fake.accounts[0].key;
	make(&key, syscall_call(3, 1, 1), 5);
}

FIXTURE_TEST(recorder_writes_overflow_syscalls_by_process_without_thread)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	unsigned int of_overflow = 0;

	plan(NS_PER_S / 2, make_others);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_non_null(strstr(recorded(), "syscall 0 - read 3 300 ns\n"));
	assert_non_null(strstr(recorded(), " of another table 5 500 ns\n"));
	assert_null(strstr(recorded(), " 4 400 ns\n"));
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind != RECORD_KIND_SYSCALL)
			continue;
		assert_int_equal(number(&view, "window_ns"), NS_PER_S);
		if (record_view_lists_at(&view, RECORD_PLACE(syscall, flags), "overflow")) {
			assert_int_equal(number(&view, "tid"), 0);
			assert_null(record_view_find(&view, "thread_name"));
			of_overflow++;
		} else {
			assert_int_equal(number(&view, "tid"), fake.accounts[0].account.tid);
		}
	}
	assert_int_equal(of_overflow, 1);
}

static void make_in_child(void)
{
	run_a_request();
	fake.accounts[0].account.flags |= ACCOUNT_INHERITED | ACCOUNT_OF_ORIGIN;
	make(&fake.accounts[0].key, READ, 3);
}

FIXTURE_TEST(recorder_flags_syscalls_of_what_request_started_as_their_account)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;

	plan(NS_PER_S / 2, make_in_child);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(record_reader_open(path, &reader), 0);
	do {
		assert_int_equal(record_reader_next(reader, &view), 1);
	} while (view.kind != RECORD_KIND_SYSCALL);
	assert_true(record_view_lists_at(&view, RECORD_PLACE(syscall, flags), "inherited"));
	assert_true(record_view_lists_at(&view, RECORD_PLACE(syscall, flags), "inherited_by_exec"));
}

FIXTURE_TEST(recorder_requests_no_syscalls_without_option)
{
	fake.recording.counts_syscalls = false;
	plan(NS_PER_S / 2, make_some);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_false(fake.options.counts_syscalls);
	assert_int_equal(fake.call_count, 3);
	assert_null(strstr(recorded(), "syscall"));
}

static size_t fake_successes;

static void make_without_memory(void)
{
	make_some();
	memory_fails_after(fake_successes);
}

FIXTURE_TEST(recorder_loses_syscalls_with_window_without_memory)
{
	bool is_lost = true, is_missing = false;

	for (fake_successes = 0; is_lost || is_missing; fake_successes++) {
		assert_int_equal(begin(state), 0);
		plan(NS_PER_S / 2, make_without_memory);
		plan(5 * NS_PER_S / 4, memory_never_fails);
		(void)record();
		memory_never_fails();
		is_missing = strstr(fake.said, "records are missing (no memory)");
		is_lost = strstr(fake.said, "no memory: the records of a window are lost");
		if (is_lost)
			assert_null(strstr(recorded(), "syscall"));
	}
	assert_true(fake_successes > 5);
	assert_non_null(strstr(recorded(), "syscall 0 r1 read 7 700 ns\n"));
}

TEST_GROUP(make_file, remove_file)
