/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom the flush's programs write up, and whom they leave alone: bpf/collect.bpf.h. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

static int preemption_off;

#define compat_preempt_disable() (preemption_off++)
#define compat_preempt_enable()	 (preemption_off--)

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
	collect_life = 0;
	stragglers = 0;
	registration_pass = 0;
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
	assert_int_equal(preemption_off, 0);
}

static void interrupt(void)
{
	assert_int_equal(collect_current(NULL), 0);
}

static void assert_written_up(bool is_expected)
{
	const struct process_books *process = &process_of(LIFE)->books;

	assert_int_equal(process->epochs[0].overflow.user_ns >= PENDING_NS, is_expected);
	assert_int_equal(thread->epoch, is_expected);
	assert_int_equal(thread->pending_first_ns == 0, is_expected);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(collect_charges_off_cpu_thread_when_visited)
{
	thread->clock.is_off_cpu = 1;
	meet(&kernel.current);
	assert_written_up(true);
	assert_int_equal(stragglers, 0);
}

FIXTURE_TEST(collect_leaves_running_thread_to_interrupt)
{
	meet(&kernel.current);
	assert_written_up(false);
	assert_int_equal(stragglers, 2);
	interrupt();
	assert_written_up(true);
	meet(&kernel.current);
	assert_int_equal(stragglers, 2);
}

FIXTURE_TEST(collect_interrupt_notes_whether_observed_thread_runs)
{
	kernel.edge_slot.runs_observed = 0;
	interrupt();
	assert_int_equal(kernel.edge_slot.runs_observed, 1);
	kernel.has_state[0] = false;
	interrupt();
	assert_int_equal(kernel.edge_slot.runs_observed, 0);
}

FIXTURE_TEST(collect_leaves_thread_that_got_its_cpu_unseen_to_interrupt)
{
	thread->clock.is_off_cpu = 1;
	kernel.current.on_cpu = 1;
	meet(&kernel.current);
	assert_written_up(false);
	assert_int_equal(stragglers, 2);
	interrupt();
	assert_written_up(true);
	assert_int_equal(thread->clock.is_off_cpu, 0);
}

FIXTURE_TEST(collect_skips_threads_without_books)
{
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
FIXTURE_TEST(collect_interrupt_does_nothing_inside_boundary)
{
	thread->is_busy = 1;
	interrupt();
	thread->is_busy = 0;
	kernel.edge_slot.is_busy = 1;
	interrupt();
	assert_written_up(false);
	assert_int_equal(process_of(LIFE)->books.losses[COUNTER_BOUNDARY_BUSY], 0);
	kernel.edge_slot.is_busy = 0;
	interrupt();
	assert_written_up(true);
}

FIXTURE_TEST(collect_interrupt_charges_only_selected_process)
{
	collect_life = OTHER_LIFE;
	interrupt();
	assert_written_up(false);
	collect_life = LIFE;
	interrupt();
	assert_written_up(true);
}

FIXTURE_TEST(collect_otel_phase_allocates_state_and_charges_nothing)
{
	process_of(LIFE)->has_otel = true;
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

FIXTURE_TEST(collect_late_phase_counts_threads_left_for_next_window)
{
	const __u64 *count = &process_of(LIFE)->books.losses[COUNTER_THREAD_LATE];

	meet(&kernel.current);
	assert_int_equal(*count, 0);
	collect_phase = COLLECT_PHASE_FLUSH_LATE;
	meet(&kernel.current);
	assert_int_equal(*count, 2);
	assert_int_equal(stragglers, 4);
}

FIXTURE_TEST(collect_retries_off_cpu_thread_that_was_busy)
{
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

static void walk(struct task_struct *task)
{
	struct bpf_iter__task context = { .task = task };

	assert_int_equal(collect_tasks(&context), 0);
	assert_int_equal(kernel.states[1].is_busy, 0);
}

/* A pass over the other task, whose process has come to be known. */
static void walk_anew(void)
{
	registration_pass++;
	stragglers = 0;
	walk(&kernel.other);
}

static void know_the_other(void)
{
	kernel.processes[2] = (struct native_process){
		.life = OTHER_LIFE,
		.has_config = true,
		.has_books = true,
		.config = { .flags = PROCESS_READY, .generation = 1, .reading = 1 },
		.books.image = OTHER_LIFE + 1,
	};
	kernel.processes[3] = (struct native_process){
		.life = OTHER_TGID,
		.is_pid = true,
		.known = { .life = OTHER_LIFE, .start_ticks = OTHER_START_TICKS },
	};
	collect_phase = COLLECT_PHASE_REGISTER;
}

FIXTURE_TEST(collect_registers_thread_then_begins_it_in_next_pass)
{
	const struct thread_state *other = &kernel.states[1];

	know_the_other();
	for (uint32_t time = 1; time <= 2; time++) {
		if (time == 1)
			walk_anew();
		else
			walk(&kernel.other);
		assert_int_equal(other->is_ready, 1);
		assert_int_equal(other->is_begun, 0);
		assert_int_equal(stragglers, time);
		assert_int_equal(process_of(OTHER_LIFE)->books.live_threads, 1);
	}
	assert_int_equal(other->tgid, OTHER_TGID);
	assert_int_equal(other->life, OTHER_LIFE);
	/* It has run another program by then. */
	assert_int_equal(other->image, OTHER_LIFE + 1);
	assert_int_equal(other->tid, OTHER_TID);
	assert_true(other->inherited_pointer == INHERITED_FIRST_READ);
	/* Between the two each CPU was interrupted: it has not run since. */
	walk_anew();
	assert_int_equal(other->is_begun, 1);
	assert_int_equal(other->clock.is_off_cpu, 1);
	assert_int_equal(other->clock.mark_ns, NOW_NS);
	assert_int_equal(stragglers, 0);
	walk_anew();
	assert_int_equal(stragglers, 0);
	assert_int_equal(process_of(OTHER_LIFE)->books.live_threads, 1);
}

FIXTURE_TEST(collect_begins_registered_thread_only_when_off_cpu)
{
	struct thread_state *other = &kernel.states[1];

	know_the_other();
	walk_anew();
	missed_switches_note(&other->missed);
	walk_anew();
	assert_int_equal(other->is_begun, 0);
	assert_int_equal(stragglers, 1);
	/* And lost it again. */
	other->missed.switches[0].is_out = 1;
	walk_anew();
	assert_int_equal(other->is_begun, 1);
	assert_int_equal(stragglers, 0);
}

FIXTURE_TEST(collect_registers_no_unknown_or_busy_thread)
{
	know_the_other();
	process_of(OTHER_LIFE)->has_config = false;
	walk_anew();
	assert_false(kernel.has_state[1]);
	assert_int_equal(stragglers, 0);
	/* Nor one that somebody is at, for now. */
	process_of(OTHER_LIFE)->has_config = true;
	kernel.states[1].is_busy = 1;
	registration_pass++;
	assert_int_equal(collect_tasks(&(struct bpf_iter__task){ .task = &kernel.other }), 0);
	assert_int_equal(kernel.states[1].is_ready, 0);
	assert_int_equal(kernel.states[1].is_busy, 1);
	assert_int_equal(stragglers, 0);
}
