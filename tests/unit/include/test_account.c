/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/account.h>

#include <string.h>

#include "unit_test.h"

struct books {
	struct thread_clock clock;
	struct account_totals totals;
	struct kernel_figures figures;
};

static void begin(struct books *books, uint64_t now, int is_off_cpu)
{
	memset(books, 0, sizeof(*books));
	books->figures.exec_ns = 5000;
	books->figures.run_delay_ns = 300;
	account_begin(&books->clock, &books->figures, now, (uint32_t)is_off_cpu, OFF_CPU_SLEEPING,
		      THREAD_MODE_USER);
}

static void switch_out(struct books *books, uint64_t now, uint64_t ran, uint32_t reason)
{
	books->figures.exec_ns += ran;
	(void)account_switch_out(&books->clock, &books->totals, now, &books->figures, reason);
}

/* The boundary functions, at a time with nothing stolen so far. */
static void edge(struct books *books, uint64_t now, uint32_t mode)
{
	(void)account_edge(&books->clock, &books->totals, now, mode);
}

static void switch_in(struct books *books, uint64_t now, uint32_t cpu)
{
	account_switch_in(&books->clock, &books->totals, now, 0, cpu);
}

static uint64_t on_cpu(const struct books *books)
{
	return books->totals.user_ns + books->totals.kernel_ns;
}

TEST(account_charges_nothing_before_begin)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 1400, 0);
	switch_out(&books, 1700, 300, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 300);
}

static uint32_t for_gvl(void)
{
	return off_cpu_blocked(OFF_CPU_SLEEPING, BLOCKED_ON_FUTEX) | OFF_CPU_FOR_GVL;
}

TEST(account_charges_gvl_wait_with_its_time_in_the_run_queue)
{
	struct books books;

	begin(&books, 1000, 0);
	switch_out(&books, 1100, 100, for_gvl());
	switch_in(&books, 1900, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 300);
	assert_int_equal(books.totals.blocked_ns, 500);
	assert_int_equal(books.totals.run_queue_ns, 300);
	assert_int_equal(books.totals.gvl_ns, 800);
	assert_int_equal(books.totals.gvl_waits, 1);
	assert_int_equal(account_blocked_on_ns(&books.totals, BLOCKED_ON_FUTEX), 500);
}

TEST(account_charges_gvl_wait_to_each_window_that_it_spans)
{
	struct books books;

	begin(&books, 1000, 0);
	switch_out(&books, 1100, 100, for_gvl());
	account_collect(&books.clock, &books.totals, 1500, 0);
	assert_int_equal(books.totals.gvl_ns, 400);
	/* It was woken: how much of the gap is run-queue time is not known yet. */
	account_collect(&books.clock, &books.totals, 1700, 1);
	assert_int_equal(books.totals.gvl_ns, 400);
	switch_in(&books, 1900, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 100);
	assert_int_equal(books.totals.gvl_ns, 800);
	assert_int_equal(books.totals.gvl_waits, 1);
}

TEST(account_charges_no_other_wait_as_one_for_the_gvl)
{
	struct books books;

	begin(&books, 1000, 0);
	switch_out(&books, 1100, 100, for_gvl() & ~OFF_CPU_FOR_GVL);
	switch_in(&books, 1900, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	switch_out(&books, 2000, 100, OFF_CPU_RUNNABLE);
	switch_in(&books, 2900, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(books.totals.gvl_ns, 0);
	assert_int_equal(books.totals.gvl_waits, 0);
}

TEST(account_begin_ignores_previous_contents)
{
	const struct kernel_figures figures = { 5000, 300, 7, 8 };
	struct thread_clock clean, used;

	memset(&clean, 0, sizeof(clean));
	memset(&used, 0xa5, sizeof(used));
	account_begin(&clean, &figures, 1000, 1, OFF_CPU_SLEEPING, THREAD_MODE_KERNEL);
	account_begin(&used, &figures, 1000, 1, OFF_CPU_SLEEPING, THREAD_MODE_KERNEL);
	assert_memory_equal(&used, &clean, sizeof(clean));
}

TEST(account_edge_splits_user_from_kernel_time)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 2000, 0);
	edge(&books, 2100, THREAD_MODE_KERNEL);
	edge(&books, 2130, THREAD_MODE_USER);
	switch_out(&books, 2200, 200, OFF_CPU_RUNNABLE);
	assert_int_equal(books.totals.user_ns, 170);
	assert_int_equal(books.totals.kernel_ns, 30);
}

