/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/duration.h"

#include <errno.h>

#include "unit_test.h"

TEST(duration_parser_accepts_units_and_fractions)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} cases[] = {
		{ "10", 10000000000 },
		{ "10s", 10000000000 },
		{ "1.5s", 1500000000 },
		{ "500ms", 500000000 },
		{ "2m", 120000000000 },
		{ "1h", 3600000000000 },
		{ "1d", 86400000000000 },
		{ "7us", 7000 },
		{ "9ns", 9 },
		{ "0", 0 },
		{ ".5s", 500000000 },
		{ "3650d", 315360000000000000 },
		{ "315360000000000000ns", 315360000000000000 },
	};
	uint64_t ns;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(duration_parse(cases[i].text, &ns), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}

TEST(duration_parser_rejects_invalid_text_and_keeps_output)
{
	static const char *const cases[] = { "",      "s",   "-1",  "+1",      "10 s", "10x",
					     "1e400", "nan", "inf", "0x10",    "1..2", "100000d",
					     " 5",    "5ss", ".",   "3650.1d", "0X1",  "0x1p3" };
	uint64_t ns = 42;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(duration_parse(cases[i], &ns), -EINVAL);
	assert_int_equal(ns, 42);
}
