/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/arguments.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/log.h"
#include "ears.h"

static void only_positive_numbers_are_pids(void **state)
{
	static const char *const cases[] = { "", "x", "12x", "0", "-5", "99999999999", "1.5" };
	pid_t pid = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(arguments_parse_pid(cases[i], &pid), -EINVAL);
	assert_int_equal(pid, 42);
	assert_int_equal(arguments_parse_pid("1234", &pid), 0);
	assert_int_equal(pid, 1234);
}

static void numbers_are_decimal_and_of_a_range(void **state)
{
	static const char *const cases[] = { "",    "x",   "9x",
					     "1.5", "-1",  " -1",
					     "15",  "101", "99999999999999999999" };
	uint64_t number = 42;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(arguments_parse_number(cases[i], 16, 100, &number), -EINVAL);
	assert_int_equal(number, 42);
	assert_int_equal(arguments_parse_number("16", 16, 100, &number), 0);
	assert_int_equal(number, 16);
	assert_int_equal(arguments_parse_number("18446744073709551615", 0, UINT64_MAX, &number), 0);
	assert_true(number == UINT64_MAX);
	assert_int_equal(arguments_parse_number("18446744073709551616", 0, UINT64_MAX, &number),
			 -EINVAL);
	assert_int_equal(arguments_parse_number("", 0, UINT64_MAX, &number), -EINVAL);
	/* What an earlier call left is no error of this one. */
	errno = ERANGE;
	assert_int_equal(arguments_parse_number("100", 16, 100, &number), 0);
	assert_int_equal(number, 100);
}

static void refuse_time(uint64_t minimum_ns, const char *expected)
{
	struct ears ears = ears_open();
	uint64_t ns = 42;
	char said[512];

	assert_int_equal(arguments_parse_time("wait", "9x", minimum_ns, &ns), -EINVAL);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, expected);
	assert_int_equal(ns, 42);
}

static void times_have_a_least(void **state)
{
	uint64_t ns = 42;

	(void)state;
	refuse_time(1, "correlator: error: --wait 9x: not a time such as 500ms, 10s or 2m\n");
	refuse_time(ARGUMENTS_TIME_MIN_NS,
		    "correlator: error: --wait 9x: not a time such as 500ms, 10s or 2m, or too "
		    "short (10ms at least)\n");
	log_set_level(LOG_LEVEL_ERROR);
	assert_int_equal(arguments_parse_time("interval", "9ms", ARGUMENTS_TIME_MIN_NS, &ns),
			 -EINVAL);
	assert_int_equal(arguments_parse_time("duration", "0", 1, &ns), -EINVAL);
	assert_int_equal(arguments_parse_time("duration", "x", 1, &ns), -EINVAL);
	assert_int_equal(ns, 42);
	assert_int_equal(arguments_parse_time("interval", "10ms", ARGUMENTS_TIME_MIN_NS, &ns), 0);
	assert_int_equal(ns, 10000000);
	log_set_level(LOG_LEVEL_INFO);
}

/* Of three lines, after that option: the first, two or all. */
static void expect_said(char option, int count)
{
	struct ears ears = ears_open();
	char said[512];

	if (option)
		assert_true(arguments_take_verbosity(option));
	log_warning("one");
	log_info("two");
	log_debug("three");
	ears_close(&ears, said, sizeof(said));
	log_set_level(LOG_LEVEL_INFO);
	assert_non_null(strstr(said, "one"));
	assert_true((strstr(said, "two") != NULL) == (count > 1));
	assert_true((strstr(said, "three") != NULL) == (count > 2));
}

static void v_says_more_and_q_less(void **state)
{
	(void)state;
	expect_said('\0', 2);
	expect_said('v', 3);
	expect_said('q', 1);
}

static void other_options_are_left_to_others(void **state)
{
	(void)state;
	assert_false(arguments_take_verbosity('p'));
	assert_true(arguments_take_verbosity('q'));
	assert_true(arguments_take_verbosity('v'));
	log_set_level(LOG_LEVEL_INFO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_positive_numbers_are_pids),
		cmocka_unit_test(numbers_are_decimal_and_of_a_range),
		cmocka_unit_test(times_have_a_least),
		cmocka_unit_test(v_says_more_and_q_less),
		cmocka_unit_test(other_options_are_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
