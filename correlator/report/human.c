#include "report/human.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
	SIGNIFICANT_LIMIT = 10000
}; /* four digits are below it */

void human_duration(int64_t ns, char ret_text[HUMAN_BYTES])
{
	static const struct {
		uint64_t ns;
		const char *name;
	} units[] = { { 1000000000, "s" }, { 1000000, "ms" }, { 1000, "us" } };
	uint64_t rounded = (uint64_t)ns, step = 1;

	while (rounded / step >= SIGNIFICANT_LIMIT)
		step *= 10;
	/* Rounded before the unit is chosen: 999.99 us is 1.000 ms. */
	rounded = (rounded + step / 2) / step * step;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		uint64_t whole = rounded / units[i].ns;
		int decimals = whole < 10 ? 3 : whole < 100 ? 2 : whole < 1000 ? 1 : 0;
		uint64_t scale = decimals == 3 ? 1000 : decimals == 2 ? 100 : 10;

		if (whole == 0)
			continue;
		if (decimals == 0)
			(void)snprintf(ret_text, HUMAN_BYTES, "%" PRIu64 " %s", whole,
				       units[i].name);
		else
			(void)snprintf(ret_text, HUMAN_BYTES, "%" PRIu64 ".%0*" PRIu64 " %s", whole,
				       decimals, rounded % units[i].ns * scale / units[i].ns,
				       units[i].name);
		return;
	}
	(void)snprintf(ret_text, HUMAN_BYTES, "%" PRIu64 " ns", rounded);
}

void human_bytes(int64_t bytes, char ret_text[HUMAN_BYTES])
{
	(void)snprintf(ret_text, HUMAN_BYTES, "%.1f MiB", (double)bytes / 1048576.0);
}

void human_number(int64_t number, char ret_text[HUMAN_BYTES])
{
	uint64_t magnitude = number < 0 ? -(uint64_t)number : (uint64_t)number;
	char digits[HUMAN_BYTES];
	int length = snprintf(digits, sizeof(digits), "%" PRIu64, magnitude);
	char *out = ret_text;

	if (number < 0)
		*out++ = '-';
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			*out++ = ',';
		*out++ = digits[i];
	}
	*out = '\0';
}
