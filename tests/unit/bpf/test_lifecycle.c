/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that are made, get another program or name, and end: bpf/lifecycle.bpf.h and
 * bpf/registration.bpf.h.
 */
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "sched.bpf.h"

UNIT_TEST_ALONE;

enum {
	PENDING_NS = 5,
	PAUSE_NS = 1000000,
	OTHER_OWN_TGID = 11,
	SERIAL = 41,
};

static struct thread_state *const thread = &kernel.states[0];
static struct thread_state *const child = &kernel.states[1];

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	last_serial = SERIAL;
	registrations = 0;
	native_session.follow_forks = 1;
	thread->knowledge = CONTEXT_KNOWN;
	thread->pending.user_ns = PENDING_NS;
	thread->pending_first_ns = NOW_NS - 200;
	set_pid(2, 1, OTHER_TID, OTHER_OWN_TGID);
	return 0;
}

static const struct account_totals *charged(void)
{
	return &process_of(LIFE)->books.epochs[0].overflow;
}

static uint64_t losses(enum counter counter)
{
	return process_of(LIFE)->books.losses[counter];
}

static void run(int (*program)(unsigned long long *), struct task_struct *task)
{
	unsigned long long arguments[] = { (uintptr_t)task, 0 };

	assert_int_equal(program(arguments), 0);
}

static void make_thread(void)
{
	kernel.other.tgid = TGID;
	kernel.other.group_leader = &kernel.leader;
	run(on_new_task, &kernel.other);
}

