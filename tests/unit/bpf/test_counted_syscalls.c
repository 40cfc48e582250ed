/* SPDX-License-Identifier: GPL-2.0-only */
/* Which account calls are charged to, by number, and what is lost: bpf/syscall_counts.bpf.h. That
 * they are the account's calls in any life is in test_machine.c. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "syscall.bpf.h"

#define CHARGED_MAP  syscalls
#define CHARGED_KEY  struct syscall_key
#define CHARGED_SUMS struct syscall_sums
#include "bpf/charged_map.h"

UNIT_TEST_ALONE;

enum {
	READ = 0,
	STAT = 4,
	PAUSE = 34,
	STEP_NS = 10, /* between two edges */
};

static uint64_t registers;

static int set_up(void **state)
{
	begin_charges(state);
	memset(&syscalls_share, 0, sizeof(syscalls_share));
	native_session.has_syscalls = 1;
	sees_syscalls = 1;
	return 0;
}

static void enter(uint64_t number)
{
	unsigned long long arguments[] = { (uintptr_t)&registers, number };

	kernel.now_ns += STEP_NS;
	assert_int_equal(on_sys_enter(arguments), 0);
	assert_false(thread->is_busy);
}

static void leave(void)
{
	unsigned long long arguments[] = { (uintptr_t)&registers, 0 };

	kernel.now_ns += STEP_NS;
	assert_int_equal(on_sys_exit(arguments), 0);
	assert_false(thread->is_busy);
}

static void make(uint64_t number, unsigned int times)
{
	for (unsigned int i = 0; i < times; i++) {
		enter(number);
		leave();
	}
}

static void charge(void)
{
	charge_pending(thread, &kernel.current, kernel.now_ns);
}

static void expect_row(size_t window, uint64_t context_hash, uint32_t call, uint64_t calls,
		       uint64_t inside_ns)
{
	const struct syscall_key key = {
		.account = { .context_hash = context_hash, .thread_serial = 6, .life = LIFE },
		.call = call
	};
	const struct syscall_sums *sums = find_row(window, &key);

	assert_non_null(sums);
	assert_int_equal(sums->calls, calls);
	assert_int_equal(sums->inside_ns, inside_ns);
}

static uint64_t lost(void)
{
	return kernel.processes[0].books.losses[COUNTER_SYSCALL_LOST];
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(syscalls_are_charged_with_time_to_account)
{
	make(READ, 3);
	make(STAT, 2);
	assert_int_equal(bench.counts[0], 0);
	charge();
	assert_int_equal(bench.counts[0], 2);
	expect_row(0, CONTEXT_HASH_NONE, READ + 1, 3, 3 * STEP_NS);
	expect_row(0, CONTEXT_HASH_NONE, STAT + 1, 2, 2 * STEP_NS);
	assert_int_equal(bench.account.totals.syscalls, 5);
	assert_int_equal(bench.account.totals.kernel_ns, 5 * STEP_NS);
	make(READ, 1);
	charge();
	assert_int_equal(bench.counts[0], 2);
	expect_row(0, CONTEXT_HASH_NONE, READ + 1, 4, 4 * STEP_NS);
	assert_int_equal(lost(), 0);
}

FIXTURE_TEST(syscalls_made_before_context_is_known_are_charged_to_it)
{
	thread->knowledge = CONTEXT_UNKNOWN;
	make(READ, 2);
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT_HASH_FIRST;
	open_account(CONTEXT_HASH_FIRST);
	charge();
	assert_int_equal(bench.counts[0], 1);
	expect_row(0, CONTEXT_HASH_FIRST, READ + 1, 2, 2 * STEP_NS);
}

FIXTURE_TEST(syscalls_of_never_known_context_are_charged_to_unknown)
{
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->context_hash = CONTEXT_HASH_FIRST;
	open_account(CONTEXT_HASH_UNKNOWN);
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_UNKNOWN, READ + 1, 1, STEP_NS);
}

/* As the thread meets it while another CPU writes up its books. */
static void enter_while_held(uint64_t number)
{
	unsigned long long arguments[] = { (uintptr_t)&registers, number };

	thread->is_busy = 1;
	assert_int_equal(on_sys_enter(arguments), 0);
	thread->is_busy = 0;
}

