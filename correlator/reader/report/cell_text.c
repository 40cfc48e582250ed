/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/cell_text.h"

#include <string.h>

#include "base/display.h"
#include "reader/aggregate/combination.h"
#include "reader/aggregate/rows.h"

_Static_assert((int)DISPLAY_NUMBER_BYTES <= (int)TABLE_CELL_BYTES, "a number fits a cell");

void cell_text_fit(struct record_text text, size_t columns, char ret_text[static TABLE_CELL_BYTES])
{
	char escaped[COMBINATION_PART_ESCAPED_BYTES];

	(void)display_escape(text.bytes, text.size_bytes, escaped, sizeof(escaped));
	display_fit(escaped, columns, ret_text, TABLE_CELL_BYTES);
}

void cell_text_key(struct record_text value, const char *key, size_t columns,
		   char ret_text[static TABLE_CELL_BYTES])
{
	char none[COMBINATION_PART_BYTES_MAX];

	if (value.size_bytes == 0) {
		int length = snprintf(none, sizeof(none), "(no %s)", key);

		value = (struct record_text){ none, (size_t)length };
	}
	cell_text_fit(value, columns, ret_text);
}

void cell_text_share(int64_t part, int64_t whole, char ret_text[static TABLE_CELL_BYTES])
{
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.2f %%",
		       whole > 0 ? 100.0 * (double)part / (double)whole : 0.0);
}

void cell_text_number(enum figure figure, int64_t number, bool has_date,
		      char ret_text[static TABLE_CELL_BYTES])
{
	double value = (double)number / ROWS_PARTS;

	switch (figure_infos[figure].unit) {
	case FIGURE_UNIT_NS:
		display_duration(number, ret_text);
		return;
	case FIGURE_UNIT_TIME:
		display_time(number, has_date, ret_text);
		return;
	case FIGURE_UNIT_PERCENT:
		/* The other percentages have the sign in their titles. */
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.2f%s", value,
			       figure == FIGURE_SHARE ? " %" : "");
		return;
	case FIGURE_UNIT_RATE:
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.*f", value < 100 ? 1 : 0, value);
		return;
	default:
		display_number(number, ret_text);
	}
}

void cell_text_cost(const struct costs *costs, enum figure figure,
		    char ret_text[static TABLE_CELL_BYTES])
{
	enum cost cost;

	if (figure_cost(figure, &cost) && costs_has(costs, cost))
		cell_text_number(figure, costs->sums[cost], false, ret_text);
	else
		(void)strcpy(ret_text, "-");
}