static void fork_process(void)
{
	run(on_new_task, &kernel.other);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(new_thread_is_observed_from_first_wait)
{
	process_of(LIFE)->books.live_threads = 1;
	make_thread();
	assert_int_equal(kernel.told_count, 0);
	assert_int_equal(child->is_ready, 1);
	assert_int_equal(child->is_begun, 1);
	assert_int_equal(child->is_busy, 0);
	assert_int_equal(child->tid, OTHER_TID);
	assert_int_equal(child->ns_tid, OTHER_OWN_TGID);
	assert_int_equal(child->tgid, TGID);
	assert_int_equal(child->life, LIFE);
	assert_int_equal(child->image, IMAGE);
	assert_int_equal(child->serial, SERIAL + 1);
	assert_int_equal(last_serial, SERIAL + 1);
	assert_int_equal(child->inherited_pointer, 0);
	assert_int_equal(child->generation, generation - 1);
	assert_int_equal(child->config.family, FAMILY);
	assert_int_equal(child->is_worker, 0);
	assert_int_equal(child->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(child->clock.is_off_cpu, 1);
	assert_int_equal(child->clock.off_reason, OFF_CPU_RUNNABLE);
	assert_int_equal(child->clock.mark_ns, NOW_NS);
	assert_int_equal(child->clock.mode, compat_mode_of_new_thread());
	assert_int_equal(process_of(LIFE)->books.live_threads, 2);
	assert_int_equal(registrations, 1);
}

/* Whatever the kernel says of it before it has run. */
FIXTURE_TEST(new_thread_starts_runnable_whatever_its_kernel_state)
{
	kernel.other.__state = TASK_STATE_UNINTERRUPTIBLE;
	kernel.is_in_call = compat_mode_of_new_thread() == THREAD_MODE_USER;
	make_thread();
	assert_int_equal(child->clock.off_reason, OFF_CPU_RUNNABLE);
	assert_int_equal(child->clock.mode, compat_mode_of_new_thread());
}

/* io_uring's and vhost's threads in a process. */
FIXTURE_TEST(kernel_worker_starts_in_kernel_without_context)
{
	const unsigned int flags[] = { TASK_FLAG_IO_WORKER, TASK_FLAG_USER_WORKER };

	for (size_t i = 0; i < 2; i++) {
		(void)set_up(state);
		kernel.other.flags = flags[i];
		child->context_hash = CONTEXT_HASH_FIRST;
		make_thread();
		assert_int_equal(child->is_worker, 1);
		assert_int_equal(child->clock.mode, THREAD_MODE_KERNEL);
		assert_int_equal(child->context_hash, CONTEXT_HASH_NONE);
		assert_int_equal(child->knowledge, CONTEXT_KNOWN);
	}
}

FIXTURE_TEST(new_thread_without_storage_is_counted)
{
	kernel.has_no_storage = true;
	make_thread();
	assert_int_equal(losses(COUNTER_STORAGE_FAILED), 1);
	assert_int_equal(registrations, 0);
}

FIXTURE_TEST(new_thread_is_registered_once)
{
	kernel.has_state[1] = true;
	child->is_busy = 1;
	make_thread();
	assert_int_equal(child->is_ready, 0);
	child->is_busy = 0;
	child->is_begun = 1;
	make_thread();
	assert_int_equal(child->is_ready, 0);
	assert_int_equal(child->is_busy, 0);
	/* By the iterator, which could not begin its books. */
	child->is_begun = 0;
	child->is_ready = 1;
	make_thread();
	assert_int_equal(child->is_begun, 1);
	assert_int_equal(child->serial, 0);
	assert_int_equal(process_of(LIFE)->books.live_threads, 0);
	assert_int_equal(registrations, 0);
}

FIXTURE_TEST(registration_skips_dead_task)
{
	kernel.other.__state = TASK_STATE_DEAD | TASK_STATE_UNINTERRUPTIBLE;
	make_thread();
	assert_false(kernel.has_state[1]);
}

/* Its last switch and its registration meet: one of the two ends it. */
FIXTURE_TEST(registration_ends_thread_that_dies_meanwhile)
{
	struct process_books *process = &process_of(LIFE)->books;

	process->live_threads = 1;
	kernel.dying_at = &books;
	make_thread();
	assert_int_equal(child->is_ready, 0);
	assert_int_equal(process->live_threads, 1);
	assert_int_equal(kernel.told_count, 0);
	assert_int_equal(registrations, 1);
}

FIXTURE_TEST(registration_end_reports_exit_of_last_thread_once)
{
	struct process_books *process = &process_of(LIFE)->books;

	process->live_threads = 2;
	leaving_threads = 5;
	thread->is_leaving = 1;
	registration_end(thread, &kernel.current);
	assert_int_equal(process->live_threads, 1);
	assert_int_equal(leaving_threads, 4);
	assert_int_equal(kernel.told_count, 0);
	registration_end(thread, &kernel.current);
	assert_int_equal(process->live_threads, 1);
	assert_int_equal(leaving_threads, 4);
	thread->is_ready = 1;
	thread->is_leaving = 0;
	registration_end(thread, &kernel.current);
	assert_int_equal(process->live_threads, 0);
	assert_int_equal(leaving_threads, 4);
	assert_int_equal(kernel.told_count, 1);
	assert_int_equal(kernel.told[0].event.kind, EVENT_KIND_EXIT);
	assert_int_equal(kernel.told[0].event.life, LIFE);
	assert_int_equal(kernel.told[0].event.tgid, TGID);
	assert_int_equal(kernel.told[0].event.parent_tgid, 0);
	assert_int_equal(kernel.told[0].event.ns_tgid, OWN_TGID);
	assert_int_equal(kernel.told[0].event.address, 0);
	/* Its process was forgotten. */
	process_of(LIFE)->has_books = false;
	thread->is_ready = 1;
	registration_end(thread, &kernel.current);
	assert_int_equal(kernel.told_count, 1);
}

FIXTURE_TEST(fork_inherits_parents_configuration)
{
	struct process_config expected = process_of(LIFE)->config;
	const struct native_process *process;
	const struct event *event = &kernel.told[0].event;

	native_session.watches_otel = 1;
	process_of(LIFE)->has_otel = true;
	process_of(LIFE)->otel.trace_key = 2;
	processes_share.used = FAMILY;
	fork_process();
	process = process_of(OTHER_LIFE);
	assert_non_null(process);
	assert_true(process->has_config && process->has_books && process->has_otel);
	/* The same program, but an image of its own. */
	expected.image = OTHER_LIFE;
	assert_memory_equal(&process->config, &expected, sizeof(expected));
	assert_int_equal(process->books.image, OTHER_LIFE);
	assert_int_equal(process->books.live_threads, 1);
	assert_int_equal(process->otel.trace_key, 2);
	assert_int_equal(processes_share.used, FAMILY + 1);
	assert_int_equal(processes_share.used_by[FAMILY], 1);
	assert_int_equal(kernel.told_count, 1);
	assert_int_equal(event->kind, EVENT_KIND_FORK);
	assert_int_equal(event->tgid, OTHER_TGID);
	assert_int_equal(event->parent_tgid, TGID);
	assert_int_equal(event->ns_tgid, OTHER_OWN_TGID);
	assert_int_equal(event->life, OTHER_LIFE);
	assert_int_equal(event->parent_life, LIFE);
	assert_int_equal(event->start_ticks, OTHER_START_TICKS);
	assert_string_equal(event->comm, "the other");
	assert_int_equal(child->tgid, OTHER_TGID);
	assert_int_equal(child->life, OTHER_LIFE);
	assert_int_equal(child->image, OTHER_LIFE);
	/* And by its pid it is found. */
	assert_int_equal(pid_of(OTHER_TGID)->known.life, OTHER_LIFE);
	assert_int_equal(pid_of(OTHER_TGID)->known.start_ticks, OTHER_START_TICKS);
	assert_int_equal(life_of(&kernel.other), OTHER_LIFE);
	kernel.other.start_boottime += LIFE_NS_PER_TICK;
	assert_int_equal(life_of(&kernel.other), 0);
	/* What its thread-local points to its parent has set. */
	assert_int_equal(child->inherited_pointer, INHERITED_FIRST_READ);
	assert_true(kernel.has_otel_state[1]);
	assert_int_equal(kernel.otel_states[1].is_known, 0);
}

FIXTURE_TEST(new_thread_starts_without_otel_context)
{
	process_of(LIFE)->has_otel = true;
	make_thread();
	assert_false(kernel.has_otel_state[1]);
	native_session.watches_otel = 1;
	kernel.states[1].is_begun = 0;
	make_thread();
	assert_true(kernel.has_otel_state[1]);
	assert_int_equal(kernel.otel_states[1].is_known, 1);
}

FIXTURE_TEST(fork_is_followed_only_if_enabled)
{
	native_session.follow_forks = 0;
	fork_process();
	assert_null(process_of(OTHER_LIFE));
	assert_false(kernel.has_state[1]);
	assert_int_equal(kernel.told_count, 0);
}

FIXTURE_TEST(fork_copies_no_otel_configuration_if_disabled)
{
	process_of(LIFE)->has_otel = true;
	fork_process();
	assert_false(process_of(OTHER_LIFE)->has_otel);
	assert_int_equal(losses(COUNTER_PROCESSES_FULL), 0);
}

static void assert_no_child(uint64_t full)
{
	fork_process();
	assert_int_equal(losses(COUNTER_PROCESSES_FULL), full);
	assert_false(kernel.has_state[1]);
	assert_int_equal(kernel.told_count, 0);
	assert_int_equal(processes_share.used_by[FAMILY], 0);
}

FIXTURE_TEST(fork_without_capacity_is_counted_and_undone)
{
	kernel.full = &books;
	assert_no_child(1);
	kernel.full = &processes;
	assert_no_child(2);
	assert_false(process_of(OTHER_LIFE + 1)->has_books);
	kernel.full = NULL;
	processes_share.used = PROCESSES_MAX;
	assert_no_child(3);
	assert_null(process_of(OTHER_LIFE + 2));
	/* Nor one whose parent is forgotten, which is no want of room. */
	processes_share.used = 0;
	process_of(LIFE)->has_config = false;
	assert_no_child(3);
}

FIXTURE_TEST(fork_invisible_to_observer_is_ignored)
{
	kernel.other.tgid = kernel.other.pid = 0;
	assert_no_child(0);
	assert_int_equal(last_life, OTHER_LIFE - 1);
}

/* Userspace has not taken out the one before. */
FIXTURE_TEST(fork_with_reused_pid_is_separate_process)
{
	struct process_books *before;

	fork_process();
	before = &process_of(OTHER_LIFE)->books;
	before->losses[0] = 9;
	kernel.has_state[1] = false;
	memset(child, 0, sizeof(*child));
	kernel.other.start_boottime += LIFE_NS_PER_TICK;
	fork_process();
	assert_int_equal(before->losses[0], 9);
	assert_int_equal(before->live_threads, 1);
	assert_int_equal(process_of(OTHER_LIFE + 1)->books.live_threads, 1);
	assert_int_equal(processes_share.used_by[FAMILY], 2);
	assert_int_equal(kernel.told_count, 2);
	assert_int_equal(kernel.told[1].event.life, OTHER_LIFE + 1);
	assert_int_equal(life_of(&kernel.other), OTHER_LIFE + 1);
	assert_int_equal(losses(COUNTER_PROCESSES_FULL), 0);
	/* What of the first one comes late is its own. */
	child->life = OTHER_LIFE;
	registration_end(child, &kernel.other);
	assert_int_equal(before->live_threads, 0);
	assert_int_equal(process_of(OTHER_LIFE + 1)->books.live_threads, 1);
}

/* Userspace has written what it found before it was told of the parent's exec. */
FIXTURE_TEST(fork_drops_configuration_of_another_program)
{
	native_session.watches_otel = 1;
	process_of(LIFE)->has_otel = true;
	process_of(LIFE)->books.image = IMAGE + 1;
	fork_process();
	assert_int_equal(process_of(OTHER_LIFE)->config.flags, 0);
	assert_int_equal(process_of(OTHER_LIFE)->config.family, FAMILY);
	assert_int_equal(child->image, OTHER_LIFE);
}

FIXTURE_TEST(fork_without_otel_capacity_is_observed_without_it)
{
	native_session.watches_otel = 1;
	process_of(LIFE)->has_otel = true;
	kernel.full = &otel_processes;
	fork_process();
	assert_int_equal(losses(COUNTER_PROCESSES_FULL), 1);
	assert_true(process_of(OTHER_LIFE)->has_config);
	assert_int_equal(kernel.told_count, 1);
}

FIXTURE_TEST(exec_charges_old_program_and_resets_state)
{
	struct native_process *process = process_of(LIFE);

	native_session.watches_otel = 1;
	process->has_otel = true;
	thread->tid = TID + 5; /* another thread's, until then */
	thread->ns_tid = 0;
	thread->has_passed_probe = 1;
	thread->is_change_open = 1;
	run(on_exec, &kernel.current);
	assert_int_equal(charged()->user_ns, PENDING_NS + 100);
	assert_int_equal(charged()->kernel_ns, 0);
	assert_int_equal(thread->pending_first_ns, 0);
	assert_int_equal(thread->clock.mode, THREAD_MODE_KERNEL);
	assert_int_equal(thread->clock.mark_ns, NOW_NS);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(thread->tls_resolution, TLS_UNRESOLVED);
	assert_int_equal(thread->has_passed_probe, 0);
	assert_int_equal(thread->is_change_open, 0);
	assert_int_equal(thread->is_pointer_old, 1);
	assert_int_equal(thread->config.flags, 0);
	assert_int_equal(thread->tid, TID);
	assert_int_equal(thread->ns_tid, OWN_TID);
	assert_int_equal(thread->is_busy, 0);
	assert_int_equal(thread->has_missed_exec, 0);
	assert_true(process->has_config);
	assert_int_equal(process->config.flags, 0);
	assert_int_equal(process->config.generation, 0);
	assert_int_equal(process->config.family, FAMILY);
	assert_false(process->has_otel);
	assert_int_equal(kernel.told_count, 1);
	assert_int_equal(kernel.told[0].event.kind, EVENT_KIND_EXEC);
	assert_int_equal(kernel.told[0].event.life, LIFE);
	assert_int_equal(kernel.told[0].event.tgid, TGID);
	assert_int_equal(kernel.told[0].event.parent_tgid, 0);
	assert_int_equal(kernel.told[0].event.image, OTHER_LIFE);
	/* What comes is another image's, in accounts of its own. */
	assert_int_equal(thread->image, OTHER_LIFE);
	assert_int_equal(process->config.image, OTHER_LIFE);
	assert_int_equal(process->books.image, OTHER_LIFE);
	assert_int_equal(thread->life, LIFE);
	assert_int_equal(thread->serial, SERIAL + 1);
}

/* Also where somebody holds the books. */
FIXTURE_TEST(exec_thread_pointer_is_current_after_switch_in)
{
	for (uint32_t is_busy = 0; is_busy <= 1; is_busy++) {
		unsigned long long arguments[] = { 0, (uintptr_t)&kernel.other,
						   (uintptr_t)&kernel.current };

		thread->is_pointer_old = 1;
		thread->is_busy = is_busy;
		thread->clock.is_off_cpu = 1;
		assert_int_equal(on_sched_switch(arguments), 0);
		assert_int_equal(thread->is_pointer_old, 0);
	}
}

/* The interval that it ends is the first that is pending. */
FIXTURE_TEST(exec_charges_interval_since_last_boundary)
{
	memset(&thread->pending, 0, sizeof(thread->pending));
	thread->pending_first_ns = 0;
	run(on_exec, &kernel.current);
	assert_int_equal(charged()->user_ns, 100);
}

/* It was the old program's. */
FIXTURE_TEST(exec_clears_fiber_of_timeline)
{
	native_session.has_timeline = 1;
	thread->timeline.stint.fiber = 7;
	run(on_exec, &kernel.current);
	assert_int_equal(thread->timeline.stint.fiber, 0);
}

FIXTURE_TEST(exec_of_busy_thread_is_reported_and_deferred)
{
	thread->is_busy = 1;
	run(on_exec, &kernel.current);
	assert_int_equal(thread->has_missed_exec, 1);
	assert_int_equal(thread->is_busy, 1);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(process_of(LIFE)->config.flags, 0);
	assert_int_equal(kernel.told_count, 1);
}

/* Userspace takes a process out of the map at its own pace. */
FIXTURE_TEST(exec_does_not_restore_forgotten_process)
{
	process_of(LIFE)->has_config = false;
	run(on_exec, &kernel.current);
	assert_false(process_of(LIFE)->has_config);
}

/* In a context that its snapshot is of, as a fork that its parent has set it for. */
static void put_in_context(void)
{
	native_session.has_children = 1;
	thread->context_hash = thread->snapshot_hash = CONTEXT_HASH_FIRST;
	thread->snapshot.key_count = 2;
	thread->is_inherited = 1;
}

static void assert_of_origin(uint32_t serial)
{
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread->context_hash, CONTEXT_HASH_FIRST);
	assert_int_equal(thread->origin_hash, CONTEXT_HASH_FIRST);
	assert_int_equal(thread->is_of_origin, 1);
	assert_int_equal(thread->is_inherited, 0);
	assert_int_equal(thread->state_pointer, 0);
	assert_int_equal(thread->serial, serial);
}

FIXTURE_TEST(exec_in_context_sets_origin_of_process)
{
	const struct native_process *process = process_of(LIFE);

	put_in_context();
	thread->is_unread = 1;
	run(on_exec, &kernel.current);
	assert_true(process->has_origin);
	assert_int_equal(process->origin.hash, CONTEXT_HASH_FIRST);
	assert_int_equal(process->origin.snapshot.key_count, 2);
	assert_int_equal(process->origin.snapshot.family, FAMILY);
	assert_of_origin(SERIAL + 1);
	assert_int_equal(thread->is_unread, 0);
	/* Of whom it runs it as. */
	assert_int_equal(thread->config.flags, 0);
	/* Another program, of the same origin. */
	thread->snapshot_hash = CONTEXT_HASH_FIRST + 1;
	run(on_exec, &kernel.current);
	assert_int_equal(process->origin.hash, CONTEXT_HASH_FIRST);
	assert_of_origin(SERIAL + 2);
}

/* The kernel names it in the middle, when its memory is another program's: that is no life's end.
 */
FIXTURE_TEST(rename_during_exec_keeps_context)
{
	put_in_context();
	kernel.is_in_exec = true;
	run(on_rename, &kernel.current);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	run(on_exec, &kernel.current);
	assert_of_origin(SERIAL + 1);
}

FIXTURE_TEST(exec_with_unreadable_context_sets_no_origin)
{
	put_in_context();
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->tls_address = 8;
	run(on_rename, &kernel.current);
	run(on_exec, &kernel.current);
	assert_false(process_of(LIFE)->has_origin);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(thread->is_of_origin, 0);
	assert_int_equal(thread->serial, SERIAL + 1);
}

FIXTURE_TEST(exec_of_busy_thread_sets_origin_later)
{
	put_in_context();
	thread->is_busy = kernel.is_in_exec = 1;
	run(on_rename, &kernel.current);
	run(on_exec, &kernel.current);
	thread->is_busy = 0;
	assert_false(process_of(LIFE)->has_origin);
	assert_true(boundary_begin(thread, &kernel.current, NOW_NS, BOUNDARY_EXEC));
	assert_of_origin(SERIAL + 1);
	assert_int_equal(thread->has_missed_exec, 0);
}

/* It set another context, or none, and nobody has read that. */
FIXTURE_TEST(exec_after_missed_probe_sets_no_origin)
{
	put_in_context();
	thread->is_busy = thread->has_missed_probe = kernel.is_in_exec = 1;
	run(on_rename, &kernel.current);
	run(on_exec, &kernel.current);
	thread->is_busy = 0;
	assert_true(boundary_begin(thread, &kernel.current, NOW_NS, BOUNDARY_EXEC));
	assert_false(process_of(LIFE)->has_origin);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
}

FIXTURE_TEST(origin_without_capacity_is_counted)
{
	put_in_context();
	kernel.full = &origins;
	run(on_exec, &kernel.current);
	assert_int_equal(losses(COUNTER_PROCESSES_FULL), 1);
	assert_int_equal(thread->origin_hash, 0);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	kernel.full = NULL;
	process_of(LIFE)->has_origin = true;
	process_of(LIFE)->origin.hash = CONTEXT_HASH_FIRST;
	kernel.full = &origins;
	fork_process();
	assert_int_equal(losses(COUNTER_PROCESSES_FULL), 2);
	assert_int_equal(child->origin_hash, 0);
}

FIXTURE_TEST(exec_ends_context_without_children_option)
{
	put_in_context();
	native_session.has_children = 0;
	run(on_exec, &kernel.current);
	assert_false(process_of(LIFE)->has_origin);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(thread->serial, SERIAL + 1);
}

FIXTURE_TEST(origin_is_inherited_by_threads_and_forks)
{
	native_session.has_children = 1;
	process_of(LIFE)->has_origin = true;
	process_of(LIFE)->origin.hash = CONTEXT_HASH_FIRST + 4;
	make_thread();
	assert_int_equal(child->origin_hash, CONTEXT_HASH_FIRST + 4);
	kernel.has_state[1] = false;
	memset(child, 0, sizeof(*child));
	kernel.other.flags = TASK_FLAG_IO_WORKER;
	make_thread();
	assert_int_equal(child->origin_hash, 0);
	(void)set_up(state);
	native_session.has_children = 1;
	process_of(LIFE)->has_origin = true;
	process_of(LIFE)->origin.hash = CONTEXT_HASH_FIRST + 4;
	fork_process();
	assert_int_equal(child->origin_hash, CONTEXT_HASH_FIRST + 4);
	assert_int_equal(process_of(OTHER_LIFE)->origin.hash, CONTEXT_HASH_FIRST + 4);
	/* Who has its pid next has another parent. */
	process_of(LIFE)->has_origin = false;
	kernel.has_state[1] = false;
	memset(child, 0, sizeof(*child));
	fork_process();
	assert_int_equal(child->origin_hash, 0);
	assert_false(process_of(OTHER_LIFE + 1)->has_origin);
}

static void set_variable(uint64_t pointer)
{
	forged_write(&memory, thread->tls_address, &pointer, sizeof(pointer));
}

FIXTURE_TEST(rename_of_self_begins_new_life)
{
	struct otel_thread *otel = &kernel.otel_states[0];

	native_session.watches_otel = 1;
	kernel.has_otel_state[0] = true;
	otel->digest = 5;
	thread->has_passed_probe = 1;
	set_variable(FORGED_BASE + FORGED_BYTES);
	run(on_rename, &kernel.current);
	/* What was pending, and what ran until then. */
	assert_int_equal(charged()->user_ns, PENDING_NS + 100);
	assert_int_equal(thread->clock.mode, THREAD_MODE_KERNEL);
	assert_int_equal(thread->clock.mark_ns, NOW_NS);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(thread->has_passed_probe, 0);
	assert_int_equal(thread->inherited_pointer, FORGED_BASE + FORGED_BYTES);
	assert_int_equal(otel->inherited_digest, 5);
	assert_int_equal(thread->is_busy, 0);
	assert_int_equal(thread->has_missed_rename, 0);
}

/* It empties its pointer where a Ruby thread ends. */
FIXTURE_TEST(rename_with_gem_keeps_probe_and_inherits_no_pointer)
{
	thread->config.flags |= PROCESS_TELLS_FIBERS;
	thread->has_passed_probe = 1;
	set_variable(FORGED_BASE + FORGED_BYTES);
	run(on_rename, &kernel.current);
	assert_int_equal(charged()->user_ns, PENDING_NS + 100);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(thread->has_passed_probe, 1);
	assert_int_equal(thread->inherited_pointer, 0);
}

/* An exec may come before its first boundary. */
FIXTURE_TEST(fork_starts_in_parents_context)
{
	native_session.has_children = 1;
	kernel.processes[0].config.tls =
		(struct tls_location){ .model = TLS_MODEL_STATIC, .offset = 0 };
	kernel.current.thread.fsbase = thread->tls_address;
	set_variable(0);
	fork_process();
	assert_int_equal(child->knowledge, CONTEXT_KNOWN);
	assert_int_equal(child->context_hash, CONTEXT_HASH_NONE);
	assert_int_equal(child->generation, generation);
	assert_int_equal(child->tls_resolution, TLS_UNRESOLVED);
	assert_int_equal(child->is_busy, 0);
	/* If it cannot be told, the child reads it itself. */
	for (int i = 0; i < 2; i++) {
		kernel.has_state[1] = false;
		memset(child, 0, sizeof(*child));
		thread->is_pointer_old = i == 0;
		kernel.current.thread.fsbase = i == 0 ? thread->tls_address : 8;
		fork_process();
		assert_int_equal(child->knowledge, CONTEXT_UNKNOWN);
		assert_int_equal(child->generation, generation - 1);
		assert_int_equal(child->config.generation, 0);
	}
}

FIXTURE_TEST(rename_leaves_otel_state_alone_if_disabled)
{
	kernel.has_otel_state[0] = true;
	kernel.otel_states[0].digest = 5;
	run(on_rename, &kernel.current);
	assert_int_equal(kernel.otel_states[0].inherited_digest, 0);
}

FIXTURE_TEST(rename_of_busy_thread_is_deferred)
{
	thread->is_busy = 1;
	run(on_rename, &kernel.current);
	assert_int_equal(thread->has_missed_rename, 1);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread->is_busy, 1);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
}

