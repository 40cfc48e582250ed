/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/stints.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"

enum {
	THREAD = 5,
	EPOCH = 9,
	ROOM = 3000
};

#define LIFE	   (1ULL << 32 | 77)
#define OTHER_LIFE 77ULL

static struct stints *stints;
static char seen[4096];

static int set_up(void **state)
{
	(void)state;
	stints = stints_new(ROOM);
	return stints ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	memory_never_fails();
	stints_free(stints);
	return 0;
}

/* One that ran for a while from start_ns on. */
static struct stint ran(uint64_t thread, uint32_t charge, uint64_t start_ns, uint64_t user_ns,
			uint64_t kernel_ns)
{
	return (struct stint){ .thread_serial = thread,
			       .life = LIFE,
			       .charge = charge,
			       .start_ns = start_ns,
			       .end_ns = start_ns + user_ns + kernel_ns,
			       .user_ns = user_ns,
			       .kernel_ns = kernel_ns };
}

static struct stint charged(struct stint stint, uint64_t hash, uint32_t epoch)
{
	stint.flags |= STINT_IS_CHARGED;
	stint.context_hash = hash;
	stint.epoch = epoch;
	return stint;
}

static void add(struct stint stint)
{
	stints_add(stints, &stint);
}

static int print(void *user, const struct slice *slice)
{
	static const char states[] = "rqbU"; /* by enum sched_state */
	size_t used = strlen(seen);

	(void)user;
	(void)snprintf(seen + used, sizeof(seen) - used, " %llu:%c%lu-%lu/%llx/%llu+%llu",
		       slice->stint->thread_serial, states[slice->state],
		       (unsigned long)slice->start_ns, (unsigned long)slice->end_ns,
		       slice->stint->context_hash, slice->stint->user_ns, slice->stint->kernel_ns);
	if (slice->woken_by)
		(void)snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "<%lu",
			       (unsigned long)slice->woken_by);
	return 0;
}

