/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is remembered of tasks at a CPU's edges and switches, and for how long: bpf/edges.bpf.h. And
 * what is read at a switch, where others wait: bpf/sched.bpf.h.
 */
#include "bpf/two_tasks.h"

#include "unit_test.h"

#include "sched.bpf.h"
#include "syscall.bpf.h"

UNIT_TEST_ALONE;

enum {
	KEY = 300 << 4 | 1,
	REQUEST = 301 << 4 | 1,
	T_STRING = 5,
	NOEMBED = 1 << 13,
	LONG_BYTES = 1000,
	SECOND_NS = 1000000000,
};

static struct thread_state *const thread = &kernel.states[0];
static struct task_struct idle;
static uint64_t registers[2]; /* their addresses are the tasks' marks */

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	memset(digests_paid_ns, 0, sizeof(digests_paid_ns));
	registrations = 1;
	idle = (struct task_struct){ .se.cfs_rq = &kernel.cfs };
	kernel.other.se.cfs_rq = &kernel.cfs;
	return 0;
}

static void enter(size_t task)
{
	unsigned long long arguments[] = { (uintptr_t)&registers[task], 0 };

	kernel.now_ns += 10;
	assert_int_equal(on_sys_enter(arguments), 0);
}

static void leave(size_t task)
{
	unsigned long long arguments[] = { (uintptr_t)&registers[task], 0 };

	kernel.now_ns += 10;
	assert_int_equal(on_sys_exit(arguments), 0);
}

static void switch_tasks(struct task_struct *from, struct task_struct *to)
{
	unsigned long long arguments[] = { false, (uintptr_t)from, (uintptr_t)to };

	kernel.now_ns += 10;
	assert_int_equal(on_sched_switch(arguments), 0);
}

/* Calls of the thread, those in the slot as well. */
static uint64_t calls(struct thread_state *of)
{
	assert_true(edge_fold(of));
	return of->pending.syscalls;
}

/* The thread that runs is taken from, or given to, those that are observed. */
static void observe(bool is_observed)
{
	kernel.has_state[0] = is_observed;
	pid_of(TGID)->known.life = is_observed ? LIFE : 0;
	registrations += is_observed;
}

