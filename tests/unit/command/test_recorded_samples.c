/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/recorded_samples.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ears.h"

static char said[4096];
static enum stacks_measure measure;

static void warn(bool is_none, uint64_t samples_left_out, uint64_t cpu_records_left_out)
{
	struct ears ears = ears_open();

	recorded_samples_warn(measure, is_none, samples_left_out, cpu_records_left_out);
	ears_close(&ears, said, sizeof(said));
}

static void samples_complete_give_no_warning(void **state)
{
	(void)state;
	warn(false, 0, 0);
	assert_string_equal(said, "");
}

static void samples_missing_warning_suggests_stacks_option(void **state)
{
	(void)state;
	warn(true, 0, 0);
	assert_non_null(strstr(said, "record with --stacks"));
	assert_null(strstr(said, "no room"));
}

static void samples_dropped_warning_reports_counts(void **state)
{
	(void)state;
	warn(false, 3, 0);
	assert_non_null(strstr(said, " 3 samples found no room, and the CPU of 0 records"));
	assert_null(strstr(said, "record with --stacks"));
	warn(false, 0, 1);
	assert_non_null(strstr(said, " 0 samples found no room, and the CPU of 1 records"));
}

static void samples_warning_for_off_cpu_uses_wait_wording(void **state)
{
	(void)state;
	measure = STACKS_OFF_CPU;
	warn(true, 0, 0);
	assert_non_null(strstr(said, "record with --stacks=off-cpu"));
	warn(false, 3, 1);
	assert_non_null(strstr(said, " 3 waits found no room, and the time of 1 records counts as "
				     "in no stack"));
	measure = STACKS_CPU;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_warning_for_off_cpu_uses_wait_wording),
		cmocka_unit_test(samples_complete_give_no_warning),
		cmocka_unit_test(samples_missing_warning_suggests_stacks_option),
		cmocka_unit_test(samples_dropped_warning_reports_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
