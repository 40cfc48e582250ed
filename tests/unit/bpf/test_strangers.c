/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a search is told of processes that are not observed, bpf/strangers.bpf.h, and by which
 * numbers an observer in a pid namespace knows them, bpf/identity.bpf.h.
 */
#include "bpf/two_tasks.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

enum {
	PAUSE_NS = 50 * 1000 * 1000,
	SEEN_TGID = 21,
	SEEN_TID = 22,
};

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	kernel.has_state[0] = false;
	kernel.processes[0].has_config = kernel.processes[0].has_books = false;
	pid_of(TGID)->is_watched = true;
	kernel.now_ns = 2 * (uint64_t)PAUSE_NS;
	native_session.tells_strangers = STRANGERS_BY_NAME;
	strangers_lost = 0;
	strangers_woken_ns = 0;
	return 0;
}

static bool is_watched(uint32_t tgid)
{
	const struct native_process *process = pid_of(tgid);

	return process && process->is_watched;
}

static void run(int (*program)(unsigned long long *), struct task_struct *task)
{
	unsigned long long arguments[] = { (uintptr_t)task, 0 };

	assert_int_equal(program(arguments), 0);
}

static void load(void)
{
	struct uprobe_registers registers = { 0 };

	assert_int_equal(on_load(&registers), 0);
}