FIXTURE_TEST(rename_by_other_task_or_of_worker_keeps_life)
{
	kernel.has_state[1] = true;
	child->is_ready = child->is_begun = 1;
	child->knowledge = CONTEXT_KNOWN;
	run(on_rename, &kernel.other);
	assert_int_equal(child->knowledge, CONTEXT_KNOWN);
	thread->is_worker = 1;
	run(on_rename, &kernel.current);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
}

FIXTURE_TEST(exit_charges_thread_and_awaits_its_end)
{
	thread->exec_published_ns = thread->clock.exec_mark_ns = 10;
	kernel.current.se.sum_exec_runtime = 110;
	current_epoch = 1;
	run(program_on_exit, &kernel.current);
	assert_int_equal(charged()->user_ns, PENDING_NS + 100);
	assert_int_equal(thread->clock.mode, THREAD_MODE_KERNEL);
	assert_int_equal(thread->clock.mark_ns, NOW_NS);
	assert_int_equal(thread->epoch, 1);
	assert_int_equal(thread->is_exiting, 1);
	assert_int_equal(thread->is_leaving, 1);
	assert_int_equal(thread->is_busy, 0);
	assert_int_equal(leaving_threads, 1);
	/* Its memory was there still: it was looked at a last time. */
	assert_int_equal(thread->confirmed_ns, NOW_NS);
	/* It is met once. */
	run(program_on_exit, &kernel.current);
	assert_int_equal(leaving_threads, 1);
}

