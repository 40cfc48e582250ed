/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

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

static void openmetrics_counter_sample_ends_in_total(void **state)
{
	(void)state;
	assert_string_equal(
		openmetrics_begin(out, false, OPENMETRICS_COUNTER, "x_seconds", "seconds", "Help."),
		"_total");
	is("# HELP x_seconds Help.\n# TYPE x_seconds counter\n# UNIT x_seconds seconds\n");
}

static void openmetrics_old_format_counter_family_ends_in_total(void **state)
{
	(void)state;
	assert_string_equal(
		openmetrics_begin(out, true, OPENMETRICS_COUNTER, "x_seconds", "seconds", "Help."),
		"_total");
	is("# HELP x_seconds_total Help.\n# TYPE x_seconds_total counter\n");
}

static void openmetrics_gauge_without_unit_omits_unit_line(void **state)
{
	(void)state;
	assert_string_equal(openmetrics_begin(out, false, OPENMETRICS_GAUGE, "x", NULL, "Help."),
			    "");
	is("# HELP x Help.\n# TYPE x gauge\n");
}

static void openmetrics_summary_has_type_summary_and_no_suffix(void **state)
{
	(void)state;
	assert_string_equal(openmetrics_begin(out, true, OPENMETRICS_SUMMARY, "x", "s", "Help."),
			    "");
	is("# HELP x Help.\n# TYPE x summary\n");
}

static void openmetrics_labels_escape_quotes_and_backslashes(void **state)
{
	(void)state;
	openmetrics_put_label(out, "a\"b\\c{}");
	is("a\\\"b\\\\c{}");
}

static void openmetrics_seconds_keep_nanosecond_precision(void **state)
{
	(void)state;
	openmetrics_put_seconds(out, 1000000001);
	is("1.000000001");
}

static void openmetrics_seconds_may_be_negative_or_large(void **state)
{
	(void)state;
	openmetrics_put_seconds(out, -20);
	openmetrics_put_seconds(out, INT64_MIN);
	openmetrics_put_seconds(out, 0);
	is("-0.000000020-9223372036.8547758080.000000000");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(openmetrics_counter_sample_ends_in_total),
		TEST(openmetrics_old_format_counter_family_ends_in_total),
		TEST(openmetrics_gauge_without_unit_omits_unit_line),
		TEST(openmetrics_summary_has_type_summary_and_no_suffix),
		TEST(openmetrics_labels_escape_quotes_and_backslashes),
		TEST(openmetrics_seconds_keep_nanosecond_precision),
		TEST(openmetrics_seconds_may_be_negative_or_large),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
