/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/unseen_changes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void a_good_part_of_the_stints_tells(void **state)
{
	struct unseen_changes unseen = { 0 };

	(void)state;
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
static void a_few_among_many_do_not(void **state)
{
	struct unseen_changes unseen = { 0 };

	(void)state;
	for (int window = 0; window < 1000; window++) {
		unseen_changes_add(&unseen, 1, 100);
		assert_false(unseen_changes_tell(&unseen));
		assert_in_range(unseen.stints, 100, UNSEEN_CHANGES_STINTS_MAX);
	}
}

static void what_was_right_for_long_does_not_hide_what_is_wrong_now(void **state)
{
	struct unseen_changes unseen = { 0 };
	int windows = 0;

	(void)state;
	unseen_changes_add(&unseen, 0, UINT64_C(1) << 40);
	for (; !unseen_changes_tell(&unseen); windows++)
		unseen_changes_add(&unseen, 10, 20);
	assert_in_range(windows, 2, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_good_part_of_the_stints_tells),
		cmocka_unit_test(a_few_among_many_do_not),
		cmocka_unit_test(what_was_right_for_long_does_not_hide_what_is_wrong_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
