/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format.h"

#include <inttypes.h>
#include <string.h>

#include "base/display.h"
#include "base/text.h"
#include "reader/report/table.h"
#include "record/blocked.h"

static const char not_measured[] = "-";

/* What the group's value of a key is, or that it has none. */
static void write_part(const struct rows *rows, const struct row *row, size_t part,
		       char ret_text[static TABLE_CELL_BYTES])
{
	char escaped[COMBINATION_PART_ESCAPED_BYTES];
	struct record_text value = grouping_part(
		row->group, part, rows->totals->selection.recording.has_several_hosts);

	if (value.size_bytes > 0)
		(void)display_escape(value.bytes, value.size_bytes, escaped, sizeof(escaped));
	else
		(void)snprintf(escaped, sizeof(escaped), "(no %s)", rows->grouping->keys[part]);
	display_fit(escaped, part == 0 ? TABLE_FIRST_COLUMN_MAX : TABLE_TEXT_COLUMN_MAX, ret_text,
		    TABLE_CELL_BYTES);
}

static void write_label(const struct rows *rows, const struct row *row,
			char ret_text[static TABLE_CELL_BYTES])
{
	char escaped[COMBINATION_PART_ESCAPED_BYTES];
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
		(void)snprintf(escaped, sizeof(escaped), "(no %s)", rows->grouping->by);
		display_fit(escaped, TABLE_FIRST_COLUMN_MAX, ret_text, TABLE_CELL_BYTES);
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

/* Rows that are no group have no name either. */
static void write_name(const struct row *row, enum group_name which,
		       char ret_text[static TABLE_CELL_BYTES])
{
	char escaped[TEXT_ESCAPE_BYTES * GROUP_NAME_BYTES + 1];
	const char *name = row->group ? row->group->names[which] : "";

	if (!name)
		return;
	(void)display_escape(name, strlen(name), escaped, sizeof(escaped));
	display_fit(escaped, TABLE_TEXT_COLUMN_MAX, ret_text, TABLE_CELL_BYTES);
}

static void write_number(enum figure field, int64_t number, char ret_text[static TABLE_CELL_BYTES])
{
	double value = (double)number / ROWS_PARTS;

	switch (figure_infos[field].unit) {
	case FIGURE_UNIT_NS:
		display_duration(number, ret_text);
		return;
	case FIGURE_UNIT_PERCENT:
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.2f%s", value,
			       field == FIGURE_SHARE ? " %" : "");
		return;
	case FIGURE_UNIT_RATE:
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.*f", value < 100 ? 1 : 0, value);
		return;
	default:
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%" PRId64, number);
	}
}

/* On what most of the time asleep was spent, and how much of it. */
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

void format_cell(const struct rows *rows, size_t row_index, enum figure field, bool has_date,
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
	else if (rows_number(rows, &row, field, &number) &&
		 figure_infos[field].unit == FIGURE_UNIT_TIME)
		display_time(number, has_date, ret_text);
	else if (rows_number(rows, &row, field, &number))
		write_number(field, number, ret_text);
}