FIXTURE_TEST(exit_without_memory_reads_no_context)
{
	kernel.current.mm = NULL;
	run(program_on_exit, &kernel.current);
	assert_int_equal(thread->confirmed_ns, 0);
	assert_int_equal(losses(COUNTER_POINTER_UNREADABLE), 0);
	assert_int_equal(charged()->user_ns, PENDING_NS + 100);
}

FIXTURE_TEST(exit_of_busy_thread_is_awaited)
{
	thread->is_busy = 1;
	run(program_on_exit, &kernel.current);
	assert_int_equal(thread->is_exiting, 1);
	assert_int_equal(leaving_threads, 1);
	assert_int_equal(thread->is_busy, 1);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
}

FIXTURE_TEST(exit_of_unobserved_thread_is_ignored)
{
	thread->is_ready = 0;
	run(program_on_exit, &kernel.current);
	assert_int_equal(thread->is_leaving, 0);
	thread->is_ready = 1;
	kernel.has_state[0] = false;
	run(program_on_exit, &kernel.current);
	assert_int_equal(leaving_threads, 0);
	assert_int_equal(thread->clock.mark_ns, NOW_NS - 100);
}

FIXTURE_TEST(exit_after_stop_balances_exec_time_with_charges)
{
	is_stopped = 1;
	thread->exec_published_ns = thread->clock.exec_mark_ns = 10;
	kernel.current.se.sum_exec_runtime = 110;
	run(program_on_exit, &kernel.current);
	assert_int_equal(charged()->user_ns, PENDING_NS + 100);
	assert_int_equal(process_of(LIFE)->books.epochs[0].exec_ns, 100);
	assert_int_equal(thread->pending.user_ns, 0);
	assert_int_equal(thread->is_busy, 0);
	assert_int_equal(thread->is_exiting, 0);
	assert_int_equal(leaving_threads, 0);
}