TEST(account_switch_out_adjusts_last_interval_to_exec_runtime)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 2000, 0);
	edge(&books, 2100, THREAD_MODE_KERNEL);
	/* The clock says 50 more, the scheduler says that it ran 145 in all. */
	switch_out(&books, 2150, 145, OFF_CPU_SLEEPING);
	assert_int_equal(books.totals.user_ns, 100);
	assert_int_equal(books.totals.kernel_ns, 45);
}

TEST(account_separates_stolen_time_from_cpu_time)
{
	struct books books;

	begin(&books, 0, 1);
	switch_in(&books, 1000, 0);
	/* 1000 by the clock, of which the hypervisor took 900. */
	switch_out(&books, 2000, 100, OFF_CPU_RUNNABLE);
	assert_int_equal(on_cpu(&books), 100);
	assert_int_equal(books.totals.stolen_ns, 900);
}

TEST(account_deducts_stolen_time_from_context_it_hit)
{
	struct books books;

	begin(&books, 0, 1);
	account_switch_in(&books.clock, &books.totals, 1000, 50, 0);
	edge(&books, 1400, THREAD_MODE_KERNEL);
	/* 1000 by the clock, 900 of them stolen: the context ends here. */
	edge(&books, 2400, THREAD_MODE_USER);
	account_settle_stolen(&books.clock, &books.totals, 950);
	assert_int_equal(books.totals.user_ns, 400);
	assert_int_equal(books.totals.kernel_ns, 100);
	assert_int_equal(books.totals.stolen_ns, 900);
	/* The next context pays nothing of it. */
	memset(&books.totals, 0, sizeof(books.totals));
	switch_out(&books, 2500, 600, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 100);
	assert_int_equal(books.totals.stolen_ns, 0);
}

