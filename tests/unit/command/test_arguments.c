#include "command/arguments.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/log.h"

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
		cmocka_unit_test(other_options_are_left_to_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
