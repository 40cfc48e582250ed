/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A thread on a CPU that a hypervisor takes away at any instant, also between two readings of one
 * boundary, against the kernel's own rules for its figures: update_rq_clock_task() and
 * update_curr() (kernel/sched/core.c, fair.c, v6.18). A failing run is told by its seed.
 */
#include <correlator/account.h>

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

enum {
	RUNS = 3000,
	MICROSECOND = 1000,
	MOMENT_MAX_NS = 2 * MICROSECOND,
	MILLISECOND = 1000 * MICROSECOND,
	TICK_NS = 4 * MILLISECOND,
	WINDOW_NS = 10 * MILLISECOND,
	LIFE_NS = 300 * MILLISECOND,
	THEFT_MAX_NS = 8 * MILLISECOND,
	THEFTS_APART_NS = 40 * MILLISECOND,
	STINT_MAX_NS = 20 * MILLISECOND,
};

struct machine {
	uint64_t seed;
	uint64_t now_ns;
	uint64_t next_theft_ns;
	uint64_t next_tick_ns;
	uint64_t told_ns; /* stolen so far, as the host tells it */
	bool tells_at_once; /* what it tells can be read at any time; else a tick must come first */

	/* the run queue's */
	uint64_t clock_ns;
	uint64_t clock_task_ns;
	uint64_t taken_out_ns;
	bool is_locked; /* by a switch */

	/* the task's */
	bool is_on_cpu;
	uint64_t exec_ns;
	uint64_t exec_start_ns;

	/* ours */
	struct thread_clock clock;
	struct account_totals pending;
	struct account_totals account;
	uint64_t published_ns;
	uint64_t charged_ns;
	uint64_t off_cpu_ns;
	int64_t stolen_ns;
};

/* xorshift64: the same everywhere. */
static uint64_t below(struct machine *machine, uint64_t limit)
{
	machine->seed ^= machine->seed << 13;
	machine->seed ^= machine->seed >> 7;
	machine->seed ^= machine->seed << 17;
	return machine->seed % limit;
}

static void update_run_queue(struct machine *machine)
{
	uint64_t passed_ns = machine->now_ns - machine->clock_ns;
	uint64_t stolen_ns = machine->told_ns - machine->taken_out_ns;

	if (stolen_ns > passed_ns)
		stolen_ns = passed_ns;
	machine->clock_ns = machine->now_ns;
	machine->taken_out_ns += stolen_ns;
	machine->clock_task_ns += passed_ns - stolen_ns;
	if (machine->is_on_cpu)
		machine->exec_ns += machine->clock_task_ns - machine->exec_start_ns;
	machine->exec_start_ns = machine->clock_task_ns;
}

static void steal_if_due(struct machine *machine)
{
	uint64_t theft_ns;

	if (machine->next_theft_ns > machine->now_ns)
		return;
	theft_ns = 1 + below(machine, THEFT_MAX_NS);
	/* The host tells when it gives the CPU back; another CPU may wake a thread there before. */
	machine->now_ns += theft_ns / 2;
	if (!machine->is_locked && below(machine, 2))
		update_run_queue(machine);
	machine->now_ns += theft_ns - theft_ns / 2;
	machine->told_ns += theft_ns;
	machine->next_theft_ns = machine->now_ns + 1 + below(machine, THEFTS_APART_NS);
}

static void pass(struct machine *machine, uint64_t ns)
{
	while (ns) {
		uint64_t left_ns, step_ns;

		steal_if_due(machine);
		left_ns = machine->next_theft_ns - machine->now_ns;
		step_ns = ns < left_ns ? ns : left_ns;
		machine->now_ns += step_ns;
		ns -= step_ns;
	}
	steal_if_due(machine);
}

/* What a program takes from one reading to the next. */
static void pass_a_moment(struct machine *machine)
{
	pass(machine, 1 + below(machine, MOMENT_MAX_NS));
}

