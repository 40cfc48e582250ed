/* SPDX-License-Identifier: GPL-2.0-only */
/* Which account calls are charged to, by number, and what is lost: bpf/syscall_counts.bpf.h. That
 * they are the account's calls in any life is in test_machine.c. */
#include "bpf/two_tasks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "syscall.bpf.h"

#define CHARGED_MAP  syscalls
#define CHARGED_KEY  struct syscall_key
#define CHARGED_SUMS struct syscall_sums
#include "bpf/charged_map.h"

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

static void calls_are_charged_with_the_time_of_their_account(void **state)
{
	(void)state;
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

static void of_a_context_that_is_not_known_when_they_are_made_they_are_all_the_same(void **state)
{
	(void)state;
	thread->knowledge = CONTEXT_UNKNOWN;
	make(READ, 2);
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT_HASH_FIRST;
	open_account(CONTEXT_HASH_FIRST);
	charge();
	assert_int_equal(bench.counts[0], 1);
	expect_row(0, CONTEXT_HASH_FIRST, READ + 1, 2, 2 * STEP_NS);
}

static void and_of_one_that_never_is_it_is_said_so(void **state)
{
	(void)state;
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

static void those_that_meet_the_books_held_are_counted_by_who_holds_them_next(void **state)
{
	(void)state;
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

static void as_many_as_there_is_room_for(void **state)
{
	(void)state;
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

static void one_without_a_place_waits_for_the_charge(void **state)
{
	(void)state;
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

static void without_an_account_they_are_of_overflow(void **state)
{
	(void)state;
	open_account(CONTEXT_HASH_FIRST);
	make(READ, 2);
	charge();
	expect_row(0, CONTEXT_HASH_OVERFLOW, READ + 1, 2, 2 * STEP_NS);
	assert_int_equal(kernel.processes[0].books.epochs[0].overflow.syscalls, 2);
}

static void each_window_has_its_own_and_a_long_call_time_in_each(void **state)
{
	(void)state;
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
static void one_that_does_not_return_has_its_time_up_to_the_last_charge(void **state)
{
	(void)state;
	enter(231);
	(void)account_edge(&thread->clock, &thread->pending, kernel.now_ns += 70,
			   THREAD_MODE_KERNEL);
	charge();
	charge();
	expect_row(0, CONTEXT_HASH_NONE, 232, 1, 70);
}

/* A new thread comes out of a call that it did not enter. */
static void an_exit_without_an_entry_is_no_call(void **state)
{
	(void)state;
	leave();
	charge();
	assert_int_equal(bench.counts[0], 0);
	assert_int_equal(bench.account.totals.syscalls, 0);
}

static void no_edge_goes_the_short_way(void **state)
{
	(void)state;
	make(READ, 2);
	assert_int_equal(kernel.edge_slot.registers, 0);
	assert_int_equal(thread->armed_cpu, 0);
	native_session.has_syscalls = 0;
	make(READ, 2);
	assert_int_equal(kernel.edge_slot.registers, (uintptr_t)&registers);
}

static void without_the_option_nothing_is_counted(void **state)
{
	(void)state;
	native_session.has_syscalls = 0;
	make(READ, 2);
	assert_true(edge_fold(thread));
	charge();
	assert_int_equal(bench.account.totals.syscalls, 2);
	assert_int_equal(bench.counts[0], 0);
}

static void more_kinds_than_places_are_charged_in_turns(void **state)
{
	const uint32_t kinds = 3 * SYSCALL_PLACES;

	(void)state;
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
static void for_room_the_context_is_read(void **state)
{
	(void)state;
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

static void the_32_bit_ways_into_the_kernel_have_numbers_of_their_own(void **state)
{
	(void)state;
	make(READ, 1);
	make(SYSCALL_X32_BIT | READ, 1);
	kernel.is_32_bit_call = true;
	make(READ, 1);
	charge();
	expect_row(0, CONTEXT_HASH_NONE, syscall_call(READ, 1, 0), 1, STEP_NS);
	expect_row(0, CONTEXT_HASH_NONE, syscall_call(SYSCALL_X32_BIT, 1, 0), 1, STEP_NS);
	expect_row(0, CONTEXT_HASH_NONE, syscall_call(READ, 1, 1), 1, STEP_NS);
}

static void what_finds_no_room_is_counted_by_calls(void **state)
{
	(void)state;
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

static void a_family_leaves_room_for_others(void **state)
{
	const uint32_t room = SYSCALLS_PER_ACCOUNT * native_session.accounts_max;

	(void)state;
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
static void no_call_goes_on_for_ever(void **state)
{
	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(calls_are_charged_with_the_time_of_their_account, set_up),
		cmocka_unit_test_setup(
			of_a_context_that_is_not_known_when_they_are_made_they_are_all_the_same,
			set_up),
		cmocka_unit_test_setup(and_of_one_that_never_is_it_is_said_so, set_up),
		cmocka_unit_test_setup(
			those_that_meet_the_books_held_are_counted_by_who_holds_them_next, set_up),
		cmocka_unit_test_setup(as_many_as_there_is_room_for, set_up),
		cmocka_unit_test_setup(one_without_a_place_waits_for_the_charge, set_up),
		cmocka_unit_test_setup(without_an_account_they_are_of_overflow, set_up),
		cmocka_unit_test_setup(each_window_has_its_own_and_a_long_call_time_in_each,
				       set_up),
		cmocka_unit_test_setup(one_that_does_not_return_has_its_time_up_to_the_last_charge,
				       set_up),
		cmocka_unit_test_setup(an_exit_without_an_entry_is_no_call, set_up),
		cmocka_unit_test_setup(no_edge_goes_the_short_way, set_up),
		cmocka_unit_test_setup(without_the_option_nothing_is_counted, set_up),
		cmocka_unit_test_setup(more_kinds_than_places_are_charged_in_turns, set_up),
		cmocka_unit_test_setup(for_room_the_context_is_read, set_up),
		cmocka_unit_test_setup(the_32_bit_ways_into_the_kernel_have_numbers_of_their_own,
				       set_up),
		cmocka_unit_test_setup(what_finds_no_room_is_counted_by_calls, set_up),
		cmocka_unit_test_setup(a_family_leaves_room_for_others, set_up),
		cmocka_unit_test_setup(no_call_goes_on_for_ever, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
