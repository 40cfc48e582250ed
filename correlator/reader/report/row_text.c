/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/totals_view.h"

#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "reader/report/cell_text.h"
#include "record/blocked.h"

static const char not_measured[] = "-";

/* Writes the group's value of a key, or that it has none. */
static void write_part(const struct rows *rows, const struct row *row, size_t part,
		       char ret_text[static TABLE_CELL_BYTES])
{
	struct record_text value = grouping_part(
		row->group, part, rows->totals->selection.recording.has_several_hosts);

	cell_text_key(value, rows->grouping->keys[part],
		      part == 0 ? TABLE_FIRST_COLUMN_MAX : TABLE_TEXT_COLUMN_MAX, ret_text);
}

static void write_label(const struct rows *rows, const struct row *row,
			char ret_text[static TABLE_CELL_BYTES])
{
	static const struct record_text none;
	char number[DISPLAY_NUMBER_BYTES];

	switch (row->kind) {
	case ROW_KIND_GROUP:
		write_part(rows, row, 0, ret_text);
		return;
	case ROW_KIND_HIDDEN:
		display_number((int64_t)rows->hidden_count, number);
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "… %s more", number);
		return;
	case ROW_KIND_WITHOUT_KEY:
		cell_text_key(none, rows->grouping->by, TABLE_FIRST_COLUMN_MAX, ret_text);
		return;
	case ROW_KIND_UNATTRIBUTED:
		(void)strcpy(ret_text, "unattributed");
		return;
	case ROW_KIND_OVERFLOW:
		(void)strcpy(ret_text, "overflow");
		return;
	default:
		(void)strcpy(ret_text, "total");
	}
}

/* Writes a group's name; other rows have none. */
static void write_name(const struct row *row, enum group_name which,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const char *name = row->group ? row->group->names[which] : "";

	if (name)
		cell_text_fit((struct record_text){ name, strlen(name) }, TABLE_TEXT_COLUMN_MAX,
			      ret_text);
}

/* Writes what most of the blocked time was spent on, and its share. */
static void write_reason(const struct costs *costs, char ret_text[static TABLE_CELL_BYTES])
{
	int reason = costs_most_blocked_on(costs);
	int64_t ns;

	if (reason < 0)
		return;
	ns = costs->sums[costs_blocked_on((uint32_t)reason)];
	if (ns == 0)
		ret_text[0] = '\0';
	else
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%s %.0f %%",
			       blocked_name((uint32_t)reason),
			       100 * (double)ns / (double)costs->sums[COST_BLOCKED]);
}

void row_text_write(const struct rows *rows, size_t row_index, enum figure field, bool has_date,
		    char *ret_text)
{
	struct row row = rows_at(rows, row_index);
	int64_t number;
	size_t part;

	(void)strcpy(ret_text, not_measured);
	if (field == FIGURE_KEY)
		write_label(rows, &row, ret_text);
	else if (figure_part(field, &part) && row.group)
		write_part(rows, &row, part, ret_text);
	else if (figure_part(field, &part))
		ret_text[0] = '\0';
	else if (figure_infos[field].source == FIGURE_SOURCE_NAME)
		write_name(&row, (enum group_name)figure_infos[field].what, ret_text);
	else if (field == FIGURE_BLOCKED_ON)
		write_reason(row.costs, ret_text);
	else if (rows_number(rows, &row, field, &number))
		cell_text_number(field, number, has_date, ret_text);
}
