/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom the flush's programs write up, and whom they leave alone: bpf/collect.bpf.h. */
#include "bpf/two_tasks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "collect.bpf.h"

enum {
	PENDING_NS = 70
};

static struct thread_state *const thread = &kernel.states[0];

/* A thread with time pending of the window before. */
static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	collect_phase = COLLECT_PHASE_FLUSH;
	collect_tgid = 0;
	stragglers = 0;
	current_epoch = 1;
	thread->knowledge = CONTEXT_KNOWN;
	thread->context_hash = CONTEXT_HASH_NONE;
	thread->pending.user_ns = PENDING_NS;
	thread->pending_first_ns = NOW_NS - PENDING_NS;
	return 0;
}

/* Both programs, of which a kernel has one or the other. */
static void meet(struct task_struct *task)
{
	struct bpf_iter__task context = { .task = task };

	assert_int_equal(collect_tasks(&context), 0);
	assert_int_equal(collect_tasks_undisturbed(&context), 0);
}

static void interrupt(void)
{
	assert_int_equal(collect_current(NULL), 0);
}

static void assert_written_up(bool is_expected)
{
	const struct process_books *process = &process_of(TGID)->books;

	assert_int_equal(process->epochs[0].overflow.user_ns >= PENDING_NS, is_expected);
	assert_int_equal(thread->epoch, is_expected);
	assert_int_equal(thread->pending_first_ns == 0, is_expected);
}

static void who_is_off_the_cpu_is_written_up_where_it_is_met(void **state)
{
	(void)state;
	thread->clock.is_off_cpu = 1;
	meet(&kernel.current);
	assert_written_up(true);
	assert_int_equal(stragglers, 0);
}

static void who_runs_is_left_to_the_interrupt(void **state)
{
	(void)state;
	meet(&kernel.current);
	assert_written_up(false);
	assert_int_equal(stragglers, 2);
	interrupt();
	assert_written_up(true);
	meet(&kernel.current);
	assert_int_equal(stragglers, 2);
}

static void who_has_no_books_is_passed_over(void **state)
{
	(void)state;
	thread->clock.is_off_cpu = 1;
	/* The list of tasks ends with none. */
	meet(NULL);
	meet(&kernel.other);
	thread->is_begun = 0;
	meet(&kernel.current);
	thread->is_begun = 1;
	thread->is_ready = 0;
	meet(&kernel.current);
	interrupt();
	kernel.has_state[0] = false;
	meet(&kernel.current);
	interrupt();
	assert_written_up(false);
	assert_int_equal(stragglers, 0);
}

/* That one is the split. */
static void in_the_middle_of_a_boundary_an_interrupt_does_nothing(void **state)
{
	(void)state;
	thread->is_busy = 1;
	interrupt();
	thread->is_busy = 0;
	kernel.edge_slot.is_busy = 1;
	interrupt();
	assert_written_up(false);
	assert_int_equal(process_of(TGID)->books.losses[COUNTER_BOUNDARY_BUSY], 0);
	kernel.edge_slot.is_busy = 0;
	interrupt();
	assert_written_up(true);
}

static void an_interrupt_may_be_meant_for_one_process(void **state)
{
	(void)state;
	collect_tgid = OTHER_TGID;
	interrupt();
	assert_written_up(false);
	collect_tgid = TGID;
	interrupt();
	assert_written_up(true);
}

static void opentelemetrys_round_makes_room_and_writes_nothing_up(void **state)
{
	(void)state;
	process_of(TGID)->has_otel = true;
	thread->clock.is_off_cpu = 1;
	collect_phase = COLLECT_PHASE_OTEL;
	meet(&kernel.current);
	assert_false(kernel.has_otel_state[0]);
	native_session.watches_otel = 1;
	meet(&kernel.current);
	assert_true(kernel.has_otel_state[0]);
	/* It may be in a context already. */
	assert_int_equal(kernel.otel_states[0].is_known, 0);
	assert_written_up(false);
}

static void the_last_round_counts_who_is_left_for_the_next_window(void **state)
{
	const __u64 *count = &process_of(TGID)->books.losses[COUNTER_THREAD_LATE];

	(void)state;
	meet(&kernel.current);
	assert_int_equal(*count, 0);
	collect_phase = COLLECT_PHASE_FLUSH_LATE;
	meet(&kernel.current);
	assert_int_equal(*count, 2);
	assert_int_equal(stragglers, 4);
}

static void a_sleeper_whose_books_are_held_is_met_again(void **state)
{
	(void)state;
	thread->clock.is_off_cpu = 1;
	thread->is_busy = 1;
	meet(&kernel.current);
	assert_written_up(false);
	assert_int_equal(stragglers, 2);
	thread->is_busy = 0;
	meet(&kernel.current);
	assert_written_up(true);
	assert_int_equal(thread->is_busy, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_off_the_cpu_is_written_up_where_it_is_met),
		TEST(who_runs_is_left_to_the_interrupt),
		TEST(who_has_no_books_is_passed_over),
		TEST(in_the_middle_of_a_boundary_an_interrupt_does_nothing),
		TEST(an_interrupt_may_be_meant_for_one_process),
		TEST(opentelemetrys_round_makes_room_and_writes_nothing_up),
		TEST(the_last_round_counts_who_is_left_for_the_next_window),
		TEST(a_sleeper_whose_books_are_held_is_met_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
