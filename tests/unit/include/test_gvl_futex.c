/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/gvl_futex.h>

#include "unit_test.h"

#define OTHER	       UINT64_C(0x55bb0853f000) /* node of another thread that waits */
#define NODE	       UINT64_C(0x55bb0853e988)
#define FUTEX	       (NODE + 56)
#define THREAD_POINTER UINT64_C(0x7fe8849106c0)

/* The memory of a thread of Ruby 3.1 while it waits for the GVL. */
static const struct gvl_around waiting = { { THREAD_POINTER, 0x11000014e7, 0, OTHER, OTHER } };

static int is_linked(const struct gvl_around *around)
{
	return gvl_futex_is_linked(around, 0, FUTEX, THREAD_POINTER);
}

TEST(gvl_futex_has_linked_node_of_a_thread_that_waits)
{
	struct gvl_around former = { { 0x181, THREAD_POINTER, 0x11, OTHER, OTHER } };

	assert_true(is_linked(&waiting));
	assert_true(is_linked(&former));
	assert_true(gvl_futex_next(&waiting, 0) == OTHER);
	/* The condition variable uses its two words in turn. */
	assert_true(gvl_futex_is_linked(&waiting, 0, FUTEX + 4, THREAD_POINTER));
	assert_true(gvl_futex_node(FUTEX, 0) == NODE);
	assert_true(gvl_futex_node(FUTEX + 4, 0) == NODE);
	assert_true(gvl_futex_around(FUTEX + 4) == NODE - 24);
}

TEST(gvl_futex_has_node_nearer_since_glibc_2_41)
{
	struct gvl_around nearer = { { 0x8, THREAD_POINTER, 0x11000014e7, 100000, OTHER } };

	assert_true(gvl_futex_node(FUTEX, 1) == NODE + 8);
	assert_true(gvl_futex_is_linked(&nearer, 1, FUTEX, THREAD_POINTER));
	assert_true(gvl_futex_next(&nearer, 1) == OTHER);
	nearer.words[4] = NODE + 8;
	assert_false(gvl_futex_is_linked(&nearer, 1, FUTEX, THREAD_POINTER));
}

TEST(gvl_futex_knows_thread_whose_structure_is_before_its_pointer)
{
	struct gvl_around of_arm64 = waiting;

	of_arm64.words[0] = THREAD_POINTER - 0x700;
	assert_true(is_linked(&of_arm64));
	of_arm64.words[0] = THREAD_POINTER - GVL_THREAD_BYTES_MAX;
	assert_false(is_linked(&of_arm64));
	of_arm64.words[0] = THREAD_POINTER + 8;
	assert_false(is_linked(&of_arm64));
}

TEST(gvl_futex_of_a_sleep_has_a_node_on_its_own)
{
	struct gvl_around sleeping = waiting;

	sleeping.words[3] = sleeping.words[4] = NODE;
	assert_false(is_linked(&sleeping));
	assert_false(gvl_futex_is_linked(&sleeping, 1, FUTEX, THREAD_POINTER));
}

TEST(gvl_futex_of_another_thread_is_none)
{
	struct gvl_around other = waiting;

	other.words[0] = THREAD_POINTER + 0x1000;
	assert_false(is_linked(&other));
	other.words[0] = 0;
	assert_false(is_linked(&other));
}
