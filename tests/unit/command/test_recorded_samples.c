/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/recorded_samples.h"

#include <string.h>

#include "unit_test.h"

#include "ears.h"

static char said[4096];
static enum stacks_measure measure;

static void warn(bool is_none, uint64_t samples_left_out, uint64_t cpu_records_left_out)
{
	struct ears ears = ears_open();

	recorded_samples_warn(measure, is_none, samples_left_out, cpu_records_left_out);
	ears_close(&ears, said, sizeof(said));
}

TEST(samples_complete_give_no_warning)
{
	warn(false, 0, 0);
	assert_string_equal(said, "");
}

TEST(samples_missing_warning_suggests_stacks_option)
{
	warn(true, 0, 0);
	assert_non_null(strstr(said, "record with --stacks"));
	assert_null(strstr(said, "no room"));
}

TEST(samples_dropped_warning_reports_counts)
{
	warn(false, 3, 0);
	assert_non_null(strstr(said, " 3 samples found no room, and the CPU of 0 records"));
	assert_null(strstr(said, "record with --stacks"));
	warn(false, 0, 1);
	assert_non_null(strstr(said, " 0 samples found no room, and the CPU of 1 records"));
}

TEST(samples_warning_for_off_cpu_uses_wait_wording)
{
	measure = STACKS_OFF_CPU;
	warn(true, 0, 0);
	assert_non_null(strstr(said, "record with --stacks=off-cpu"));
	warn(false, 3, 1);
	assert_non_null(strstr(said, " 3 waits found no room, and the time of 1 records counts as "
				     "in no stack"));
	measure = STACKS_CPU;
}
