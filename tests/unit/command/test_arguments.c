/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "base/log.h"
#include "ears.h"

TEST(arguments_parse_pid_accepts_only_positive_numbers)
{
	static const char *const cases[] = { "", "x", "12x", "0", "-5", "99999999999", "1.5" };
	pid_t pid = 42;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(arguments_parse_pid(cases[i], &pid), -EINVAL);
	assert_int_equal(pid, 42);
	assert_int_equal(arguments_parse_pid("1234", &pid), 0);
	assert_int_equal(pid, 1234);
}

TEST(arguments_parse_number_rejects_non_decimal_and_out_of_range)
{
	static const char *const cases[] = { "",    "x",   "9x",
					     "1.5", "-1",  " -1",
					     "15",  "101", "99999999999999999999" };
	uint64_t number = 42;

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

TEST(arguments_parse_time_rejects_values_below_minimum)
{
	uint64_t ns = 42;

	refuse_time(1, "correlator: error: --wait 9x: not a time such as 500ms, 10s or 2m\n");
	refuse_time(ARGUMENTS_TIME_MIN_NS,
		    "correlator: error: --wait 9x: not a time such as 500ms, 10s or 2m, of "
		    "at least 10.00 ms\n");
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

TEST(arguments_verbosity_options_raise_and_lower_log_level)
{
	expect_said('\0', 2);
	expect_said('v', 3);
	expect_said('q', 1);
}

static error_t take(int key, char *value, struct argp_state *state)
{
	char *text = state->input;
	size_t length = strlen(text);

	if (key == ARGP_KEY_INIT && state->child_inputs)
		state->child_inputs[0] = text;
	if (key == ARGP_KEY_ARG)
		key = 'A';
	if (key > '~' || key <= ' ')
		return ARGP_ERR_UNKNOWN;
	(void)snprintf(text + length, 256 - length, "%c=%s ", key, value ? value : "");
	return 0;
}

static const struct argp_option child_options[] = { { "of-child", 'c', "VALUE", 0, NULL, 0 },
						    { 0 } };
static error_t take_of_child(int key, char *value, struct argp_state *state)
{
	return key == 'c' ? take(key, value, state) : ARGP_ERR_UNKNOWN;
}

static const struct argp child = { child_options, take_of_child, NULL, NULL, NULL, NULL, NULL };
static const struct argp_child children[] = { { &child, 0, NULL, 0 }, { 0 } };
static const struct argp_option own_options[] = { { "out", 'o', "FILE", 0, NULL, 0 },
						  { "output-max", 'm', "SIZE", 0, NULL, 0 },
						  { "quiet", 'q', NULL, 0, NULL, 0 },
						  { 0 } };
static const struct argp parser = { own_options, take, NULL, NULL, children, NULL, NULL };

/* Parses one argument: result, the lines on standard error, and the options as they were taken. */
static void parse(const char *argument, int result, const char *said_of_it, const char *given)
{
	char name[] = "correlator some", copy[64], said[512], text[256] = "";
	char *argv[] = { name, copy, NULL };
	struct ears ears = ears_open();

	(void)snprintf(copy, sizeof(copy), "%s", argument);
	assert_int_equal(arguments_parse(&parser, 2, argv, 0, text), result);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, said_of_it);
	assert_string_equal(text, given);
}

#define REFUSED(shown)                                                                       \
	"correlator some: unrecognized option '" shown "'\nTry `correlator some --help' or " \
	"`correlator some --usage' for more information.\n"

TEST(arguments_unknown_option_is_reported_escaped)
{
	parse("--\33[2J", EINVAL, REFUSED("--\\x1b[2J"), "");
	parse("--a\nerror: b", EINVAL, REFUSED("--a\\x0aerror: b"), "");
	parse("--none=\33", EINVAL, REFUSED("--none=\\x1b"), "");
	/* It could be either of two. */
	parse("--ou=\33", EINVAL, REFUSED("--ou=\\x1b"), "");
	parse("-\33", EINVAL, REFUSED("-\\x1b"), "");
	parse("-q\33", EINVAL, REFUSED("-q\\x1b"), "");
	parse("-x\177", EINVAL, REFUSED("-x\\x7f"), "");
}

TEST(arguments_values_may_contain_any_bytes)
{
	parse("--out=\33", 0, "", "o=\33 ");
	parse("--output=\33", 0, "", "m=\33 ");
	parse("--of-child=\303\244", 0, "", "c=\303\244 ");
	parse("-o\303\244", 0, "", "o=\303\244 ");
	parse("-qc\303\244", 0, "", "q= c=\303\244 ");
	parse("\303\244", 0, "", "A=\303\244 ");
	parse("-", 0, "", "A=- ");
}

TEST(arguments_take_verbosity_ignores_other_options)
{
	assert_false(arguments_take_verbosity('p'));
	assert_true(arguments_take_verbosity('q'));
	assert_true(arguments_take_verbosity('v'));
	log_set_level(LOG_LEVEL_INFO);
}
