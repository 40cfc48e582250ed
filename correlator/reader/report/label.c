/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/label.h"

#include "base/display.h"

void label_title(const char *title, const struct view_options *options, FILE *out)
{
	(void)fprintf(out, "\n%s%s%s\n", options->is_bold ? "\033[1m" : "", title,
		      options->is_bold ? "\033[0m" : "");
}

void label_print(const char *label, FILE *out)
{
	(void)fprintf(out, "%*s%-*s ", LABEL_INDENT, "", LABEL_WIDTH, label);
}

void label_part(const char *label, int64_t ns, int64_t whole_ns, FILE *out)
{
	char duration[DISPLAY_NUMBER_BYTES];

	display_duration(ns, duration);
	label_print(label, out);
	(void)fprintf(out, "%10s", duration);
	if (whole_ns > 0)
		(void)fprintf(out, " %8.2f %%", 100.0 * (double)ns / (double)whole_ns);
}

void label_line(const char *label, int64_t ns, int64_t whole_ns, FILE *out)
{
	label_part(label, ns, whole_ns, out);
	(void)fputc('\n', out);
}