/* As stolen_from_cpu(), bpf/clock.bpf.h. */
static uint64_t stolen_from_cpu(struct machine *machine, uint64_t now_ns)
{
	uint64_t stolen_ns = machine->clock_ns - machine->clock_task_ns;
	uint64_t passed_ns = account_growth(now_ns, machine->clock_ns), told_ns, since_ns;

	if (!machine->tells_at_once)
		return stolen_ns;
	do {
		told_ns = machine->told_ns;
		pass_a_moment(machine);
		since_ns = machine->now_ns - now_ns;
		pass_a_moment(machine);
	} while (machine->told_ns != told_ns);
	return stolen_ns +
	       account_stolen_before(told_ns - machine->taken_out_ns, passed_ns, since_ns);
}

static void charge(struct machine *machine)
{
	account_fold(&machine->account, &machine->pending);
	memset(&machine->pending, 0, sizeof(machine->pending));
	if (machine->clock.is_off_cpu)
		(void)account_give_back(&machine->clock, &machine->account);
}

static void publish(struct machine *machine, uint64_t exec_ns)
{
	machine->published_ns =
		account_exec_figure(&machine->clock, machine->published_ns, exec_ns);
}

/* As a probe in exact mode: what is pending is the context's that ends. */
static void change_context(struct machine *machine)
{
	uint64_t now_ns = machine->now_ns;

	pass_a_moment(machine);
	(void)account_edge(&machine->clock, &machine->pending, now_ns, THREAD_MODE_USER);
	pass_a_moment(machine);
	account_settle_stolen(&machine->clock, &machine->pending, stolen_from_cpu(machine, now_ns));
	pass_a_moment(machine);
	charge(machine);
}

static void write_up_running(struct machine *machine)
{
	uint64_t now_ns = machine->now_ns;

	pass_a_moment(machine);
	/* Without probes another context is met here, and what is pending goes to the last one. */
	if (below(machine, 4) == 0) {
		account_settle_stolen(&machine->clock, &machine->pending,
				      stolen_from_cpu(machine, now_ns));
		charge(machine);
		pass_a_moment(machine);
	}
	(void)account_edge(&machine->clock, &machine->pending, now_ns, THREAD_MODE_USER);
	pass_a_moment(machine);
	account_settle_stolen(&machine->clock, &machine->pending, stolen_from_cpu(machine, now_ns));
	pass_a_moment(machine);
	charge(machine);
	publish(machine, account_exec_as_of(account_growth(now_ns, machine->clock.stolen_mark_ns),
					    machine->exec_ns, machine->exec_start_ns));
}

static void end_window(struct machine *machine)
{
	if (machine->is_on_cpu) {
		pass_a_moment(machine);
		write_up_running(machine);
	} else {
		charge(machine);
		publish(machine, machine->clock.exec_mark_ns);
	}
	machine->charged_ns += machine->account.user_ns + machine->account.kernel_ns;
	machine->off_cpu_ns += machine->account.blocked_ns + machine->account.run_queue_ns;
	machine->stolen_ns += machine->account.stolen_ns;
	memset(&machine->account, 0, sizeof(machine->account));
}

/* By another CPU, which still sees it off the CPU. */
static void write_up_sleeper(struct machine *machine)
{
	(void)account_collect(&machine->clock, &machine->pending, machine->now_ns, 0);
	charge(machine);
	publish(machine, machine->clock.exec_mark_ns);
}

static void get_cpu(struct machine *machine)
{
	update_run_queue(machine);
	machine->is_locked = true;
	if (below(machine, 4) == 0)
		machine->next_theft_ns = machine->now_ns;
	pass_a_moment(machine);
	if (below(machine, 4) == 0)
		write_up_sleeper(machine);
	pass_a_moment(machine);
	account_switch_in(&machine->clock, &machine->pending, machine->clock_ns,
			  machine->clock_ns - machine->clock_task_ns, 0);
	machine->is_on_cpu = true;
	machine->is_locked = false;
}

static void leave_cpu(struct machine *machine)
{
	struct kernel_figures figures = { 0 };

	pass_a_moment(machine);
	update_run_queue(machine);
	machine->is_on_cpu = false;
	machine->is_locked = true;
	figures.exec_ns = machine->exec_ns;
	pass_a_moment(machine);
	(void)account_switch_out(&machine->clock, &machine->pending, machine->clock_ns, &figures,
				 OFF_CPU_SLEEPING);
	machine->is_locked = false;
}