TEST(account_take_out_reduces_larger_part_first)
{
	const struct {
		uint64_t user_ns, kernel_ns, ns;
		uint64_t left_user_ns, left_kernel_ns;
	} cases[] = {
		{ 70, 30, 60, 10, 30 }, { 30, 70, 60, 30, 10 }, { 70, 30, 80, 0, 20 },
		{ 30, 70, 80, 20, 0 },	{ 50, 50, 60, 0, 40 },	{ 50, 50, 50, 0, 50 },
		{ 50, 50, 200, 0, 0 },	{ 0, 0, 5, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct account_totals totals = { .user_ns = cases[i].user_ns,
						 .kernel_ns = cases[i].kernel_ns };
		uint64_t taken_ns = account_take_out(&totals, cases[i].ns);

		assert_int_equal(totals.user_ns, cases[i].left_user_ns);
		assert_int_equal(totals.kernel_ns, cases[i].left_kernel_ns);
		assert_int_equal(totals.stolen_ns, taken_ns);
		assert_int_equal(totals.user_ns + totals.kernel_ns + taken_ns,
				 cases[i].user_ns + cases[i].kernel_ns);
	}
}

TEST(account_deducts_late_noticed_theft_later)
{
	struct books books;

	begin(&books, 0, 1);
	account_switch_in(&books.clock, &books.totals, 1000, 0, 0);
	edge(&books, 1100, THREAD_MODE_KERNEL);
	account_settle_stolen(&books.clock, &books.totals, 800);
	assert_int_equal(on_cpu(&books), 0);
	edge(&books, 3000, THREAD_MODE_USER);
	account_settle_stolen(&books.clock, &books.totals, 800);
	assert_int_equal(on_cpu(&books), 1200);
	assert_int_equal(books.totals.stolen_ns, 800);
}

/* A hypervisor may take a CPU away between reading the clock for a switch and the books. */
TEST(account_late_switch_counts_no_time_twice)
{
	struct books books;

	begin(&books, 1000, 1);
	/* Others wrote the sleeper up to 5000 since it got its CPU at 2000. */
	account_collect(&books.clock, &books.totals, 5000, 0);
	switch_in(&books, 2000, 0);
	switch_out(&books, 6000, 1500, OFF_CPU_SLEEPING);
	assert_int_equal(books.totals.blocked_ns, 4000);
	assert_int_equal(on_cpu(&books), 1500);
	assert_int_equal(books.totals.stolen_ns, -500);
	/* As late is the way off the CPU: it left at 6300, before an edge at 6400. */
	switch_in(&books, 6200, 0);
	edge(&books, 6400, THREAD_MODE_KERNEL);
	switch_out(&books, 6300, 100, OFF_CPU_SLEEPING);
	account_collect(&books.clock, &books.totals, 6500, 0);
	books.totals.blocked_ns += books.clock.gap_ns;
	assert_int_equal(on_cpu(&books) + books.totals.blocked_ns + books.totals.stolen_ns,
			 6500 - 1000);
}

/* The hypervisor took the CPU in the middle of the switch, and a flush came before that was told.
 */
TEST(account_clock_starts_where_exec_runtime_does)
{
	struct books books;

	begin(&books, 1000, 1);
	account_collect(&books.clock, &books.totals, 5000, 0);
	switch_in(&books, 2000, 0);
	edge(&books, 6000, THREAD_MODE_USER);
	assert_int_equal(on_cpu(&books), 4000);
	assert_int_equal(books.totals.blocked_ns, 4000);
	assert_int_equal(books.totals.stolen_ns, -3000);
	account_settle_stolen(&books.clock, &books.totals, 2900);
	assert_int_equal(on_cpu(&books), 1100);
}

TEST(account_limits_cpu_time_after_clock_step)
{
	const uint64_t step_ns = UINT64_C(3600) * 1000 * 1000 * 1000;
	struct books books;

	begin(&books, 1000, 1);
	account_collect(&books.clock, &books.totals, step_ns, 0);
	switch_in(&books, 2000, 0);
	edge(&books, step_ns, THREAD_MODE_USER);
	assert_int_equal(on_cpu(&books), SWITCH_LATE_MAX_NS);
	switch_out(&books, 7000, 5000, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 5000);
}

TEST(account_exec_as_of_moves_figure_to_boundary)
{
	assert_int_equal(account_exec_as_of(900, 5000, 700), 5200);
	assert_int_equal(account_exec_as_of(900, 5000, 900), 5000);
	assert_int_equal(account_exec_as_of(900, 5000, 1000), 4900);
	assert_int_equal(account_exec_as_of(900, 50, 1000), 0);
}

TEST(account_takes_first_stolen_reading_as_baseline)
{
	struct books books;

	begin(&books, 1000, 0);
	edge(&books, 1500, THREAD_MODE_KERNEL);
	account_settle_stolen(&books.clock, &books.totals, 123456789);
	assert_int_equal(on_cpu(&books), 500);
	edge(&books, 2000, THREAD_MODE_USER);
	account_settle_stolen(&books.clock, &books.totals, 123456789 + 40);
	assert_int_equal(on_cpu(&books), 960);
}

/* What it was charged too much, of one that will run again: the next window has it less. */
TEST(exec_figure_includes_time_owed_off_cpu)
{
	struct account_totals totals = { .user_ns = 15 };
	struct thread_clock clock = { .exec_mark_ns = 5000, .exec_ahead_ns = 55, .is_off_cpu = 1 };

	assert_int_equal(account_give_back(&clock, &totals), 15);
	assert_int_equal(totals.user_ns, 0);
	assert_int_equal(totals.stolen_ns, 15);
	assert_int_equal(clock.exec_ahead_ns, 40);
	assert_int_equal(account_exec_figure(&clock, 4000, 5000), 5040);
	/* It runs on, and owes that still. */
	clock.is_off_cpu = 0;
	clock.exec_ahead_ns += 30;
	assert_int_equal(account_exec_figure(&clock, 5040, 5030), 5070);
	/* Until it has left its CPU again. */
	clock.exec_mark_ns = 5100;
	clock.exec_ahead_ns = 0;
	assert_int_equal(account_give_back(&clock, &totals), 0);
	assert_int_equal(account_exec_figure(&clock, 5070, 5100), 5100);
	/* Or for good. */
	clock.exec_ahead_ns = 9;
	assert_int_equal(account_give_back(&clock, &totals), 0);
	assert_int_equal(account_exec_figure(&clock, 5100, 5100), 5109);
	account_forgive(&clock);
	assert_int_equal(clock.exec_ahead_ns, 0);
	assert_int_equal(account_exec_figure(&clock, 5100, 5100), 5100);
}

/* Running it was brought up to now by the clock. */
TEST(exec_figure_decreases_only_by_corrected_time)
{
	const struct thread_clock clock = { .exec_mark_ns = 5000, .exec_ahead_ns = 40 };

	assert_int_equal(account_exec_figure(&clock, 4000, 5030), 5030);
	assert_int_equal(account_exec_figure(&clock, 5050, 5030), 5040);
	assert_int_equal(account_exec_figure(&clock, 5035, 5030), 5035);
}

TEST(account_compensates_clock_that_ran_ahead)
{
	struct books books;

	begin(&books, 0, 1);
	switch_in(&books, 1000, 0);
	edge(&books, 1500, THREAD_MODE_KERNEL);
	switch_out(&books, 1510, 480, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 480);
	memset(&books.totals, 0, sizeof(books.totals));
	switch_in(&books, 3000, 0);
	edge(&books, 3100, THREAD_MODE_KERNEL);
	memset(&books.totals, 0, sizeof(books.totals));
	switch_out(&books, 3110, 70, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 0);
	switch_in(&books, 4000, 0);
	switch_out(&books, 4100, 100, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 70);
}

TEST(account_splits_gap_by_run_delay)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 5000, 0);
	books.figures.run_delay_ns += 700;
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(books.totals.run_queue_ns, 700);
	assert_int_equal(books.totals.blocked_ns, 3300);
	assert_int_equal(books.totals.uninterruptible_ns, 0);
}