/* The window's stints, in a line: thread, state, from and to, context, user + kernel, waker. */
static void expect_window(uint32_t epoch, const char *expected)
{
	seen[0] = '\0';
	stints_settle(stints, epoch);
	assert_int_equal(stints_each(stints, print, NULL), 0);
	assert_string_equal(seen, expected);
	stints_next(stints);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(stints_take_context_from_next_charge_of_their_thread)
{
	add(ran(THREAD, 0, 100, 10, 0));
	add(ran(THREAD + 1, 0, 105, 5, 0));
	add(ran(THREAD, 0, 120, 10, 0));
	add(charged(ran(THREAD, 0, 130, 1, 1), 0xa, EPOCH));
	add(charged(ran(THREAD, 1, 140, 2, 2), 0xb, EPOCH));
	add(charged(ran(THREAD + 1, 0, 150, 0, 0), 0xc, EPOCH));
	expect_window(EPOCH, " 5:r100-110/a/10+0 6:r105-110/c/5+0 5:r120-130/a/10+0"
			     " 5:r130-132/a/1+1 5:r140-144/b/2+2");
	expect_window(EPOCH + 1, "");
}

FIXTURE_TEST(stints_take_overflow_and_window_of_their_charge)
{
	struct stint last = charged(ran(THREAD, 0, 110, 10, 0), 0xa, EPOCH + 1);

	add(ran(THREAD, 0, 100, 10, 0));
	last.flags |= STINT_IS_OVERFLOW;
	add(last);
	/* Charged to the next window already. */
	expect_window(EPOCH, "");
	stints_settle(stints, EPOCH + 1);
	seen[0] = '\0';
	assert_int_equal(stints_each(stints, print, NULL), 0);
	assert_string_equal(seen, " 5:r100-110/a/10+0 5:r110-120/a/10+0");
}

static int is_overflow(void *user, const struct slice *slice)
{
	*(unsigned int *)user += slice->stint->flags == (STINT_IS_CHARGED | STINT_IS_OVERFLOW);
	return 0;
}

FIXTURE_TEST(stints_before_overflow_charge_are_flagged_overflow)
{
	struct stint last = charged(ran(THREAD, 0, 110, 10, 0), 0xa, EPOCH);
	unsigned int count = 0;

	add(ran(THREAD, 0, 100, 10, 0));
	last.flags |= STINT_IS_OVERFLOW;
	add(last);
	stints_settle(stints, EPOCH);
	assert_int_equal(stints_each(stints, is_overflow, &count), 0);
	assert_int_equal(count, 2);
}

FIXTURE_TEST(stints_wait_for_charge_in_later_window)
{
	add(ran(THREAD, 3, 100, 10, 0));
	expect_window(EPOCH, "");
	assert_int_equal(stints_take_lost(stints, LIFE), 0);
	add(ran(THREAD + 1, 0, 50, 10, 0));
	add(charged(ran(THREAD, 3, 110, 0, 0), 0xa, EPOCH + 1));
	expect_window(EPOCH + 1, " 5:r100-110/a/10+0");
	/* One that was late for its window is of the next one. */
	add(charged(ran(THREAD + 1, 0, 60, 2, 0), 0xb, EPOCH + 1));
	expect_window(EPOCH + 2, " 6:r50-60/b/10+0 6:r60-62/b/2+0");
	/* Epochs are compared as they wrap around. */
	add(charged(ran(THREAD, 4, 200, 1, 0), 0xa, UINT32_MAX));
	expect_window(0, " 5:r200-201/a/1+0");
}

FIXTURE_TEST(stints_without_reported_charge_are_lost)
{
	add(ran(THREAD, 0, 100, 10, 0));
	add(ran(THREAD, 0, 110, 10, 0));
	add(charged(ran(THREAD, 1, 120, 5, 0), 0xa, EPOCH));
	stints_settle(stints, EPOCH);
	assert_int_equal(stints_take_lost(stints, LIFE), 2);
	stints_next(stints);
	add(ran(THREAD, 1, 100, 10, 0));
	add(charged(ran(THREAD, 2, 120, 5, 0), 0xa, EPOCH));
	expect_window(EPOCH, " 5:r120-125/a/5+0");
	/* Nobody asked: forgotten. */
	assert_int_equal(stints_take_lost(stints, LIFE), 0);
	add(ran(THREAD, 2, 100, 10, 0));
	add((struct stint){ .thread_serial = THREAD,
			    .life = OTHER_LIFE,
			    .charge = 2,
			    .end_ns = 10,
			    .sleeping_ns = 1,
			    .run_queue_ns = 2,
			    .user_ns = 3 });
	add(charged(ran(THREAD, 3, 120, 5, 0), 0xa, EPOCH + 1));
	stints_settle(stints, EPOCH + 1);
	assert_int_equal(stints_take_lost(stints, LIFE), 1);
	assert_int_equal(stints_take_lost(stints, LIFE), 0);
	assert_int_equal(stints_take_lost(stints, OTHER_LIFE), 3);
}

FIXTURE_TEST(stints_never_charged_are_lost_after_60_windows)
{
	uint32_t window = 0;

	add(ran(THREAD, 0, 100, 10, 0));
	add(ran(THREAD + 1, 0, 100, 10, 0));
	for (; window < 60; window++) {
		stints_settle(stints, window);
		assert_int_equal(stints_take_lost(stints, LIFE), 0);
		stints_next(stints);
	}
	stints_settle(stints, window);
	assert_int_equal(stints_take_lost(stints, LIFE), 2);
	stints_next(stints);
	/* Once. */
	stints_settle(stints, window + 1);
	assert_int_equal(stints_take_lost(stints, LIFE), 0);
}

FIXTURE_TEST(stints_deduct_taken_time_from_last_stints_of_account)
{
	struct stint last = charged(ran(THREAD, 0, 130, 0, 0), 0xa, EPOCH);

	add(ran(THREAD, 0, 100, 50, 20));
	add(charged(ran(THREAD, 0, 200, 4, 6), 0xa, EPOCH));
	/* Of another context, of another thread, and waiting. */
	add(charged(ran(THREAD, 1, 210, 50, 0), 0xb, EPOCH));
	add(charged(ran(THREAD + 1, 0, 211, 50, 0), 0xa, EPOCH));
	last.charge = 2;
	last.taken_ns = 25;
	add(last);
	add(ran(THREAD, 3, 300, 9, 0));
	expect_window(EPOCH, " 5:r100-170/a/35+20 5:r210-260/b/50+0 6:r211-261/a/50+0");
	add(charged(ran(THREAD, 3, 309, 1, 0), 0xa, EPOCH + 1));
	expect_window(EPOCH + 1, " 5:r300-309/a/9+0 5:r309-310/a/1+0");
}

/* Told by itself, in the middle of what another account is charged. */
FIXTURE_TEST(stints_deduct_take_back_event_from_its_account)
{
	struct stint back = { .thread_serial = THREAD,
			      .life = LIFE,
			      .charge = 1,
			      .start_ns = 210,
			      .end_ns = 210,
			      .context_hash = 0xa,
			      .epoch = EPOCH,
			      .taken_ns = 25,
			      .flags = STINT_TAKES_BACK };

	add(charged(ran(THREAD, 0, 100, 50, 20), 0xa, EPOCH));
	add(ran(THREAD, 1, 200, 10, 0));
	add(back);
	add(charged(ran(THREAD, 1, 210, 30, 0), 0xb, EPOCH));
	expect_window(EPOCH, " 5:r100-170/a/25+20 5:r200-210/b/10+0 5:r210-240/b/30+0");
	assert_int_equal(stints_take_lost(stints, LIFE), 0);
}

FIXTURE_TEST(stints_deduct_nothing_from_other_accounts)
{
	struct stint poor = charged(ran(THREAD, 1, 200, 10, 0), 0xb, EPOCH);

	add(charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH));
	poor.taken_ns = 30;
	add(poor);
	/* Of the same context, but another thread. */
	poor.thread_serial = THREAD + 1;
	poor.charge = 0;
	poor.start_ns = 210;
	add(poor);
	expect_window(EPOCH, " 5:r100-150/a/50+0");
}