FIXTURE_TEST(syscalls_missed_while_busy_are_counted_at_next_boundary)
{
	enter_while_held(READ);
	enter_while_held(STAT);
	enter_while_held(STAT);
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, READ + 1, 2, STEP_NS);
	expect_row(0, CONTEXT_HASH_NONE, STAT + 1, 2, 0);
	assert_int_equal(bench.account.totals.syscalls, 4);
	make(READ, 1);
	charge();
	assert_int_equal(bench.account.totals.syscalls, 5);
	assert_int_equal(lost(), 0);
}

FIXTURE_TEST(syscalls_missed_beyond_capacity_are_counted_lost)
{
	for (unsigned int i = 0; i < MISSED_CALLS + 2; i++)
		enter_while_held(STAT);
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, STAT + 1, MISSED_CALLS, 0);
	assert_int_equal(bench.account.totals.syscalls, MISSED_CALLS + 1);
	assert_int_equal(lost(), 2);
	for (unsigned int i = 0; i < MISSED_CALLS; i++)
		enter_while_held(STAT);
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, STAT + 1, 2ULL * MISSED_CALLS, 0);
	assert_int_equal(lost(), 2);
}

FIXTURE_TEST(syscalls_missed_without_free_slot_wait_for_charge)
{
	for (uint32_t i = 0; i < SYSCALL_TRIES; i++)
		make(i * SYSCALL_PLACES, 1);
	enter_while_held((uint64_t)SYSCALL_TRIES * SYSCALL_PLACES);
	enter_while_held(READ);
	make(PAUSE, 1);
	assert_int_equal(missed_calls_wait(&thread->missed_calls), 2);
	charge();
	make(PAUSE, 1);
	charge();
	assert_int_equal(bench.account.totals.syscalls, SYSCALL_TRIES + 4);
	expect_row(0, CONTEXT_HASH_NONE, SYSCALL_TRIES * SYSCALL_PLACES + 1, 1, 0);
	expect_row(0, CONTEXT_HASH_NONE, READ + 1, 2, STEP_NS);
	assert_int_equal(lost(), 0);
}

FIXTURE_TEST(syscalls_without_account_are_charged_to_overflow)
{
	open_account(CONTEXT_HASH_FIRST);
	make(READ, 2);
	charge();
	expect_row(0, CONTEXT_HASH_OVERFLOW, READ + 1, 2, 2 * STEP_NS);
	assert_int_equal(kernel.processes[0].books.epochs[0].overflow.syscalls, 2);
}

FIXTURE_TEST(syscall_spanning_windows_has_time_in_each)
{
	enter(PAUSE);
	(void)account_edge(&thread->clock, &thread->pending, kernel.now_ns += 1000,
			   THREAD_MODE_KERNEL);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, PAUSE + 1, 1, 1000);
	thread->epoch = open_epoch = current_epoch = 1;
	(void)account_edge(&thread->clock, &thread->pending, kernel.now_ns += 500,
			   THREAD_MODE_KERNEL);
	charge_note_pending(thread, kernel.now_ns);
	leave();
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, PAUSE + 1, 1, 1000);
	expect_row(1, CONTEXT_HASH_NONE, PAUSE + 1, 0, 500 + STEP_NS);
	expect_row(1, CONTEXT_HASH_NONE, READ + 1, 1, STEP_NS);
}

/* exit_group() does not return; neither does its thread. */
FIXTURE_TEST(syscall_without_return_has_time_until_last_charge)
{
	enter(231);
	(void)account_edge(&thread->clock, &thread->pending, kernel.now_ns += 70,
			   THREAD_MODE_KERNEL);
	charge();
	charge();
	expect_row(0, CONTEXT_HASH_NONE, 232, 1, 70);
}

/* A new thread comes out of a call that it did not enter. */
FIXTURE_TEST(syscall_exit_without_entry_is_not_counted)
{
	leave();
	charge();
	assert_int_equal(bench.counts[0], 0);
	assert_int_equal(bench.account.totals.syscalls, 0);
}

FIXTURE_TEST(syscalls_option_disables_edge_fast_path)
{
	make(READ, 2);
	assert_int_equal(kernel.edge_slot.registers, 0);
	assert_int_equal(thread->armed_cpu, 0);
	native_session.has_syscalls = 0;
	make(READ, 2);
	assert_int_equal(kernel.edge_slot.registers, (uintptr_t)&registers);
}

