/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/timeline.h>

#include <string.h>

#include "unit_test.h"

/* A thread's books and its timeline, which begins at 1000. */
struct life {
	struct thread_timeline timeline;
	struct thread_clock clock;
	struct account_totals pending;
};

static void begin(struct life *life)
{
	memset(life, 0, sizeof(*life));
	timeline_begin(&life->timeline, 1000);
	life->clock.mark_ns = 1000;
}

static const struct stint *cut(struct life *life, uint64_t now_ns)
{
	life->clock.mark_ns = now_ns;
	timeline_cut(&life->timeline, &life->clock, &life->pending, 3);
	return &life->timeline.stint;
}

static void expect(const struct stint *stint, uint64_t start_ns, uint64_t end_ns, uint64_t user_ns,
		   uint64_t kernel_ns)
{
	assert_int_equal(stint->start_ns, start_ns);
	assert_int_equal(stint->end_ns, end_ns);
	assert_int_equal(stint->user_ns, user_ns);
	assert_int_equal(stint->kernel_ns, kernel_ns);
}

TEST(timeline_slice_has_growth_since_last_one)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending = (struct account_totals){ .user_ns = 70, .kernel_ns = 30, .syscalls = 4 };
	stint = cut(&life, 1100);
	expect(stint, 1000, 1100, 70, 30);
	assert_int_equal(stint->syscalls, 4);
	assert_int_equal(stint->cpu, 3);
	assert_int_equal(stint_slices(stint), 1);
	assert_true(life.timeline.is_cut);
	timeline_sent(&life.timeline);
	assert_false(life.timeline.is_cut);

	life.clock.last_cpu = 6;
	life.pending.user_ns += 5;
	life.pending.blocked_ns = 100;
	life.pending.uninterruptible_ns = 40;
	life.pending.run_queue_ns = 20;
	life.pending.syscalls += 1;
	stint = cut(&life, 1225);
	expect(stint, 1100, 1225, 5, 0);
	assert_int_equal(stint->sleeping_ns, 60);
	assert_int_equal(stint->uninterruptible_ns, 40);
	assert_int_equal(stint->run_queue_ns, 20);
	assert_int_equal(stint->syscalls, 1);
	assert_int_equal(stint->cpu, 5);
	assert_int_equal(stint_slices(stint), 4);
	timeline_sent(&life.timeline);

	/* What was told once is not told again. */
	stint = cut(&life, 1225);
	assert_int_equal(stint_slices(stint), 0);
	assert_int_equal(stint->syscalls, 0);
	assert_false(life.timeline.is_cut);
}

TEST(timeline_defers_unsplit_gap_to_next_slice)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending.user_ns = 100;
	life.clock.gap_ns = 50;
	stint = cut(&life, 1150);
	expect(stint, 1000, 1100, 100, 0);
	timeline_sent(&life.timeline);
	life.clock.gap_ns = 0;
	life.pending.blocked_ns = 50;
	stint = cut(&life, 1150);
	expect(stint, 1100, 1150, 0, 0);
	assert_int_equal(stint->sleeping_ns, 50);
	/* One that does not reach the last one's end has no length. */
	life.clock.gap_ns = 80;
	stint = cut(&life, 1160);
	expect(stint, 1150, 1150, 0, 0);
}

TEST(timeline_counts_anew_after_charge)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending = (struct account_totals){ .user_ns = 60,
						.kernel_ns = 40,
						.run_queue_ns = 7,
						.blocked_ns = 9,
						.uninterruptible_ns = 4,
						.syscalls = 2 };
	stint = cut(&life, 1116);
	timeline_charge(&life.timeline, 0xabc, 17, STINT_IS_INHERITED);
	assert_int_equal(stint->context_hash, 0xabc);
	assert_int_equal(stint->epoch, 17);
	assert_int_equal(stint->flags, STINT_IS_CHARGED | STINT_IS_INHERITED);
	assert_int_equal(stint->charge, 0);
	assert_true(life.timeline.is_cut);
	timeline_sent(&life.timeline);
	assert_int_equal(stint->charge, 1);

	/* The same figures again are as many new ones. */
	stint = cut(&life, 1232);
	expect(stint, 1116, 1232, 60, 40);
	assert_int_equal(stint->run_queue_ns, 7);
	assert_int_equal(stint->sleeping_ns, 5);
	assert_int_equal(stint->uninterruptible_ns, 4);
	assert_int_equal(stint->syscalls, 2);
	assert_int_equal(stint->flags, 0);
	assert_int_equal(stint->taken_ns, 0);
}