/* To the next tick, or to a time before it. */
static void run_until(struct machine *machine, uint64_t end_ns)
{
	while (machine->now_ns < end_ns) {
		bool is_tick = machine->next_tick_ns <= end_ns;
		uint64_t next_ns = is_tick ? machine->next_tick_ns : end_ns;

		if (next_ns > machine->now_ns)
			pass(machine, next_ns - machine->now_ns);
		if (!is_tick)
			continue;
		update_run_queue(machine);
		machine->next_tick_ns = machine->now_ns + TICK_NS;
	}
}

static void begin(struct machine *machine, uint64_t seed, bool tells_at_once)
{
	const struct kernel_figures nothing = { 0 };

	*machine = (struct machine){ .seed = 0x9e3779b97f4a7c15ULL * (seed + 1),
				     .tells_at_once = tells_at_once };
	machine->now_ns = machine->clock_ns = machine->clock_task_ns = machine->exec_start_ns =
		1 + below(machine, MILLISECOND);
	machine->next_theft_ns = machine->now_ns + below(machine, THEFTS_APART_NS);
	machine->next_tick_ns = machine->now_ns + TICK_NS;
	account_begin(&machine->clock, &nothing, machine->now_ns, 1, OFF_CPU_SLEEPING,
		      THREAD_MODE_USER);
}

/* To be positive where more ran than is charged. */
static int64_t residual(const struct machine *machine)
{
	return (int64_t)(machine->published_ns - machine->charged_ns);
}

/* Windows and stints of any length; in the end it sleeps. Returns the worst window's residual. */
static int64_t live(struct machine *machine)
{
	uint64_t end_ns = machine->now_ns + LIFE_NS, window_ns = machine->now_ns + WINDOW_NS;
	int64_t worst_ns = 0, before_ns = 0;

	while (machine->now_ns < end_ns) {
		uint64_t stint_ns;

		get_cpu(machine);
		for (stint_ns = machine->now_ns + below(machine, STINT_MAX_NS);
		     window_ns < stint_ns; window_ns += WINDOW_NS) {
			if (below(machine, 2)) {
				run_until(machine, window_ns - below(machine, WINDOW_NS));
				change_context(machine);
			}
			run_until(machine, window_ns);
			end_window(machine);
			if (llabs(residual(machine) - before_ns) > llabs(worst_ns))
				worst_ns = residual(machine) - before_ns;
			before_ns = residual(machine);
		}
		run_until(machine, stint_ns);
		leave_cpu(machine);
		pass(machine, below(machine, MILLISECOND));
	}
	end_window(machine);
	return worst_ns;
}

TEST(theft_reported_at_once_leaves_no_residual_in_any_window)
{
	struct machine machine;
	int64_t worst_ns;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		begin(&machine, seed, true);
		worst_ns = live(&machine);
		if (worst_ns || residual(&machine))
			fail_msg("seed %lu: residual %ld of %lu ns, in a window up to %ld",
				 (unsigned long)seed, (long)residual(&machine),
				 (unsigned long)machine.exec_ns, (long)worst_ns);
		assert_true(machine.published_ns == machine.exec_ns);
	}
}

/* A window may have closed over it, and what it gave out cannot be taken back. */
TEST(theft_reported_at_ticks_is_at_most_owed_by_thread)
{
	struct machine machine;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		begin(&machine, seed, false);
		(void)live(&machine);
		if (machine.charged_ns != machine.exec_ns + machine.clock.exec_ahead_ns)
			fail_msg("seed %lu: charged %lu, ran %lu, owes %lu", (unsigned long)seed,
				 (unsigned long)machine.charged_ns, (unsigned long)machine.exec_ns,
				 (unsigned long)machine.clock.exec_ahead_ns);
	}
}

TEST(theft_and_charged_time_add_up_to_wall_time)
{
	struct machine machine;
	uint64_t wall_ns;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		begin(&machine, seed, true);
		wall_ns = machine.clock.mark_ns;
		(void)live(&machine);
		get_cpu(&machine);
		leave_cpu(&machine);
		end_window(&machine);
		wall_ns = machine.clock.mark_ns - wall_ns;
		assert_true(machine.charged_ns + machine.off_cpu_ns + (uint64_t)machine.stolen_ns +
				    machine.clock.gap_ns ==
			    wall_ns);
	}
}
