/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/gvl_futex.h>

#include "unit_test.h"

enum {
	OTHER = 0x4000, /* node of another thread that waits */
};

#define NODE	       UINT64_C(0x55bb0853e988)
#define FIRST_WORD     (NODE + 56)
#define THREAD_POINTER UINT64_C(0x7fe8849106c0)

/* Of a thread of Ruby 3.1 that waits for the GVL. */
static const struct gvl_node waiting = { THREAD_POINTER, 0x11000014e7, 0, OTHER, OTHER };

static int is_wait(const struct gvl_node *around, uint64_t previous_of_next)
{
	return gvl_futex_is_wait(around, previous_of_next, FIRST_WORD, THREAD_POINTER);
}

TEST(gvl_futex_is_wait_if_own_node_is_in_a_list)
{
	struct gvl_node older = { 0x181, THREAD_POINTER, 0x11, OTHER, OTHER };

	assert_true(is_wait(&waiting, NODE));
	assert_true(is_wait(&older, NODE));
	/* The condition variable uses its two words in turn. */
	assert_true(gvl_futex_is_wait(&waiting, NODE, FIRST_WORD + 4, THREAD_POINTER));
	assert_int_equal(gvl_futex_around(FIRST_WORD), NODE - 24);
	assert_int_equal(gvl_futex_around(FIRST_WORD + 4), NODE - 24);
}

TEST(gvl_futex_is_wait_if_thread_pointer_is_behind_its_structure)
{
	struct gvl_node of_arm64 = waiting;

	of_arm64.thread_id = THREAD_POINTER - 0x700;
	assert_true(is_wait(&of_arm64, NODE));
	of_arm64.thread_id = THREAD_POINTER - GVL_THREAD_BYTES_MAX;
	assert_false(is_wait(&of_arm64, NODE));
	of_arm64.thread_id = THREAD_POINTER + 8;
	assert_false(is_wait(&of_arm64, NODE));
}

TEST(gvl_futex_of_a_sleep_is_none)
{
	struct gvl_node sleeping = waiting;

	sleeping.next = sleeping.previous = NODE;
	assert_false(is_wait(&sleeping, NODE));
}

TEST(gvl_futex_without_a_list_or_the_own_thread_is_none)
{
	struct gvl_node other = waiting;

	assert_false(is_wait(&waiting, NODE + 8));
	assert_false(is_wait(&waiting, 0));
	other.thread_id = other.former_thread_id = THREAD_POINTER + 0x1000;
	assert_false(is_wait(&other, NODE));
	other.thread_id = other.former_thread_id = 0;
	assert_false(is_wait(&other, NODE));
}