/* The kernel adds a wait to its figure when it is over. */
TEST(account_excludes_wait_before_begin_from_later_gap)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 1000, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 900);
	switch_out(&books, 1500, 500, OFF_CPU_SLEEPING);
	switch_in(&books, 2500, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 960);
	assert_int_equal(books.totals.run_queue_ns, 60);
	assert_int_equal(books.totals.blocked_ns, 940);
}

/* By the run queue's clock its wait is a little shorter than by ours. */
TEST(account_charges_preempted_gap_to_run_queue_only)
{
	struct books books;

	begin(&books, 0, 0);
	switch_out(&books, 1000, 1000, OFF_CPU_RUNNABLE);
	switch_in(&books, 5000, 0);
	books.figures.run_delay_ns += 3400;
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(books.totals.run_queue_ns, 4000);
	assert_int_equal(books.totals.blocked_ns, 0);
	/* What the kernel's figure grew by meanwhile is not told once more. */
	switch_out(&books, 6000, 1000, OFF_CPU_SLEEPING);
	switch_in(&books, 7000, 0);
	books.figures.run_delay_ns += 200;
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(books.totals.run_queue_ns, 4200);
	assert_int_equal(books.totals.blocked_ns, 800);
}

TEST(account_settles_gap_once)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 5000, 0);
	account_settle_gap(&books.clock, &books.totals, 400);
	account_settle_gap(&books.clock, &books.totals, 900);
	assert_int_equal(books.totals.run_queue_ns + books.totals.blocked_ns, 4000);
}

TEST(account_limits_run_delay_to_gap)
{
	struct books books;

	begin(&books, 1000, 1);
	switch_in(&books, 1100, 0);
	account_settle_gap(&books.clock, &books.totals, 100000);
	assert_int_equal(books.totals.run_queue_ns, 100);
	assert_int_equal(books.totals.blocked_ns, 0);
}

