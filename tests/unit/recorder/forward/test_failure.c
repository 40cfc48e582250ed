/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/forward/failure.h"

#define SECOND_NS ((uint64_t)1000000000)

TEST(failure_report_logs_failure_and_recovery_once)
{
	struct failure_report report = { 0 };

	assert_true(failure_report_acked(&report, 1));
	assert_false(failure_report_acked(&report, 2));
	assert_true(failure_report_failed(&report, FAILURE_CONNECT, 3));
	for (uint64_t now_ns = 4; now_ns < 3600 * SECOND_NS; now_ns += SECOND_NS)
		assert_false(failure_report_failed(&report, FAILURE_CONNECT, now_ns));
	assert_true(failure_report_failed(&report, FAILURE_SILENT, 3600 * SECOND_NS));
	assert_true(failure_report_acked(&report, 3601 * SECOND_NS));
	assert_false(failure_report_acked(&report, 3602 * SECOND_NS));
}

TEST(failure_report_limits_rate_of_flapping_failure)
{
	struct failure_report report = { 0 };
	unsigned int lines = 0;

	for (uint64_t second = 1; second <= 600; second++) {
		lines += failure_report_failed(&report, FAILURE_CLOSED, second * SECOND_NS);
		lines += failure_report_acked(&report, second * SECOND_NS + 1);
	}
	/* Twice a minute, and the first success. */
	assert_in_range(lines, 20, 24);
}

/* Whatever the tries are: the last line is never "delivering" for long while nothing is. */
TEST(failure_report_logs_second_outage_only_if_it_lasts)
{
	struct failure_report report = { 0 };
	uint64_t second = 1;

	assert_true(failure_report_failed(&report, FAILURE_CONNECT, second * SECOND_NS));
	assert_true(failure_report_acked(&report, ++second * SECOND_NS));
	for (second = 3; second < 8; second++)
		assert_false(failure_report_failed(&report, FAILURE_CONNECT, second * SECOND_NS));
	assert_true(failure_report_failed(&report, FAILURE_CONNECT, second * SECOND_NS));
	for (; second < 600; second++)
		assert_false(failure_report_failed(&report, FAILURE_CONNECT, second * SECOND_NS));
	assert_true(failure_report_acked(&report, second * SECOND_NS));
}

TEST(failure_report_ignores_cancellation)
{
	struct failure_report report = { 0 };

	assert_false(failure_report_failed(&report, FAILURE_CANCELLED, 1));
	assert_true(failure_report_acked(&report, 2));
}