TEST(timeline_sends_charge_only_if_something_is_charged)
{
	struct life life;

	begin(&life);
	(void)cut(&life, 1000);
	timeline_charge(&life.timeline, 1, 1, 0);
	assert_false(life.timeline.is_cut);
	timeline_sent(&life.timeline);
	/* What was told before it, */
	life.pending.user_ns = 10;
	(void)cut(&life, 1010);
	timeline_sent(&life.timeline);
	(void)cut(&life, 1010);
	assert_false(life.timeline.is_cut);
	timeline_charge(&life.timeline, 1, 1, 0);
	assert_true(life.timeline.is_cut);
	timeline_sent(&life.timeline);
	/* but once, */
	memset(&life.pending, 0, sizeof(life.pending));
	(void)cut(&life, 1010);
	timeline_charge(&life.timeline, 1, 1, 0);
	assert_false(life.timeline.is_cut);
}

TEST(timeline_sends_time_taken_back_separately)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending = (struct account_totals){
		.user_ns = 60, .kernel_ns = 40, .run_queue_ns = 7, .blocked_ns = 9, .syscalls = 2
	};
	stint = cut(&life, 1116);
	timeline_charge(&life.timeline, 1, 1, STINT_IS_INHERITED);
	timeline_sent(&life.timeline);
	timeline_take_back(&life.timeline, 7, 3, 25);
	expect(stint, 1116, 1116, 0, 0);
	assert_int_equal(stint_slices(stint), 0);
	assert_int_equal(stint->syscalls, 0);
	assert_int_equal(stint->taken_ns, 25);
	assert_int_equal(stint->context_hash, 7);
	assert_int_equal(stint->epoch, 3);
	assert_int_equal(stint->flags, STINT_TAKES_BACK);
	assert_false(life.timeline.is_cut);
	/* The next one has nothing of it, and is of the charge that was open. */
	life.pending = (struct account_totals){ .user_ns = 10 };
	stint = cut(&life, 1126);
	expect(stint, 1116, 1126, 10, 0);
	assert_int_equal(stint->taken_ns, 0);
	assert_int_equal(stint->flags, 0);
	assert_int_equal(stint->charge, 1);
}

TEST(timeline_deducts_decrease_of_one_part_from_other)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending = (struct account_totals){ .user_ns = 100, .kernel_ns = 20 };
	(void)cut(&life, 1120);
	timeline_sent(&life.timeline);
	life.pending = (struct account_totals){ .user_ns = 90, .kernel_ns = 50 };
	stint = cut(&life, 1150);
	expect(stint, 1120, 1150, 0, 20);
	timeline_sent(&life.timeline);
	/* And that part's own next growth is less for it. */
	life.pending = (struct account_totals){ .user_ns = 115, .kernel_ns = 50 };
	stint = cut(&life, 1200);
	expect(stint, 1150, 1200, 15, 10);
	timeline_sent(&life.timeline);
	life.pending = (struct account_totals){ .user_ns = 135, .kernel_ns = 45 };
	stint = cut(&life, 1250);
	expect(stint, 1200, 1250, 15, 0);
	assert_int_equal(stint->taken_ns, 0);
}

TEST(timeline_sends_no_time_that_only_changed_mode)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending = (struct account_totals){ .user_ns = 100, .kernel_ns = 20 };
	(void)cut(&life, 1120);
	timeline_sent(&life.timeline);
	life.pending = (struct account_totals){ .user_ns = 105, .kernel_ns = 15 };
	stint = cut(&life, 1120);
	expect(stint, 1120, 1120, 0, 0);
	assert_false(life.timeline.is_cut);
	/* What was told of the one side is made up for by what comes. */
	life.pending.kernel_ns += 10;
	stint = cut(&life, 1130);
	expect(stint, 1120, 1130, 5, 5);
}