FIXTURE_TEST(exit_after_stop_ignores_busy_or_unbegun_thread)
{
	is_stopped = 1;
	thread->is_busy = 1;
	run(program_on_exit, &kernel.current);
	thread->is_busy = 0;
	thread->is_begun = 0;
	run(program_on_exit, &kernel.current);
	assert_int_equal(thread->is_begun, 0);
	assert_int_equal(charged()->user_ns, 0);
	assert_int_equal(leaving_threads, 0);
}

static void load(void)
{
	struct uprobe_registers registers = { 0 };

	assert_int_equal(on_load(&registers), 0);
}

FIXTURE_TEST(library_load_is_reported_once_per_interval)
{
	load();
	kernel.now_ns += PAUSE_NS / 2;
	load();
	kernel.now_ns += PAUSE_NS / 2 - 1;
	load();
	assert_int_equal(kernel.told_count, 1);
	kernel.now_ns++;
	load();
	assert_int_equal(kernel.told_count, 2);
	load();
	assert_int_equal(kernel.told_count, 2);
	assert_int_equal(kernel.told[1].event.kind, EVENT_KIND_LOAD);
	assert_int_equal(kernel.told[1].event.life, LIFE);
	assert_int_equal(kernel.told[1].event.tgid, TGID);
	assert_int_equal(kernel.told[1].event.parent_tgid, 0);
	assert_int_equal(kernel.told[1].event.ns_tgid, OWN_TGID);
	assert_int_equal(kernel.told[1].event.address, 0);
	/* Not of a process that is forgotten. */
	kernel.now_ns += PAUSE_NS;
	process_of(LIFE)->has_books = false;
	load();
	assert_int_equal(kernel.told_count, 2);
}

FIXTURE_TEST(exec_forgets_serials_of_former_program)
{
	thread->next_serial = thread->state_serial = 7;
	thread->is_recalled = 1;
	thread_renew_image(thread, &kernel.current);
	assert_int_equal(thread->next_serial, 0);
	assert_int_equal(thread->state_serial, 0);
	assert_int_equal(thread->is_recalled, 0);
	assert_int_equal(thread->reading, 1);
}