TEST(account_flush_splits_sleep_in_two)
{
	struct books books;

	begin(&books, 1000, 1);
	assert_int_equal(account_collect(&books.clock, &books.totals, 3000, 0), 2000);
	assert_int_equal(books.totals.blocked_ns, 2000);
	switch_in(&books, 4000, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(books.totals.blocked_ns, 3000);
}

TEST(account_flush_of_queued_thread_is_not_charged_twice)
{
	struct books books;

	begin(&books, 0, 1);
	switch_in(&books, 1000, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	memset(&books.totals, 0, sizeof(books.totals));
	switch_out(&books, 2000, 1000, OFF_CPU_RUNNABLE);
	account_collect(&books.clock, &books.totals, 5000, 1);
	switch_in(&books, 6000, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 4000);
	assert_int_equal(books.totals.run_queue_ns, 4000);
	assert_int_equal(books.totals.blocked_ns, 0);
}

TEST(account_flush_keeps_gap_of_woken_sleeper_open)
{
	struct books books;

	begin(&books, 1000, 1);
	assert_int_equal(account_collect(&books.clock, &books.totals, 3000, 1), 0);
	assert_int_equal(books.totals.blocked_ns + books.totals.run_queue_ns, 0);
	switch_in(&books, 4000, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 500);
	assert_int_equal(books.totals.run_queue_ns, 500);
	assert_int_equal(books.totals.blocked_ns, 2500);
}

TEST(account_flush_leaves_running_thread_unchanged)
{
	struct books books, before;

	begin(&books, 1000, 0);
	before = books;
	assert_int_equal(account_collect(&books.clock, &books.totals, 3000, 1), 0);
	assert_memory_equal(&books, &before, sizeof(books));
}

/* By our clock the flush charged more than the kernel's will tell, and no gap was left to split. */
TEST(account_wait_overcharged_by_flush_reduces_next_one)
{
	struct books books;

	begin(&books, 0, 0);
	switch_out(&books, 100, 100, OFF_CPU_RUNNABLE);
	assert_int_equal(account_collect(&books.clock, &books.totals, 200, 1), 100);
	switch_in(&books, 200, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 90);
	switch_out(&books, 300, 100, OFF_CPU_SLEEPING);
	switch_in(&books, 400, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 190);
	assert_int_equal(books.totals.run_queue_ns, 190);
	assert_int_equal(books.totals.blocked_ns, 10);
}

TEST(account_counts_migration_when_cpu_changes)
{
	struct books books;
	static const uint32_t cpus[] = { 0, 0, 3, 3, 0 };

	begin(&books, 0, 1);
	for (unsigned int i = 0; i < 5; i++) {
		switch_in(&books, 1000 * i, cpus[i]);
		switch_out(&books, 1000 * i + 500, 500, OFF_CPU_SLEEPING);
	}
	assert_int_equal(books.totals.migrations, 2);
	assert_int_equal(books.totals.slices, 5);
}

TEST(account_derives_unseen_switch_in_from_runtime)
{
	struct books books;

	begin(&books, 1000, 1);
	/* Off until 9800, by the scheduler: seen next at a system call at 10000. */
	account_enter_unseen(&books.clock, &books.totals, 10000, 200, 0, 1);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 300);
	edge(&books, 10000, THREAD_MODE_KERNEL);
	assert_int_equal(books.totals.user_ns, 200);
	assert_int_equal(books.totals.run_queue_ns, 300);
	assert_int_equal(books.totals.blocked_ns, 8500);
	switch_out(&books, 10100, 300, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 300);
}

/*
 * It got the CPU at 9000, by the run queue's clock, of which 300 were stolen before and 75 since; a
 * tick brought its exec runtime up to date in between.
 */
TEST(account_excludes_theft_after_unseen_switch_in)
{
	const uint64_t arrived_ns = 9000, before_ns = 5000, ticked_ns = 5400;
	const uint64_t exec_start_ns = arrived_ns - 300 + (ticked_ns - before_ns);
	struct books books;

	begin(&books, 1000, 1);
	account_enter_unseen(
		&books.clock, &books.totals, 10000, 1000,
		account_stolen_at_arrival(arrived_ns, before_ns, ticked_ns, exec_start_ns), 2);
	assert_int_equal(books.clock.stolen_mark_ns, 300);
	assert_int_equal(books.totals.migrations, 0);
	edge(&books, 10000, THREAD_MODE_KERNEL);
	account_settle_stolen(&books.clock, &books.totals, 375);
	assert_int_equal(on_cpu(&books), 925);
	assert_int_equal(books.totals.stolen_ns, 75);
	switch_out(&books, 10000, 925, OFF_CPU_SLEEPING);
	account_enter_unseen(&books.clock, &books.totals, 20000, 10, 0, 1);
	assert_int_equal(books.totals.migrations, 1);
}

TEST(account_derives_unseen_switch_out_from_runtime)
{
	struct books books;

	begin(&books, 0, 1);
	switch_in(&books, 1000, 0);
	edge(&books, 1100, THREAD_MODE_KERNEL);
	books.figures.exec_ns += 250;
	account_leave_unseen(&books.clock, &books.totals, 5000, &books.figures);
	assert_int_equal(books.totals.user_ns, 100);
	assert_int_equal(books.totals.kernel_ns, 150);
	switch_in(&books, 5000, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	/* 1000 before the first switch-in, 3750 of the second gap. */
	assert_int_equal(books.totals.blocked_ns, 4750);
}

/* The kernel says that it ran longer than there was time: the books do not go on ahead of now. */
TEST(account_unseen_switch_out_is_not_after_now)
{
	struct books books;

	begin(&books, 0, 1);
	switch_in(&books, 1000, 0);
	books.figures.exec_ns += 5000;
	account_leave_unseen(&books.clock, &books.totals, 3000, &books.figures);
	assert_int_equal(books.clock.mark_ns, 3000);
	assert_int_equal(on_cpu(&books), 5000);
	assert_int_equal(books.totals.stolen_ns, -3000);
}

/* A wait that no boundary has split yet is split, as what it was, before the next one begins. */
TEST(account_wait_before_unseen_switch_out_keeps_its_state)
{
	struct books books;

	begin(&books, 0, 0);
	switch_out(&books, 100, 100, OFF_CPU_UNINTERRUPTIBLE);
	switch_in(&books, 1100, 0);
	books.figures.run_delay_ns += 300;
	books.figures.exec_ns += 50;
	account_leave_unseen(&books.clock, &books.totals, 5000, &books.figures);
	switch_in(&books, 5000, 0);
	assert_int_equal(books.totals.run_queue_ns, 300);
	assert_int_equal(books.totals.uninterruptible_ns, 700);
	assert_int_equal(books.totals.blocked_ns, 700);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns + 80);
	assert_int_equal(books.totals.run_queue_ns, 380);
	assert_int_equal(books.totals.uninterruptible_ns, 700);
	assert_int_equal(books.totals.blocked_ns, 700 + 3850 - 80);
}

/* Each reason has its own time, what has none is the rest, and they come to all of it. */
TEST(account_charges_sleep_to_its_blocked_reason)
{
	struct books books;
	uint64_t sum_ns = 0;

	begin(&books, 0, 0);
	for (uint32_t reason = 0; reason < _BLOCKED_REASON_MAX; reason++) {
		switch_out(&books, 1000 * reason, 0,
			   off_cpu_blocked(OFF_CPU_SLEEPING + reason % 2, reason));
		switch_in(&books, 1000 * reason + 10 + reason, 0);
		account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
		assert_int_equal(books.clock.blocked_on, reason);
	}
	for (uint32_t reason = 0; reason < _BLOCKED_REASON_MAX; reason++) {
		assert_int_equal(account_blocked_on_ns(&books.totals, reason), 10 + reason);
		sum_ns += account_blocked_on_ns(&books.totals, reason);
	}
	assert_int_equal(books.totals.blocked_ns, sum_ns);
	assert_int_equal(books.totals.uninterruptible_ns, 11 + 13 + 15 + 17);
}

/* Nor does a gap that was all run queue say what a sleep was about. */
TEST(account_gap_without_sleep_keeps_last_reason)
{
	struct books books;

	begin(&books, 0, 0);
	switch_out(&books, 100, 0, off_cpu_blocked(OFF_CPU_SLEEPING, BLOCKED_ON_DISK));
	switch_in(&books, 110, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	switch_out(&books, 200, 0, off_cpu_blocked(OFF_CPU_SLEEPING, BLOCKED_ON_PIPE));
	switch_in(&books, 230, 0);
	books.figures.run_delay_ns += 30;
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(books.clock.blocked_on, BLOCKED_ON_DISK);
	assert_int_equal(books.totals.run_queue_ns, 30);
	assert_int_equal(books.totals.blocked_ns, 10);
}

TEST(account_counts_invalid_reason_as_other)
{
	struct books books;

	begin(&books, 0, 0);
	switch_out(&books, 100, 0, off_cpu_blocked(OFF_CPU_SLEEPING, _BLOCKED_REASON_MAX));
	switch_in(&books, 110, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(account_blocked_on_ns(&books.totals, BLOCKED_ON_OTHER), 10);
}

enum {
	TOTALS_WORDS = sizeof(struct account_totals) / sizeof(uint64_t)
};

/* The struct is words, and nothing else. */
TEST(account_fold_adds_each_total)
{
	uint64_t from[TOTALS_WORDS], into[TOTALS_WORDS];

	for (size_t i = 0; i < TOTALS_WORDS; i++) {
		from[i] = 1000 + i;
		into[i] = 7 * i;
	}
	account_fold((struct account_totals *)into, (const struct account_totals *)from);
	for (size_t i = 0; i < TOTALS_WORDS; i++)
		assert_int_equal(into[i], 1000 + 8 * i);
}

/* Also at a flush, while it goes on; and of one that waits for a CPU there is none. */
TEST(account_flush_charges_ongoing_sleep_to_its_reason)
{
	struct books books;

	begin(&books, 0, 0);
	switch_out(&books, 100, 100, off_cpu_blocked(OFF_CPU_UNINTERRUPTIBLE, BLOCKED_ON_DISK));
	assert_int_equal(account_collect(&books.clock, &books.totals, 150, 0), 50);
	assert_int_equal(account_blocked_on_ns(&books.totals, BLOCKED_ON_DISK), 50);
	assert_int_equal(account_blocked_on_ns(&books.totals, BLOCKED_ON_OTHER), 0);
	assert_int_equal(books.totals.uninterruptible_ns, 50);
	switch_in(&books, 170, 0);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(account_blocked_on_ns(&books.totals, BLOCKED_ON_DISK), 70);
	switch_out(&books, 200, 30, OFF_CPU_RUNNABLE);
	assert_int_equal(account_collect(&books.clock, &books.totals, 260, 1), 60);
	account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
	assert_int_equal(account_blocked_on_ns(&books.totals, BLOCKED_ON_OTHER), 0);
	assert_int_equal(books.totals.run_queue_ns, 60);
}

TEST(account_unseen_switches_invent_no_time)
{
	struct books books;

	begin(&books, 1000, 1);
	account_enter_unseen(&books.clock, &books.totals, 1500, 999999, 0, 1);
	edge(&books, 1500, THREAD_MODE_KERNEL);
	assert_int_equal(on_cpu(&books) + books.clock.gap_ns, 500);
	/* Nothing told how long it ran: exec runtime will. */
	begin(&books, 0, 1);
	assert_int_equal(account_edge(&books.clock, &books.totals, 20000, THREAD_MODE_KERNEL), 0);
	edge(&books, 20100, THREAD_MODE_USER);
	assert_int_equal(on_cpu(&books), 100);
	switch_out(&books, 20100, 150, OFF_CPU_SLEEPING);
	assert_int_equal(on_cpu(&books), 150);
	assert_int_equal(books.totals.kernel_ns, 100);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 33;
}

/*
 * The laws, over random lives: on-CPU time is exec runtime (but for what the clock is ahead by),
 * and off-CPU time is all of the rest, wherever the life is cut by edges and flushes.
 */
TEST(account_invariants_hold_for_random_lives)
{
	for (uint64_t round = 1; round <= 2000; round++) {
		uint64_t seed = round, now = 1000, off = 0, ran = 0;
		struct books books;

		begin(&books, now, 1);
		for (unsigned int stint = 0; stint < 20; stint++) {
			uint64_t gap = 1 + next_random(&seed) % 10000, part;
			uint64_t length = 0;

			part = next_random(&seed) % (gap + 1);
			if (next_random(&seed) % 2)
				account_collect(&books.clock, &books.totals, now + part,
						books.clock.off_reason == OFF_CPU_RUNNABLE);
			now += gap;
			off += gap;
			switch_in(&books, now, (uint32_t)next_random(&seed) % 4);
			if (books.clock.off_reason == OFF_CPU_RUNNABLE)
				books.figures.run_delay_ns += gap;
			account_settle_gap(&books.clock, &books.totals, books.figures.run_delay_ns);
			for (unsigned int i = 0; i < next_random(&seed) % 6; i++) {
				part = next_random(&seed) % 1000;
				length += part;
				edge(&books, now + length, (uint32_t)next_random(&seed) & 1);
			}
			part = next_random(&seed) % 1000;
			length += part;
			now += length;
			ran += length;
			switch_out(&books, now, length, next_random(&seed) % 3);
		}
		assert_int_equal(on_cpu(&books), ran);
		assert_int_equal(books.totals.run_queue_ns + books.totals.blocked_ns, off);
		assert_int_equal(books.totals.stolen_ns, 0);
		assert_true(books.totals.uninterruptible_ns <= books.totals.blocked_ns);
	}
}

TEST(account_growth_is_difference_or_zero)
{
	static const uint64_t figures[] = {
		0,	   1, 2, INT64_MAX - 1, INT64_MAX, 1 + (uint64_t)INT64_MAX, UINT64_MAX - 1,
		UINT64_MAX
	};
	const size_t count = sizeof(figures) / sizeof(figures[0]);

	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < count; j++)
			assert_int_equal(account_growth(figures[i], figures[j]),
					 figures[i] > figures[j] ? figures[i] - figures[j] : 0);
}