/* A task's edge says that somebody came to be observed. */
static void renew_by_another(void)
{
	switch_tasks(&kernel.other, &idle);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(edges_skip_unobserved_task_until_next_registration)
{
	thread->clock.mode = THREAD_MODE_USER;
	pid_of(TGID)->known.life = 0;
	kernel.has_state[0] = false;
	enter(0);
	switch_tasks(&idle, &kernel.current);
	/* Not looked for again. */
	kernel.has_state[0] = true;
	thread->clock.is_off_cpu = 1;
	enter(0);
	switch_tasks(&idle, &kernel.current);
	assert_int_equal(thread->pending.syscalls, 0);
	assert_true(thread->clock.is_off_cpu);
	thread->clock.is_off_cpu = 0;
	observe(true);
	enter(0);
	assert_int_equal(calls(thread), 1);
}

/* Whoever noticed it first. */
FIXTURE_TEST(edges_forget_all_cached_tasks_on_registration)
{
	pid_of(TGID)->known.life = 0;
	kernel.has_state[0] = false;
	enter(0);
	switch_tasks(&idle, &kernel.current);
	observe(true);
	thread->clock.is_off_cpu = 1;
	renew_by_another();
	switch_tasks(&idle, &kernel.current);
	assert_false(thread->clock.is_off_cpu);
	enter(0);
	assert_int_equal(calls(thread), 1);
}

/* At the address of whose registers another one's may be. */
FIXTURE_TEST(edges_disarm_fast_path_on_registration)
{
	enter(0);
	leave(0);
	enter(0);
	assert_int_equal(thread->pending.syscalls, 1);
	registrations++;
	renew_by_another();
	leave(0);
	enter(0);
	assert_int_equal(calls(thread), 3);
	/* Another thread in its place. */
	leave(0);
	enter(0);
	registrations++;
	renew_by_another();
	thread->serial++;
	thread->armed_cpu = 0;
	enter(0);
	assert_int_equal(calls(thread), 4);
}

FIXTURE_TEST(edges_cleared_cache_matches_no_tid)
{
	for (int tid = 1; tid <= EDGE_UNOBSERVED_TASKS; tid++) {
		registrations++;
		renew_by_another();
		kernel.current.pid = tid;
		thread->clock.is_off_cpu = 1;
		switch_tasks(&idle, &kernel.current);
		assert_false(thread->clock.is_off_cpu);
	}
}

/* A tid can be used again as soon as its task has been waited for, before the last switch of that
 * task. */
FIXTURE_TEST(edges_distinguish_tasks_with_reused_tid)
{
	kernel.has_state[1] = false;
	kernel.other.pid = kernel.current.pid;
	switch_tasks(&idle, &kernel.other);
	thread->clock.is_off_cpu = 1;
	switch_tasks(&kernel.other, &kernel.current);
	assert_false(thread->clock.is_off_cpu);
}

/* Its books were held when it left. */
FIXTURE_TEST(edges_of_one_thread_are_not_counted_for_another)
{
	struct thread_state *other = &kernel.states[1];

	enter(0);
	leave(0);
	*other = *thread;
	other->serial++;
	/* For a second it is kept for who has not emptied it. */
	other->clock.mark_ns = kernel.edge_slot.times.mark_ns + EDGE_KEPT_NS - 1;
	edge_arm(&kernel.edge_slot, other, (uintptr_t)&registers[1], registrations);
	assert_int_equal(kernel.edge_slot.serial, thread->serial);
	assert_int_equal(kernel.edge_slot.is_busy, 0);
	other->clock.mark_ns++;
	edge_arm(&kernel.edge_slot, other, (uintptr_t)&registers[1], registrations);
	assert_int_equal(kernel.edge_slot.serial, other->serial);
	enter(1);
	leave(1);
	thread->is_busy = 1;
	switch_tasks(&kernel.current, &idle);
	enter(1);
	assert_int_equal(calls(other), 3);
	assert_int_equal(calls(thread), 1);
	/* Whose they were they are no more. */
	other->armed_cpu = 1;
	assert_int_equal(calls(other), 3);
}

FIXTURE_TEST(edges_cache_only_tasks_surely_unobserved)
{
	/* The look-up failed for a moment. */
	kernel.has_state[0] = false;
	enter(0);
	switch_tasks(&idle, &kernel.current);
	kernel.has_state[0] = true;
	thread->clock.is_off_cpu = 1;
	switch_tasks(&idle, &kernel.current);
	assert_false(thread->clock.is_off_cpu);
	enter(0);
	assert_int_equal(calls(thread), 1);
}

FIXTURE_TEST(edges_leave_busy_slot_unchanged)
{
	struct edge_slot before;

	pid_of(TGID)->known.life = 0;
	kernel.has_state[0] = false;
	kernel.edge_slot.is_busy = 1;
	registrations++;
	before = kernel.edge_slot;
	enter(0);
	switch_tasks(&idle, &kernel.current);
	switch_tasks(&kernel.other, &idle);
	assert_memory_equal(&kernel.edge_slot, &before, sizeof(before));
	/* Of one that is observed the books are kept without. */
	observe(true);
	enter(0);
	leave(0);
	enter(0);
	assert_int_equal(thread->pending.syscalls, 2);
	assert_memory_equal(&kernel.edge_slot, &before, sizeof(before));
}

FIXTURE_TEST(edges_are_ignored_after_stop)
{
	enter(0);
	leave(0);
	is_stopped = 1;
	registrations++;
	enter(0);
	assert_int_equal(calls(thread), 1);
}

static bool goes_the_short_way(void)
{
	thread->armed_cpu = 0;
	enter(0);
	leave(0);
	return thread->armed_cpu;
}

FIXTURE_TEST(edges_fast_path_requires_stable_context)
{
	assert_true(goes_the_short_way());
	registrations++;
	/* The variable is being allocated. */
	thread->tls_resolution = TLS_UNALLOCATED;
	thread->is_change_open = 1;
	assert_false(goes_the_short_way());
	thread->is_change_open = 0;
	assert_true(goes_the_short_way());
	registrations++;
	thread->config.flags |= PROCESS_IS_LEAN;
	assert_false(goes_the_short_way());
	thread->config.flags &= ~(__u32)PROCESS_IS_LEAN;
	assert_true(goes_the_short_way());
}

/* Its gem counts changes, and has counted this number. */
static void be_lean(uint64_t changes)
{
	const uint64_t variable[] = { 0, changes };

	thread->tls_address = forged_words(&memory, variable, 2);
	thread->config.flags |= PROCESS_IS_LEAN;
	thread->config.changes_words = 1;
	thread->knowledge = CONTEXT_KNOWN;
	thread->changes = changes;
}

FIXTURE_TEST(edges_of_lean_thread_pass_while_no_change_is_counted)
{
	be_lean(5);
	enter(0);
	leave(0);
	enter(0);
	leave(0);
	enter(0);
	assert_int_equal(thread->pending.syscalls, 1);
	assert_int_equal(calls(thread), 3);
	assert_int_equal(thread->pending.ambiguous_ns, 0);
	assert_int_equal(thread->sure_ns, account_on_cpu(&thread->pending));
	thread->config.flags &= ~(__u32)PROCESS_IS_LEAN;
	assert_true(goes_the_short_way());
	assert_int_equal(kernel.edge_slot.watch.address, 0);
}

FIXTURE_TEST(edges_of_lean_thread_are_ambiguous_from_last_reading_before_change)
{
	be_lean(5);
	enter(0);
	leave(0);
	enter(0);
	leave(0);
	forged_write_u64(&memory, thread->tls_address + 8, 6);
	enter(0);
	assert_int_equal(thread->pending.syscalls, 3);
	/* The last call and what followed. */
	assert_int_equal(thread->pending.ambiguous_ns, 20);
	assert_int_equal(thread->changes, 6);
}

FIXTURE_TEST(edges_of_lean_thread_are_in_doubt_without_reading)
{
	be_lean(5);
	enter(0);
	leave(0);
	assert_int_equal(calls(thread), 1);
	assert_int_equal(thread->sure_ns + 10, account_on_cpu(&thread->pending));
}

FIXTURE_TEST(edges_of_lean_thread_are_read_by_books_where_needed)
{
	be_lean(5);
	thread->tls_resolution = TLS_UNRESOLVED;
	leave(0);
	assert_int_equal(thread->armed_cpu, 0);
	thread->tls_resolution = TLS_RESOLVED;
	thread->gvl.serial = 7;
	leave(0);
	assert_int_equal(thread->armed_cpu, 0);
	thread->gvl.serial = 0;
	leave(0);
	assert_int_not_equal(thread->armed_cpu, 0);
	/* A new configuration is taken at the next entry, and a fault met there. */
	process_of(LIFE)->config = thread->config;
	process_of(LIFE)->config.generation = ++generation;
	enter(0);
	assert_int_equal(thread->generation, generation);
}

FIXTURE_TEST(edges_fast_path_waits_for_reconfiguration)
{
	process_of(LIFE)->config.generation = ++generation;
	leave(0);
	assert_int_equal(thread->armed_cpu, 0);
	enter(0);
	assert_int_equal(thread->generation, generation);
	leave(0);
	assert_int_not_equal(thread->armed_cpu, 0);
}

FIXTURE_TEST(switches_are_accounted_without_edge_slot)
{
	kernel.has_no_slot = true;
	enter(0);
	leave(0);
	switch_tasks(&kernel.current, &idle);
	assert_true(thread->clock.is_off_cpu);
	switch_tasks(&idle, &kernel.current);
	assert_false(thread->clock.is_off_cpu);
}

FIXTURE_TEST(switches_note_whether_observed_thread_has_cpu)
{
	switch_tasks(&kernel.current, &idle);
	assert_int_equal(kernel.edge_slot.runs_observed, 0);
	switch_tasks(&idle, &kernel.current);
	assert_int_equal(kernel.edge_slot.runs_observed, 1);
	switch_tasks(&kernel.current, &kernel.other);
	assert_int_equal(kernel.edge_slot.runs_observed, 0);
	/* Nobody who is not observed pays for it. */
	kernel.edge_slot.runs_observed = 1;
	switch_tasks(&kernel.other, &idle);
	assert_int_equal(kernel.edge_slot.runs_observed, 1);
}

FIXTURE_TEST(switches_beyond_missed_capacity_are_counted_lost)
{
	const struct process_books *process = &process_of(LIFE)->books;

	thread->is_busy = 1;
	for (uint32_t i = 0; i < MISSED_SWITCHES; i += 2) {
		switch_tasks(&kernel.current, &idle);
		switch_tasks(&idle, &kernel.current);
	}
	assert_int_equal(process->losses[COUNTER_BOUNDARY_BUSY], 0);
	switch_tasks(&kernel.current, &idle);
	assert_int_equal(process->losses[COUNTER_BOUNDARY_BUSY], 1);
	thread->is_busy = 0;
	switch_tasks(&idle, &kernel.current);
	assert_int_equal(process->losses[COUNTER_BOUNDARY_BUSY], 1);
	switch_tasks(&kernel.current, &idle);
	assert_true(thread->clock.is_off_cpu);
}

FIXTURE_TEST(switch_ends_dying_thread_even_while_busy)
{
	process_of(LIFE)->books.live_threads = 1;
	kernel.current.__state = TASK_STATE_DEAD;
	thread->is_busy = 1;
	switch_tasks(&kernel.current, &idle);
	assert_int_equal(thread->is_ready, 0);
	assert_int_equal(process_of(LIFE)->books.live_threads, 0);
	assert_int_equal(kernel.told[0].event.kind, EVENT_KIND_EXIT);
}

/* A thread whose pointer changed, as no probe has seen, leaves the CPU so long after it was read.
 */
static uint64_t changes_seen_after(uint64_t ns)
{
	uint64_t before = process_of(LIFE)->books.losses[COUNTER_CHANGE_UNSEEN];

	thread->knowledge = CONTEXT_KNOWN;
	thread->state_pointer = 4096;
	thread->confirmed_ns = kernel.now_ns + 10 - ns;
	switch_tasks(&kernel.current, &idle);
	switch_tasks(&idle, &kernel.current);
	return process_of(LIFE)->books.losses[COUNTER_CHANGE_UNSEEN] - before;
}

FIXTURE_TEST(switch_checks_for_missed_probe_once_per_period)
{
	kernel.now_ns += CONFIRM_PERIOD_NS;
	assert_int_equal(changes_seen_after(CONFIRM_PERIOD_NS), 0);
	assert_int_equal(changes_seen_after(CONFIRM_PERIOD_NS + 1), 1);
	assert_int_equal(changes_seen_after(0), 0);
	/* Or by reason. */
	process_of(LIFE)->config.generation = ++generation;
	assert_int_equal(changes_seen_after(0), 1);
}

/* Whether a switch notices that in the same table the same object holds something else. */
static bool notices_other_value(uint64_t after_ns)
{
	uint64_t string[] = { T_STRING | 1 << 14, FORGED_BASE, 'a', 0, 0 };
	uint64_t table[2 + 2 * STATE_PAIRS_READ_FIRST] = { 1, 2, [4] = KEY };
	uint64_t object = forged_words(&memory, string, 5);
	uint64_t before;

	table[5] = object;
	forged_write_u64(&memory, thread->tls_address,
			 forged_words(&memory, table, sizeof(table) / sizeof(table[0])));
	thread->knowledge = CONTEXT_UNKNOWN;
	enter(0);
	thread->compared_ns = kernel.now_ns + 10 - after_ns;
	string[2] = 'b';
	forged_write(&memory, object, string, sizeof(string));
	before = thread->context_hash;
	switch_tasks(&kernel.current, &idle);
	switch_tasks(&idle, &kernel.current);
	return thread->context_hash != before;
}

FIXTURE_TEST(switch_compares_values_once_per_period_without_probes)
{
	kernel.now_ns += CONFIRM_PERIOD_NS;
	thread->config.key_ids[0] = KEY;
	thread->config.key_count = 1;
	thread->config.flags |= PROCESS_IS_LEAN;
	assert_false(notices_other_value(CONFIRM_PERIOD_NS - 1));
	assert_true(notices_other_value(CONFIRM_PERIOD_NS));
	assert_false(notices_other_value(0));
}

/* A context whose value is too long to be read where others wait, if that is not paid for. */
static void publish_long_value(void)
{
	const char text[LONG_BYTES] = "long";
	uint64_t table[2 + 2 * STATE_PAIRS_READ_FIRST] = { 2, 4, [4] = KEY, [6] = REQUEST, 43 };
	uint64_t string[] = { T_STRING | NOEMBED, FORGED_BASE, sizeof(text), 0, 0 };

	string[3] = forged_take(&memory, sizeof(text));
	forged_write(&memory, string[3], text, sizeof(text));
	table[5] = forged_words(&memory, string, 5);
	forged_write_u64(&memory, thread->tls_address,
			 forged_words(&memory, table, sizeof(table) / sizeof(table[0])));
	thread->config.key_ids[0] = KEY;
	thread->config.key_count = 1;
	thread->config.flags |= PROCESS_IS_LEAN;
	for (size_t i = 0; i < SHARE_SLOTS; i++)
		digests_paid_ns[i] = kernel.now_ns + SECOND_NS;
}

FIXTURE_TEST(switch_defers_long_value_until_next_edge)
{
	const __u64 *losses = process_of(LIFE)->books.losses;

	publish_long_value();
	switch_tasks(&kernel.current, &idle);
	assert_int_equal(thread->knowledge, CONTEXT_UNKNOWN);
	assert_int_equal(losses[COUNTER_VALUE_LATE], 1);
	switch_tasks(&idle, &kernel.current);
	enter(0);
	assert_int_equal(thread->knowledge, CONTEXT_KNOWN);
	assert_true(thread->context_hash >= CONTEXT_HASH_FIRST);
	assert_int_equal(losses[COUNTER_VALUE_LATE], 1);
}

/* Of what was not read in full nothing is known, and nothing is to be published. */
FIXTURE_TEST(switch_publishes_no_late_value_while_deferred)
{
	native_session.late_keys = 1;
	native_session.request_key = 2;
	publish_long_value();
	thread->config.key_ids[1] = REQUEST;
	thread->config.key_count = 2;
	switch_tasks(&kernel.current, &idle);
	assert_int_equal(thread->context_hash, CONTEXT_HASH_UNKNOWN);
	assert_false(charge_has_late_news(thread));
	switch_tasks(&idle, &kernel.current);
	enter(0);
	assert_true(charge_has_late_news(thread));
}

/* Its first boundary. */
FIXTURE_TEST(switch_away_begins_books_without_earlier_time)
{
	thread->is_begun = 0;
	thread->clock = (struct thread_clock){ 0 };
	switch_tasks(&kernel.current, &idle);
	assert_int_equal(thread->is_begun, 1);
	assert_true(thread->clock.is_off_cpu);
	assert_int_equal(thread->clock.mark_ns, kernel.now_ns);
	assert_int_equal(thread->pending.user_ns + thread->pending.kernel_ns, 0);
	switch_tasks(&idle, &kernel.current);
	assert_int_equal(thread->clock.gap_ns, 10);
	assert_int_equal(thread->pending.blocked_ns + thread->pending.run_queue_ns, 0);
}