static void assert_told(size_t count, uint32_t tgid)
{
	static const char nothing[COMM_BYTES];
	const struct told *told = &kernel.told[count - 1];

	assert_int_equal(kernel.told_count, count);
	assert_ptr_equal(told->ring, &strangers);
	assert_int_equal(told->event.kind, EVENT_KIND_STRANGER);
	assert_int_equal(told->event.tgid, tgid);
	assert_int_equal(told->event.ktime_ns, kernel.now_ns);
	assert_int_equal(told->event.parent_tgid, 0);
	assert_int_equal(told->event.ns_tgid, 0);
	assert_int_equal(told->event.address, 0);
	assert_memory_equal(told->event.comm, nothing, sizeof(nothing));
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(stranger_exec_is_reported_and_unwatches_process)
{
	run(on_exec, &kernel.current);
	assert_told(1, TGID);
	assert_false(is_watched(TGID));
	native_session.tells_strangers = STRANGERS_ANY;
	run(on_exec, &kernel.current);
	assert_told(2, TGID);
}

FIXTURE_TEST(stranger_rename_is_reported_only_in_search_by_name)
{
	/* A thread's name is not its process's. */
	run(on_rename, &kernel.current);
	assert_int_equal(kernel.told_count, 0);
	kernel.current.pid = TGID;
	run(on_rename, &kernel.current);
	assert_told(1, TGID);
	native_session.tells_strangers = STRANGERS_ANY;
	run(on_rename, &kernel.current);
	assert_int_equal(kernel.told_count, 1);
}

FIXTURE_TEST(stranger_fork_of_watched_process_is_watched_and_reported)
{
	run(on_new_task, &kernel.other);
	assert_told(1, OTHER_TGID);
	assert_true(is_watched(OTHER_TGID));
	assert_true(is_watched(TGID));
	assert_false(kernel.has_state[1]);
}

FIXTURE_TEST(stranger_threads_and_unwatched_forks_are_not_reported)
{
	kernel.other.pid++;
	run(on_new_task, &kernel.other);
	kernel.other.pid--;
	pid_of(TGID)->is_watched = false;
	run(on_new_task, &kernel.other);
	assert_int_equal(kernel.told_count, 0);
	assert_false(is_watched(OTHER_TGID));
}

FIXTURE_TEST(stranger_load_is_reported_if_process_is_watched)
{
	load();
	assert_told(1, TGID);
	pid_of(TGID)->is_watched = false;
	load();
	assert_int_equal(kernel.told_count, 1);
}

FIXTURE_TEST(strangers_are_not_reported_without_search)
{
	native_session.tells_strangers = STRANGERS_NONE;
	kernel.current.pid = TGID;
	run(on_exec, &kernel.current);
	run(on_rename, &kernel.current);
	run(on_new_task, &kernel.other);
	load();
	assert_int_equal(kernel.told_count, 0);
	assert_true(is_watched(TGID));
	assert_false(is_watched(OTHER_TGID));
}

FIXTURE_TEST(strangers_wake_reader_at_most_once_per_interval)
{
	load();
	kernel.now_ns += PAUSE_NS / 2;
	load();
	kernel.now_ns += PAUSE_NS / 2 - 1;
	load();
	kernel.now_ns++;
	load();
	load();
	assert_int_equal(kernel.told_count, 5);
	assert_int_equal(kernel.told[0].flags, BPF_RB_FORCE_WAKEUP);
	assert_int_equal(kernel.told[1].flags, BPF_RB_NO_WAKEUP);
	assert_int_equal(kernel.told[2].flags, BPF_RB_NO_WAKEUP);
	assert_int_equal(kernel.told[3].flags, BPF_RB_FORCE_WAKEUP);
	assert_int_equal(kernel.told[4].flags, BPF_RB_NO_WAKEUP);
}

FIXTURE_TEST(strangers_without_ring_space_are_counted_lost)
{
	kernel.has_no_ring = true;
	load();
	load();
	assert_int_equal(strangers_lost, 2);
	/* Nobody was woken by it. */
	kernel.has_no_ring = false;
	load();
	assert_int_equal(kernel.told[0].flags, BPF_RB_FORCE_WAKEUP);
}

/* The observer in a namespace below the machine's, which the current task is in as well. */
static void observe_from_below(void)
{
	for (size_t i = 0; i < 2; i++) {
		struct pid *pid = &kernel.pids[i].pid;

		pid->level = 2;
		pid->numbers[1] = (struct upid){ .nr = i ? SEEN_TGID : SEEN_TID,
						 .ns = (void *)&observer_level };
		pid->numbers[2] = (struct upid){ .nr = i ? OWN_TGID : OWN_TID,
						 .ns = (void *)&kernel.pids[2] };
	}
	observer_level = 1;
	observer_namespace = (uintptr_t)&observer_level;
}

FIXTURE_TEST(identity_of_root_observer_uses_root_namespace_numbers)
{
	assert_int_equal(identity_tgid(&kernel.current), TGID);
	assert_int_equal(identity_tid(&kernel.current), TID);
	assert_int_equal(identity_ns_tgid(&kernel.current), OWN_TGID);
	assert_int_equal(identity_ns_tid(&kernel.current), OWN_TID);
	assert_int_equal(identity_ns_tgid(&kernel.other), OTHER_TGID);
}

FIXTURE_TEST(identity_of_namespaced_observer_uses_its_numbers)
{
	observe_from_below();
	assert_int_equal(identity_tgid(&kernel.current), SEEN_TGID);
	assert_int_equal(identity_tid(&kernel.current), SEEN_TID);
	assert_int_equal(identity_ns_tgid(&kernel.current), OWN_TGID);
	assert_int_equal(identity_ns_tid(&kernel.current), OWN_TID);
	run(on_exec, &kernel.current);
	assert_told(1, SEEN_TGID);
	/* Those in the same one, too. */
	kernel.pids[1].pid.level = 1;
	assert_int_equal(identity_tgid(&kernel.current), SEEN_TGID);
	assert_int_equal(identity_ns_tgid(&kernel.current), SEEN_TGID);
}

FIXTURE_TEST(identity_of_invisible_task_is_zero_and_not_reported)
{
	observe_from_below();
	/* Above it, whatever lies behind its numbers, */
	kernel.pids[2].pid.numbers[1] = kernel.pids[1].pid.numbers[1];
	assert_int_equal(identity_tgid(&kernel.other), 0);
	assert_int_equal(identity_tid(&kernel.other), 0);
	/* beside it, */
	set_pid(2, 1, OTHER_TID, OTHER_TID);
	assert_int_equal(identity_tgid(&kernel.other), 0);
	assert_int_equal(identity_tid(&kernel.other), 0);
	/* or nothing that can be read. */
	kernel.unreadable = &kernel.pids[1].pid.numbers[1];
	assert_int_equal(identity_tgid(&kernel.current), 0);
	kernel.unreadable = &kernel.pids[1].pid.numbers[2];
	assert_int_equal(identity_ns_tgid(&kernel.current), 0);
	kernel.unreadable = &kernel.pids[1].pid.numbers[1];
	kernel.current.pid = TGID;
	run(on_exec, &kernel.current);
	run(on_rename, &kernel.current);
	load();
	assert_int_equal(kernel.told_count, 0);
}
