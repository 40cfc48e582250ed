/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/slices.h"

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

static struct slices *slices;
static char seen[4096];

static int set_up(void **state)
{
	(void)state;
	slices = slices_new(ROOM);
	return slices ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	memory_never_fails();
	slices_free(slices);
	return 0;
}

/* One that ran for a while from start_ns on. */
static struct slice ran(uint64_t thread, uint32_t charge, uint64_t start_ns, uint64_t user_ns,
			uint64_t kernel_ns)
{
	return (struct slice){ .thread_serial = thread,
			       .life = LIFE,
			       .charge = charge,
			       .start_ns = start_ns,
			       .end_ns = start_ns + user_ns + kernel_ns,
			       .user_ns = user_ns,
			       .kernel_ns = kernel_ns };
}

static struct slice charged(struct slice slice, uint64_t hash, uint32_t epoch)
{
	slice.flags |= SLICE_IS_CHARGED;
	slice.context_hash = hash;
	slice.epoch = epoch;
	return slice;
}

static void add(struct slice slice)
{
	slices_add(slices, &slice);
}

static int print(void *user, const struct slice_piece *piece)
{
	static const char states[] = "rqbU"; /* by enum sched_state */
	size_t used = strlen(seen);

	(void)user;
	(void)snprintf(seen + used, sizeof(seen) - used, " %llu:%c%lu-%lu/%llx/%llu+%llu",
		       piece->slice->thread_serial, states[piece->state],
		       (unsigned long)piece->start_ns, (unsigned long)piece->end_ns,
		       piece->slice->context_hash, piece->slice->user_ns, piece->slice->kernel_ns);
	if (piece->woken_by)
		(void)snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "<%lu",
			       (unsigned long)piece->woken_by);
	return 0;
}