FIXTURE_TEST(syscalls_are_not_counted_without_option)
{
	native_session.has_syscalls = 0;
	make(READ, 2);
	assert_true(edge_fold(thread));
	charge();
	assert_int_equal(bench.account.totals.syscalls, 2);
	assert_int_equal(bench.counts[0], 0);
}

FIXTURE_TEST(syscalls_of_more_kinds_than_slots_are_all_charged)
{
	const uint32_t kinds = 3 * SYSCALL_PLACES;

	for (unsigned int round = 0; round < 2; round++)
		for (uint32_t number = 0; number < kinds; number++)
			make(number, 1);
	charge();
	assert_int_equal(bench.counts[0], kinds);
	for (uint32_t number = 0; number < kinds; number++)
		expect_row(0, CONTEXT_HASH_NONE, number + 1, 2, 2 * STEP_NS);
	assert_int_equal(bench.account.totals.syscalls, 2 * kinds);
	assert_int_equal(lost(), 0);
}

/* What is charged for want of a place is charged by the rule: to the context that is in force. */
FIXTURE_TEST(syscalls_read_context_before_early_charge)
{
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->config.flags = 0;
	thread->tls_resolution = TLS_UNALLOCATED;
	thread->tls_epoch = current_epoch;
	for (uint32_t i = 0; i <= SYSCALL_TRIES; i++)
		make(i * SYSCALL_PLACES, 1);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(bench.counts[0], SYSCALL_TRIES);
	expect_row(0, CONTEXT_HASH_NONE, 1, 1, STEP_NS);
}

FIXTURE_TEST(syscalls_of_32_bit_entries_have_distinct_numbers)
{
	make(READ, 1);
	make(SYSCALL_X32_BIT | READ, 1);
	kernel.is_32_bit_call = true;
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, syscall_call(READ, 1, 0), 1, STEP_NS);
	expect_row(0, CONTEXT_HASH_NONE, syscall_call(SYSCALL_X32_BIT, 1, 0), 1, STEP_NS);
	expect_row(0, CONTEXT_HASH_NONE, syscall_call(READ, 1, 1), 1, STEP_NS);
}

FIXTURE_TEST(syscalls_lost_to_full_map_are_counted_per_call)
{
	make(STAT, 1);
	charge();
	bench.is_full = true;
	make(READ, 3);
	make(STAT, 2);
	charge();
	assert_int_equal(lost(), 3);
	expect_row(0, CONTEXT_HASH_NONE, STAT + 1, 3, 3 * STEP_NS);
	bench.has_no_epochs = true;
	make(STAT, 4);
	charge();
	assert_int_equal(lost(), 7);
	assert_int_equal(thread->syscalls.has_some, 0);
	assert_int_equal(bench.account.totals.syscalls, 10);
}

FIXTURE_TEST(syscalls_of_one_family_leave_capacity_for_others)
{
	const uint32_t room = SYSCALLS_PER_ACCOUNT * native_session.accounts_max;

	make(READ, 1);
	charge();
	assert_int_equal(syscalls_share[0].used_by[FAMILY], 1);
	assert_int_equal(syscalls_share[1].used, 0);
	/* It holds three times what is left. */
	syscalls_share[0].used = syscalls_share[0].used_by[FAMILY] = 3 * room / 4;
	make(READ, 2);
	make(STAT, 1);
	charge();
	assert_int_equal(lost(), 1);
	expect_row(0, CONTEXT_HASH_NONE, READ + 1, 3, 3 * STEP_NS);
	thread->config.family = FAMILY + 1;
	make(STAT, 1);
	charge();
	assert_int_equal(lost(), 1);
	assert_int_equal(syscalls_share[0].used_by[FAMILY + 1], 1);
}

/* The split was given up in the middle of a call: nobody sees its exit. */
FIXTURE_TEST(syscall_time_stops_when_exits_are_not_seen)
{
	enter(READ);
	sees_syscalls = 0;
	charge();
	for (unsigned int i = 0; i < 2; i++) {
		(void)account_edge(&thread->clock, &thread->pending, kernel.now_ns += 1000,
				   THREAD_MODE_USER);
		charge_note_pending(thread, kernel.now_ns);
		charge();
	}
	expect_row(0, CONTEXT_HASH_NONE, READ + 1, 1, 0);
}
