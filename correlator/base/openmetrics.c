/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/openmetrics.h"

#include <inttypes.h>

#include "base/clock.h"

const char *openmetrics_begin(FILE *out, bool is_older, enum openmetrics_type type,
			      const char *name, const char *unit, const char *help)
{
	static const char *const types[] = { "counter", "gauge", "summary", "histogram" };
	const char *suffix = type == OPENMETRICS_COUNTER ? "_total" : "";
	const char *head = is_older ? suffix : "";

	(void)fprintf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", name, head, help, name, head,
		      types[type]);
	if (unit && !is_older)
		(void)fprintf(out, "# UNIT %s %s\n", name, unit);
	return suffix;
}

void openmetrics_put_label(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			(void)fputc('\\', out);
		(void)fputc(*text, out);
	}
}

void openmetrics_put_seconds(FILE *out, int64_t ns)
{
	uint64_t size = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;

	(void)fprintf(out, "%s%" PRIu64 ".%09" PRIu64, ns < 0 ? "-" : "", size / NS_PER_S,
		      size % NS_PER_S);
}