/* The window's pieces, in a line: thread, state, from and to, context, user + kernel, waker. */
static void expect_window(uint32_t epoch, const char *expected)
{
	seen[0] = '\0';
	slices_settle(slices, epoch);
	assert_int_equal(slices_each(slices, print, NULL), 0);
	assert_string_equal(seen, expected);
	slices_next(slices);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(slices_take_context_from_next_charge_of_their_thread)
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

FIXTURE_TEST(slices_take_overflow_and_window_of_their_charge)
{
	struct slice last = charged(ran(THREAD, 0, 110, 10, 0), 0xa, EPOCH + 1);

	add(ran(THREAD, 0, 100, 10, 0));
	last.flags |= SLICE_IS_OVERFLOW;
	add(last);
	/* Charged to the next window already. */
	expect_window(EPOCH, "");
	slices_settle(slices, EPOCH + 1);
	seen[0] = '\0';
	assert_int_equal(slices_each(slices, print, NULL), 0);
	assert_string_equal(seen, " 5:r100-110/a/10+0 5:r110-120/a/10+0");
}

static int is_overflow(void *user, const struct slice_piece *piece)
{
	*(unsigned int *)user += piece->slice->flags == (SLICE_IS_CHARGED | SLICE_IS_OVERFLOW);
	return 0;
}

FIXTURE_TEST(slices_before_overflow_charge_are_flagged_overflow)
{
	struct slice last = charged(ran(THREAD, 0, 110, 10, 0), 0xa, EPOCH);
	unsigned int count = 0;

	add(ran(THREAD, 0, 100, 10, 0));
	last.flags |= SLICE_IS_OVERFLOW;
	add(last);
	slices_settle(slices, EPOCH);
	assert_int_equal(slices_each(slices, is_overflow, &count), 0);
	assert_int_equal(count, 2);
}

FIXTURE_TEST(slices_wait_for_charge_in_later_window)
{
	add(ran(THREAD, 3, 100, 10, 0));
	expect_window(EPOCH, "");
	assert_int_equal(slices_take_lost(slices, LIFE), 0);
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

FIXTURE_TEST(slices_without_reported_charge_are_lost)
{
	add(ran(THREAD, 0, 100, 10, 0));
	add(ran(THREAD, 0, 110, 10, 0));
	add(charged(ran(THREAD, 1, 120, 5, 0), 0xa, EPOCH));
	slices_settle(slices, EPOCH);
	assert_int_equal(slices_take_lost(slices, LIFE), 2);
	slices_next(slices);
	add(ran(THREAD, 1, 100, 10, 0));
	add(charged(ran(THREAD, 2, 120, 5, 0), 0xa, EPOCH));
	expect_window(EPOCH, " 5:r120-125/a/5+0");
	/* Nobody asked: forgotten. */
	assert_int_equal(slices_take_lost(slices, LIFE), 0);
	add(ran(THREAD, 2, 100, 10, 0));
	add((struct slice){ .thread_serial = THREAD,
			    .life = OTHER_LIFE,
			    .charge = 2,
			    .end_ns = 10,
			    .sleeping_ns = 1,
			    .run_queue_ns = 2,
			    .user_ns = 3 });
	add(charged(ran(THREAD, 3, 120, 5, 0), 0xa, EPOCH + 1));
	slices_settle(slices, EPOCH + 1);
	assert_int_equal(slices_take_lost(slices, LIFE), 1);
	assert_int_equal(slices_take_lost(slices, LIFE), 0);
	assert_int_equal(slices_take_lost(slices, OTHER_LIFE), 3);
}

FIXTURE_TEST(slices_never_charged_are_lost_after_60_windows)
{
	uint32_t window = 0;

	add(ran(THREAD, 0, 100, 10, 0));
	add(ran(THREAD + 1, 0, 100, 10, 0));
	for (; window < 60; window++) {
		slices_settle(slices, window);
		assert_int_equal(slices_take_lost(slices, LIFE), 0);
		slices_next(slices);
	}
	slices_settle(slices, window);
	assert_int_equal(slices_take_lost(slices, LIFE), 2);
	slices_next(slices);
	/* Once. */
	slices_settle(slices, window + 1);
	assert_int_equal(slices_take_lost(slices, LIFE), 0);
}

FIXTURE_TEST(slices_deduct_taken_time_from_last_slices_of_account)
{
	struct slice last = charged(ran(THREAD, 0, 130, 0, 0), 0xa, EPOCH);

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
FIXTURE_TEST(slices_deduct_take_back_event_from_its_account)
{
	struct slice back = { .thread_serial = THREAD,
			      .life = LIFE,
			      .charge = 1,
			      .start_ns = 210,
			      .end_ns = 210,
			      .context_hash = 0xa,
			      .epoch = EPOCH,
			      .taken_ns = 25,
			      .flags = SLICE_TAKES_BACK };

	add(charged(ran(THREAD, 0, 100, 50, 20), 0xa, EPOCH));
	add(ran(THREAD, 1, 200, 10, 0));
	add(back);
	add(charged(ran(THREAD, 1, 210, 30, 0), 0xb, EPOCH));
	expect_window(EPOCH, " 5:r100-170/a/25+20 5:r200-210/b/10+0 5:r210-240/b/30+0");
	assert_int_equal(slices_take_lost(slices, LIFE), 0);
}

FIXTURE_TEST(slices_deduct_nothing_from_other_accounts)
{
	struct slice poor = charged(ran(THREAD, 1, 200, 10, 0), 0xb, EPOCH);

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

FIXTURE_TEST(slices_deduct_one_nanosecond_from_only_slice)
{
	struct slice only = charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH);

	only.taken_ns = 1;
	add(only);
	expect_window(EPOCH, " 5:r100-150/a/49+0");
}

FIXTURE_TEST(slices_deduct_once_from_slices_of_later_window)
{
	struct slice now = charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH);
	struct slice later = charged(ran(THREAD, 1, 200, 50, 0), 0xa, EPOCH + 1);

	now.taken_ns = 5;
	later.taken_ns = 10;
	add(now);
	add(later);
	expect_window(EPOCH, " 5:r100-150/a/45+0");
	expect_window(EPOCH + 1, " 5:r200-250/a/40+0");
}

FIXTURE_TEST(slices_deduct_nothing_from_another_window)
{
	struct slice last = charged(ran(THREAD, 1, 130, 5, 0), 0xa, EPOCH + 1);

	add(charged(ran(THREAD, 0, 100, 50, 0), 0xa, EPOCH));
	last.taken_ns = 100;
	add(last);
	add(charged(ran(THREAD, 2, 135, 7, 0), 0xa, EPOCH + 1));
	expect_window(EPOCH, " 5:r100-150/a/50+0");
	/* But of one that comes behind neither. */
	expect_window(EPOCH + 1, " 5:r135-142/a/7+0");
}

FIXTURE_TEST(slices_split_into_sleeping_waiting_and_running_pieces)
{
	struct slice slice = { .thread_serial = THREAD,
			       .start_ns = 100,
			       .end_ns = 200,
			       .sleeping_ns = 10,
			       .uninterruptible_ns = 20,
			       .run_queue_ns = 30,
			       .user_ns = 15,
			       .kernel_ns = 16,
			       .woken_by = 7 };

	/* What was stolen is in the running one. */
	add(charged(slice, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/15+16 5:U110-130/a/15+16 5:q130-160/a/15+16<7"
			     " 5:r160-200/a/15+16");
	slice.run_queue_ns = 0;
	add(charged(slice, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/15+16 5:U110-130/a/15+16 5:r130-200/a/15+16<7");
	slice.user_ns = slice.kernel_ns = 0;
	add(charged(slice, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/0+0 5:U110-130/a/0+0");
	/* None reaches beyond its end. */
	slice.user_ns = 1;
	slice.run_queue_ns = 80;
	add(charged(slice, 0xa, EPOCH));
	expect_window(EPOCH, " 5:b100-110/a/1+0 5:U110-130/a/1+0 5:q130-200/a/1+0<7"
			     " 5:r200-200/a/1+0");
}

FIXTURE_TEST(slices_emit_pieces_in_time_order)
{
	struct slice slept = ran(THREAD, 0, 100, 10, 0);

	slept.sleeping_ns = 50;
	slept.end_ns = 160;
	add(charged(slept, 0xa, EPOCH));
	add(charged(ran(THREAD + 1, 0, 120, 10, 0), 0xb, EPOCH));
	add(charged(ran(THREAD + 2, 0, 100, 10, 0), 0xc, EPOCH));
	expect_window(EPOCH, " 7:r100-110/c/10+0 5:b100-150/a/10+0 6:r120-130/b/10+0"
			     " 5:r150-160/a/10+0");
}

static int end_at_second(void *user, const struct slice_piece *piece)
{
	(void)piece;
	return ++*(int *)user == 2 ? -EPIPE : 0;
}

FIXTURE_TEST(slices_each_stops_when_callback_fails)
{
	int count = 0;

	for (uint64_t i = 0; i < 5; i++)
		add(charged(ran(THREAD, 0, 100 + i, 1, 0), 0xa, EPOCH));
	slices_settle(slices, EPOCH);
	assert_int_equal(slices_each(slices, end_at_second, &count), -EPIPE);
	assert_int_equal(count, 2);
}

static int count_piece(void *user, const struct slice_piece *piece)
{
	(void)piece;
	++*(unsigned int *)user;
	return 0;
}

FIXTURE_TEST(slices_over_capacity_are_lost_and_counted)
{
	unsigned int count = 0;

	for (uint64_t i = 0; i < ROOM + 7; i++)
		add(charged(ran(THREAD, 0, 100 + i, 1, 0), 0xa, EPOCH));
	slices_settle(slices, EPOCH);
	assert_int_equal(slices_each(slices, count_piece, &count), 0);
	assert_int_equal(count, ROOM);
	assert_int_equal(slices_take_lost(slices, LIFE), 7);
	slices_next(slices);
	/* There is room again. */
	add(charged(ran(THREAD, 0, 100, 1, 0), 0xa, EPOCH));
	expect_window(EPOCH, " 5:r100-101/a/1+0");
}

FIXTURE_TEST(slices_waiting_for_later_window_are_emitted_once)
{
	add(charged(ran(THREAD, 0, 100, 1, 0), 0xa, EPOCH));
	add(ran(THREAD + 1, 0, 110, 1, 0));
	expect_window(EPOCH, " 5:r100-101/a/1+0");
	expect_window(EPOCH + 1, "");
	add(charged(ran(THREAD + 1, 0, 111, 1, 0), 0xb, EPOCH + 2));
	expect_window(EPOCH + 2, " 6:r110-111/b/1+0 6:r111-112/b/1+0");
}

FIXTURE_TEST(slices_within_allocated_capacity_need_no_memory)
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

FIXTURE_TEST(slices_lost_without_memory_for_counter_are_not_counted)
{
	struct slices *none = slices_new(0);
	const struct slice slice = ran(THREAD, 0, 100, 1, 0);

	assert_non_null(none);
	for (size_t successes = 0; successes < 2; successes++) {
		memory_fails_once_after(successes);
		slices_add(none, &slice);
		assert_true(memory_failures() > 0);
		memory_never_fails();
		assert_int_equal(slices_take_lost(none, LIFE), 0);
	}
	/* With memory they are; who is never asked of goes with all. */
	slices_add(none, &slice);
	slices_free(none);
}

FIXTURE_TEST(slices_return_enomem_and_keep_remaining_slices)
{
	memory_fails_after(0);
	assert_null(slices_new(1));
	/* Once for their room; the count of what is lost finds some. */
	memory_fails_after(0);
	add(ran(THREAD, 0, 100, 1, 0));
	memory_never_fails();
	add(charged(ran(THREAD, 0, 101, 1, 0), 0xa, EPOCH));
	memory_fails_after(0);
	slices_settle(slices, EPOCH);
	assert_int_equal(slices_each(slices, count_piece, NULL), -ENOMEM);
	memory_never_fails();
	expect_window(EPOCH, " 5:r101-102/a/1+0");
	slices_free(NULL);
}
