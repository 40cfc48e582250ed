/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/tally_lines.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/display.h"
#include "reader/report/cell_text.h"

enum {
	INDENT = 2
};

static size_t count_sums(const struct tally_group *group)
{
	size_t count = 0;

	for (const struct tally_sum *sum = group->sums; sum; sum = sum->next)
		count++;
	return count;
}

static size_t count_lines(const struct tally *tally)
{
	size_t count = 2;

	for (const struct tally_group *group = tally->groups; group; group = group->hh.next)
		count += 2 + count_sums(group);
	return count;
}

static void add_line(struct tally_lines *lines, struct tally_line line)
{
	lines->lines[lines->count++] = line;
}

/* Adds the line of what is not shown, if there is any, and begins the next such sum. */
static void add_rest(struct tally_lines *lines, const struct tally_group *group, size_t rest_count)
{
	if (rest_count > 0)
		add_line(lines, (struct tally_line){ group, NULL, rest_count,
						     lines->rests[lines->rest_count++] });
}

static void add_sums(struct tally_lines *lines, const struct tally_group *group, size_t top_count)
{
	size_t shown = 0, rest_count = 0;

	for (const struct tally_sum *sum = group->sums; sum; sum = sum->next) {
		if (top_count == 0 || shown++ < top_count) {
			add_line(lines, (struct tally_line){ group, sum, 0, sum->numbers });
			continue;
		}
		rest_count++;
		tally_add_numbers(lines->tally, lines->rests[lines->rest_count], sum->numbers);
	}
	add_rest(lines, group, rest_count);
}

static void add_groups(struct tally_lines *lines, size_t top_count)
{
	const struct tally *tally = lines->tally;
	const struct tally_group *group;
	size_t shown = 0, rest_count = 0;

	for (group = tally->groups; group; group = group->hh.next) {
		if (group->kind == TALLY_GROUP && top_count > 0 && shown++ >= top_count)
			continue;
		add_line(lines, (struct tally_line){ group, NULL, 0, group->numbers });
		add_sums(lines, group, top_count);
	}
	shown = 0;
	for (group = tally->groups; group; group = group->hh.next) {
		if (group->kind != TALLY_GROUP || top_count == 0 || shown++ < top_count)
			continue;
		rest_count++;
		tally_add_numbers(tally, lines->rests[lines->rest_count], group->numbers);
	}
	add_rest(lines, NULL, rest_count);
}

static void lines_deinit(struct tally_lines *lines)
{
	free(lines->lines);
	free(lines->rests);
}

/* 0, -ENOMEM: then there is nothing to free. */
static int lines_init(struct tally_lines *lines, const struct tally *tally,
		      tally_lines_name_fn write_name, size_t top_count)
{
	*lines = (struct tally_lines){ .tally = tally, .write_name = write_name };
	lines->lines = calloc(count_lines(tally), sizeof(*lines->lines));
	lines->rests = calloc(HASH_COUNT(tally->groups) + 1, sizeof(*lines->rests));
	if (!lines->lines || !lines->rests) {
		lines_deinit(lines);
		return -ENOMEM;
	}
	add_groups(lines, top_count);
	add_line(lines, (struct tally_line){ NULL, NULL, 0, tally->numbers });
	return 0;
}

uint64_t tally_lines_requests(const struct tally_line *line)
{
	return line->group ? line->group->request_count : 0;
}

static void write_name(const struct tally_lines *lines, const struct tally_line *line,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct tally_group *group = line->group;

	if (line->rest_count > 0)
		(void)snprintf(ret_text, TABLE_CELL_BYTES, "%*s… %zu more", group ? INDENT : 0, "",
			       line->rest_count);
	else if (!group)
		(void)strcpy(ret_text, "total");
	else if (line->sum) {
		(void)memset(ret_text, ' ', INDENT);
		lines->write_name(line->sum->name, ret_text + INDENT, TABLE_CELL_BYTES - INDENT);
	} else if (group->kind == TALLY_GROUP || group->kind == TALLY_WITHOUT_KEY)
		cell_text_key(group->value, lines->tally->by, TABLE_FIRST_COLUMN_MAX, ret_text);
	else
		(void)strcpy(ret_text, tally_group_kind_name(group->kind));
}

static void write_mean(double value, char ret_text[static TABLE_CELL_BYTES])
{
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.*f", value < 100 ? 1 : 0, value);
}

void tally_lines_write(const struct tally_lines *lines, size_t row, enum tally_lines_column column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct tally_line *line = &lines->lines[row];
	uint64_t requests = tally_lines_requests(line);
	int64_t calls = line->numbers[0];

	(void)strcpy(ret_text, "-");
	if (column == TALLY_LINES_NAME)
		write_name(lines, line, ret_text);
	else if (column == TALLY_LINES_CALLS)
		display_number(calls, ret_text);
	else if (column == TALLY_LINES_CALLS_MEAN && requests > 0)
		write_mean((double)calls / (double)requests, ret_text);
	else if (column == TALLY_LINES_REQUESTS && (line->sum || line->rest_count > 0))
		ret_text[0] = '\0';
	else if (column == TALLY_LINES_REQUESTS && requests > 0)
		display_number((int64_t)requests, ret_text);
}

int tally_lines_print(const struct tally *tally, const struct tally_table *shown,
		      const struct tally_view_options *options, FILE *out)
{
	struct table table = { .columns = shown->columns,
			       .column_count = shown->column_count,
			       .width = options->width,
			       .first_column_min = shown->first_column_min,
			       .is_bold = options->is_bold,
			       .cell = shown->cell };
	struct tally_lines lines;
	int r = lines_init(&lines, tally, shown->write_name, options->top_count);

	if (r < 0)
		return r;
	table.context = &lines;
	table.row_count = lines.count;
	table.rules[0] = lines.count - 1;
	text_printer_table(options->printer, &table, out);
	(void)fputc('\n', out);
	lines_deinit(&lines);
	return 0;
}
