/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/duration.h"

#include <ctype.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int duration_parse(const char *text, uint64_t *ret_ns)
{
	static const struct {
		const char *name;
		double ns;
	} units[] = {
		{ "", 1e9 },  { "ns", 1 },   { "us", 1e3 },   { "ms", 1e6 },
		{ "s", 1e9 }, { "m", 60e9 }, { "h", 3600e9 }, { "d", 86400e9 },
	};
	const double ten_years_ns = 3650 * 86400e9;
	char *end;
	double value;

	/* strtod would also accept signs, "inf", "nan" and hexadecimal. */
	if ((!isdigit((unsigned char)text[0]) && text[0] != '.') || strpbrk(text, "xX"))
		return -EINVAL;
	value = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		if (value * units[i].ns > ten_years_ns)
			return -EINVAL;
		*ret_ns = (uint64_t)(value * units[i].ns);
		return 0;
	}
	return -EINVAL;
}