FIXTURE_TEST(stints_deduct_one_nanosecond_from_only_stint)
{
	struct stint only = charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH);

	only.taken_ns = 1;
	add(only);
	expect_window(EPOCH, " 5:r100-150/a/49+0");
}

FIXTURE_TEST(stints_deduct_once_from_stints_of_later_window)
{
	struct stint now = charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH);
	struct stint later = charged(ran(THREAD, 1, 200, 50, 0), 0xa, EPOCH + 1);

	now.taken_ns = 5;
	later.taken_ns = 10;
	add(now);
	add(later);
	expect_window(EPOCH, " 5:r100-150/a/45+0");
	expect_window(EPOCH + 1, " 5:r200-250/a/40+0");
}

FIXTURE_TEST(stints_deduct_nothing_from_another_window)
{
	struct stint last = charged(ran(THREAD, 1, 130, 5, 0), 0xa, EPOCH + 1);

	add(charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH));
	last.taken_ns = 100;
	add(last);
	add(charged(ran(THREAD, 2, 135, 7, 0), 0xa, EPOCH + 1));
	expect_window(EPOCH, " 5:r100-150/a/50+0");
	/* But of one that comes behind neither. */
	expect_window(EPOCH + 1, " 5:r135-142/a/7+0");
}

FIXTURE_TEST(stints_split_into_sleeping_waiting_and_running_slices)
{
	struct stint stint = { .thread_serial = THREAD,
			       .start_ns = 100,
			       .end_ns = 200,
			       .sleeping_ns = 10,
			       .uninterruptible_ns = 20,
			       .run_queue_ns = 30,
			       .user_ns = 15,
			       .kernel_ns = 16,
			       .woken_by = 7 };

	/* What was stolen is in the running one. */
	add(charged(stint, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/15+16 5:U110-130/a/15+16 5:q130-160/a/15+16<7"
			     " 5:r160-200/a/15+16");
	stint.run_queue_ns = 0;
	add(charged(stint, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/15+16 5:U110-130/a/15+16 5:r130-200/a/15+16<7");
	stint.user_ns = stint.kernel_ns = 0;
	add(charged(stint, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/0+0 5:U110-130/a/0+0");
	/* None reaches beyond its end. */
	stint.user_ns = 1;
	stint.run_queue_ns = 80;
	add(charged(stint, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/1+0 5:U110-130/a/1+0 5:q130-200/a/1+0<7"
			     " 5:r200-200/a/1+0");
}

FIXTURE_TEST(stints_emit_slices_in_time_order)
{
	struct stint slept = ran(THREAD, 0, 100, 10, 0);

	slept.sleeping_ns = 50;
	slept.end_ns = 160;
	add(charged(slept, 0xa, EPOCH));
	add(charged(ran(THREAD + 1, 0, 120, 10, 0), 0xb, EPOCH));
	add(charged(ran(THREAD + 2, 0, 100, 10, 0), 0xc, EPOCH));
	expect_window(EPOCH, " 7:r100-110/c/10+0 5:b100-150/a/10+0 6:r120-130/b/10+0"
			     " 5:r150-160/a/10+0");
}

static int end_at_second(void *user, const struct slice *slice)
{
	(void)slice;
	return ++*(int *)user == 2 ? -EPIPE : 0;
}

FIXTURE_TEST(stints_each_stops_when_callback_fails)
{
	int count = 0;

	for (uint64_t i = 0; i < 5; i++)
		add(charged(ran(THREAD, 0, 100 + i, 1, 0), 0xa, EPOCH));
	stints_settle(stints, EPOCH);
	assert_int_equal(stints_each(stints, end_at_second, &count), -EPIPE);
	assert_int_equal(count, 2);
}

static int count_slice(void *user, const struct slice *slice)
{
	(void)slice;
	++*(unsigned int *)user;
	return 0;
}

FIXTURE_TEST(stints_over_capacity_are_lost_and_counted)
{
	unsigned int count = 0;

	for (uint64_t i = 0; i < ROOM + 7; i++)
		add(charged(ran(THREAD, 0, 100 + i, 1, 0), 0xa, EPOCH));
	stints_settle(stints, EPOCH);
	assert_int_equal(stints_each(stints, count_slice, &count), 0);
	assert_int_equal(count, ROOM);
	assert_int_equal(stints_take_lost(stints, LIFE), 7);
	stints_next(stints);
	/* There is room again. */
	add(charged(ran(THREAD, 0, 100, 1, 0), 0xa, EPOCH));
	expect_window(EPOCH, " 5:r100-101/a/1+0");
}

FIXTURE_TEST(stints_waiting_for_later_window_are_emitted_once)
{
	add(charged(ran(THREAD, 0, 100, 1, 0), 0xa, EPOCH));
	add(ran(THREAD + 1, 0, 110, 1, 0));
	expect_window(EPOCH, " 5:r100-101/a/1+0");
	expect_window(EPOCH + 1, "");
	add(charged(ran(THREAD + 1, 0, 111, 1, 0), 0xb, EPOCH + 2));
	expect_window(EPOCH + 2, " 6:r110-111/b/1+0 6:r111-112/b/1+0");
}

FIXTURE_TEST(stints_within_allocated_capacity_need_no_memory)
{
	add(charged(ran(THREAD, 0, 100, 1, 0), 0xa, EPOCH));
	add(charged(ran(THREAD, 1, 101, 1, 0), 0xa, EPOCH));
	add(charged(ran(THREAD, 2, 102, 1, 0), 0xa, EPOCH));
	memory_fails_after(0);
	add(charged(ran(THREAD, 3, 103, 1, 0), 0xa, EPOCH));
	memory_never_fails();
	expect_window(EPOCH, " 5:r100-101/a/1+0 5:r101-102/a/1+0 5:r102-103/a/1+0 "
			     "5:r103-104/a/1+0");
}

FIXTURE_TEST(stints_lost_without_memory_for_counter_are_not_counted)
{
	struct stints *none = stints_new(0);
	const struct stint stint = ran(THREAD, 0, 100, 1, 0);

	assert_non_null(none);
	for (size_t successes = 0; successes < 2; successes++) {
		memory_fails_once_after(successes);
		stints_add(none, &stint);
		assert_true(memory_failures() > 0);
		memory_never_fails();
		assert_int_equal(stints_take_lost(none, LIFE), 0);
	}
	/* With memory they are; who is never asked of goes with all. */
	stints_add(none, &stint);
	stints_free(none);
}

FIXTURE_TEST(stints_return_enomem_and_keep_remaining_stints)
{
	memory_fails_after(0);
	assert_null(stints_new(1));
	/* Once for their room; the count of what is lost finds some. */
	memory_fails_after(0);
	add(ran(THREAD, 0, 100, 1, 0));
	memory_never_fails();
	add(charged(ran(THREAD, 0, 101, 1, 0), 0xa, EPOCH));
	memory_fails_after(0);
	stints_settle(stints, EPOCH);
	assert_int_equal(stints_each(stints, count_slice, NULL), -ENOMEM);
	memory_never_fails();
	expect_window(EPOCH, " 5:r101-102/a/1+0");
	stints_free(NULL);
}
