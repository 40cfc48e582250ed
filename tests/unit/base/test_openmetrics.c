/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "base/openmetrics.h"

static char *text;
static size_t size_bytes;
static FILE *out;

static int setup(void **state)
{
	(void)state;
	out = open_memstream(&text, &size_bytes);
	return out ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	(void)fclose(out);
	free(text);
	return 0;
}

static void is(const char *expected)
{
	(void)fflush(out);
	assert_string_equal(text, expected);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(openmetrics_counter_sample_ends_in_total)
{
	assert_string_equal(
		openmetrics_begin(out, false, OPENMETRICS_COUNTER, "x_seconds", "seconds", "Help."),
		"_total");
	is("# HELP x_seconds Help.\n# TYPE x_seconds counter\n# UNIT x_seconds seconds\n");
}

FIXTURE_TEST(openmetrics_old_format_counter_family_ends_in_total)
{
	assert_string_equal(
		openmetrics_begin(out, true, OPENMETRICS_COUNTER, "x_seconds", "seconds", "Help."),
		"_total");
	is("# HELP x_seconds_total Help.\n# TYPE x_seconds_total counter\n");
}

FIXTURE_TEST(openmetrics_gauge_without_unit_omits_unit_line)
{
	assert_string_equal(openmetrics_begin(out, false, OPENMETRICS_GAUGE, "x", NULL, "Help."),
			    "");
	is("# HELP x Help.\n# TYPE x gauge\n");
}

FIXTURE_TEST(openmetrics_summary_has_type_summary_and_no_suffix)
{
	assert_string_equal(openmetrics_begin(out, true, OPENMETRICS_SUMMARY, "x", "s", "Help."),
			    "");
	is("# HELP x Help.\n# TYPE x summary\n");
}

FIXTURE_TEST(openmetrics_labels_escape_quotes_and_backslashes)
{
	openmetrics_put_label(out, "a\"b\\c{}");
	is("a\\\"b\\\\c{}");
}

FIXTURE_TEST(openmetrics_seconds_keep_nanosecond_precision)
{
	openmetrics_put_seconds(out, 1000000001);
	is("1.000000001");
}

FIXTURE_TEST(openmetrics_seconds_may_be_negative_or_large)
{
	openmetrics_put_seconds(out, -20);
	openmetrics_put_seconds(out, INT64_MIN);
	openmetrics_put_seconds(out, 0);
	is("-0.000000020-9223372036.8547758080.000000000");
}