TEST(timeline_slice_has_one_part_per_kind_of_time)
{
	const struct stint parts[] = {
		{ .sleeping_ns = 1 }, { .uninterruptible_ns = 1 },	{ .run_queue_ns = 1 },
		{ .user_ns = 1 },     { .user_ns = 1, .kernel_ns = 1 }, { .kernel_ns = 1 },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		assert_int_equal(stint_slices(&parts[i]), 1);
	assert_int_equal(stint_running_ns(&(struct stint){ .user_ns = 5, .kernel_ns = 7 }), 12);
}

TEST(timeline_takes_back_decrease_of_whole_once)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.pending = (struct account_totals){ .user_ns = 100, .kernel_ns = 20 };
	(void)cut(&life, 1120);
	timeline_sent(&life.timeline);
	life.pending = (struct account_totals){ .user_ns = 60, .kernel_ns = 30 };
	stint = cut(&life, 1120);
	expect(stint, 1120, 1120, 0, 0);
	assert_int_equal(stint->taken_ns, 30);
	assert_true(life.timeline.is_cut);
	timeline_charge(&life.timeline, 1, 1, 0);
	assert_int_equal(stint->taken_ns, 30);
	timeline_sent(&life.timeline);

	/* Once. */
	begin(&life);
	life.pending = (struct account_totals){ .user_ns = 100, .kernel_ns = 20 };
	(void)cut(&life, 1120);
	timeline_sent(&life.timeline);
	life.pending = (struct account_totals){ .user_ns = 60, .kernel_ns = 30 };
	(void)cut(&life, 1120);
	timeline_sent(&life.timeline);
	life.pending = (struct account_totals){ .user_ns = 61, .kernel_ns = 32 };
	stint = cut(&life, 1123);
	expect(stint, 1120, 1123, 1, 2);
	assert_int_equal(stint->taken_ns, 0);
}

TEST(timeline_reports_waker_with_slice_after_sleep)
{
	const struct stint *stint;
	struct life life;

	begin(&life);
	life.timeline.waker = 42;
	/* Preempted, it was not woken. */
	life.clock.off_reason = OFF_CPU_RUNNABLE;
	timeline_switch_in(&life.timeline, &life.clock);
	assert_int_equal(life.timeline.stint.woken_by, 0);
	life.clock.off_reason = OFF_CPU_SLEEPING;
	timeline_switch_in(&life.timeline, &life.clock);
	assert_int_equal(life.timeline.waker, 0);

	/* The sleep alone is not what follows. */
	life.pending.blocked_ns = 10;
	(void)cut(&life, 1010);
	timeline_sent(&life.timeline);
	life.pending.user_ns = 10;
	stint = cut(&life, 1020);
	assert_int_equal(stint->woken_by, 42);
	timeline_sent(&life.timeline);
	assert_int_equal(life.timeline.stint.woken_by, 0);

	life.timeline.waker = 43;
	timeline_switch_in(&life.timeline, &life.clock);
	life.pending.run_queue_ns = 10;
	stint = cut(&life, 1030);
	assert_int_equal(stint->woken_by, 43);
	timeline_sent(&life.timeline);
	assert_int_equal(life.timeline.stint.woken_by, 0);
	/* Whoever wakes the thread uninterruptibly asleep, too; who is not known, is nobody. */
	life.timeline.waker = 44;
	life.clock.off_reason = OFF_CPU_UNINTERRUPTIBLE;
	timeline_switch_in(&life.timeline, &life.clock);
	assert_int_equal(life.timeline.stint.woken_by, 44);
	timeline_switch_in(&life.timeline, &life.clock);
	assert_int_equal(life.timeline.stint.woken_by, 0);
}

TEST(timeline_begin_clears_pending_state)
{
	struct life life;

	begin(&life);
	life.pending.user_ns = 10;
	(void)cut(&life, 1010);
	life.timeline.waker = life.timeline.stint.woken_by = 42;
	life.timeline.stint.charge = 9;
	timeline_begin(&life.timeline, 2000);
	assert_false(life.timeline.is_cut);
	assert_false(life.timeline.is_uncharged);
	assert_int_equal(life.timeline.waker, 0);
	assert_int_equal(life.timeline.stint.woken_by, 0);
	assert_int_equal(life.timeline.stint.end_ns, 2000);
	assert_int_equal(life.timeline.stint.charge, 0);
}
