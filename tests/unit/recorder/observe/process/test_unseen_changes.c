/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/unseen_changes.h"

#include "unit_test.h"

TEST(unseen_changes_trigger_above_share_of_stints)
{
	struct unseen_changes unseen = { 0 };

	assert_false(unseen_changes_tell(&unseen));
	unseen_changes_add(&unseen, UNSEEN_CHANGES_MIN - 1, UNSEEN_CHANGES_MIN - 1);
	assert_false(unseen_changes_tell(&unseen));
	unseen_changes_add(&unseen, 1, 0);
	assert_true(unseen_changes_tell(&unseen));
	unseen_changes_add(&unseen, 0,
			   UNSEEN_CHANGES_MIN * UNSEEN_CHANGES_SHARE - UNSEEN_CHANGES_MIN + 1);
	assert_true(unseen_changes_tell(&unseen));
	unseen_changes_add(&unseen, 0, 1);
	assert_false(unseen_changes_tell(&unseen));
}

/* A race now and then is none, however long it goes on. */
TEST(unseen_changes_tolerate_rare_changes)
{
	struct unseen_changes unseen = { 0 };

	for (int window = 0; window < 1000; window++) {
		unseen_changes_add(&unseen, 1, 100);
		assert_false(unseen_changes_tell(&unseen));
		assert_in_range(unseen.stints, 100, UNSEEN_CHANGES_STINTS_MAX);
	}
}

TEST(unseen_changes_trigger_despite_long_clean_history)
{
	struct unseen_changes unseen = { 0 };
	int windows = 0;

	unseen_changes_add(&unseen, 0, UINT64_C(1) << 40);
	for (; !unseen_changes_tell(&unseen); windows++)
		unseen_changes_add(&unseen, 10, 20);
	assert_in_range(windows, 2, 20);
}
