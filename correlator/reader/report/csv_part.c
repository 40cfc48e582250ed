/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/csv_part.h"

#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "reader/aggregate/combination.h"

/* RFC 4180 quoting. A spreadsheet takes a cell that begins with one of = + - @ for a formula. */
void csv_part_text(const char *text, FILE *out)
{
	bool is_quoted = strpbrk(text, ",\"\r\n") != NULL;

	if (is_quoted)
		(void)fputc('"', out);
	if (text[0] != '\0' && strchr("=+-@", text[0]))
		(void)fputc('\'', out);
	for (; *text; text++) {
		if (*text == '"')
			(void)fputc('"', out);
		(void)fputc(*text, out);
	}
	if (is_quoted)
		(void)fputc('"', out);
}

void csv_part_cost(const struct costs *costs, enum cost cost, FILE *out)
{
	(void)fputc(',', out);
	if (costs_has(costs, cost))
		(void)fprintf(out, "%" PRId64, costs->sums[cost]);
}

void csv_part_label(struct record_text text, FILE *out)
{
	char label[COMBINATION_PART_ESCAPED_BYTES];

	(void)display_escape(text.bytes, text.size_bytes, label, sizeof(label));
	csv_part_text(label, out);
}

void csv_part_figure(const struct diff_figure *figure, FILE *out)
{
	const struct difference *difference = &figure->difference;

	if (figure->is_known)
		(void)fprintf(out, ",%" PRId64 ",%" PRId64, figure->before_ns, figure->after_ns);
	else
		(void)fputs(",,", out);
	if (figure->is_tested)
		(void)fprintf(out, ",%.9g,%.9g,%.9g,%.9g,%.9g,%s", difference->value,
			      difference->low, difference->high, difference->probability,
			      figure->corrected, diff_has_changed(figure) ? "true" : "false");
	else
		(void)fputs(",,,,,,", out);
}
