/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/syscalls_view.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/display.h"
#include "reader/report/cell_text.h"

enum {
	INDENT = 2
};

/* A line of the table: all calls of a group, those of one kind, or those that are not shown. */
struct line {
	const struct tally_group *group;
	const struct tally_sum *sum; /* NULL: all, or the rest */
	size_t rest_count; /* number of kinds, or of groups (group NULL); 0: not the rest */
	int64_t calls;
	int64_t inside_ns;
};

struct lines {
	const struct tally *syscalls;
	struct line *lines;
	size_t count;
};

enum column {
	COLUMN_NAME,
	COLUMN_REQUESTS,
	COLUMN_CALLS,
	COLUMN_CALLS_MEAN,
	COLUMN_SHARE,
	COLUMN_INSIDE,
	COLUMN_INSIDE_MEAN,
	COLUMN_EACH,
	_COLUMN_MAX,
};

/* The number of kinds of calls in a group. */
static size_t count_sums(const struct tally_group *group)
{
	size_t count = 0;

	for (const struct tally_sum *sum = group->sums; sum; sum = sum->next)
		count++;
	return count;
}

static size_t count_lines(const struct tally *syscalls)
{
	size_t count = 2;

	for (const struct tally_group *group = syscalls->groups; group; group = group->hh.next)
		count += 2 + count_sums(group);
	return count;
}

static void add_sums(struct lines *lines, const struct tally_group *group, size_t top_count)
{
	struct line rest = { .group = group };
	size_t shown = 0;

	for (const struct tally_sum *sum = group->sums; sum; sum = sum->next) {
		if (top_count == 0 || shown++ < top_count) {
			lines->lines[lines->count++] =
				(struct line){ group, sum, 0, sum->numbers[SYSCALLS_CALLS],
					       sum->numbers[SYSCALLS_INSIDE_NS] };
			continue;
		}
		rest.rest_count++;
		saturated_add_to(&rest.calls, sum->numbers[SYSCALLS_CALLS]);
		saturated_add_to(&rest.inside_ns, sum->numbers[SYSCALLS_INSIDE_NS]);
	}
	if (rest.rest_count > 0)
		lines->lines[lines->count++] = rest;
}

/* Groups without a value of the key are always shown. 0, -ENOMEM. */
static int lines_init(struct lines *lines, const struct tally *syscalls, size_t top_count)
{
	struct line rest = { 0 };
	size_t shown = 0;

	*lines = (struct lines){ .syscalls = syscalls };
	lines->lines = calloc(count_lines(syscalls), sizeof(*lines->lines));
	if (!lines->lines)
		return -ENOMEM;
	for (const struct tally_group *group = syscalls->groups; group; group = group->hh.next) {
		if (group->kind == TALLY_GROUP && top_count > 0 && shown++ >= top_count) {
			rest.rest_count++;
			saturated_add_to(&rest.calls, group->numbers[SYSCALLS_CALLS]);
			saturated_add_to(&rest.inside_ns, group->numbers[SYSCALLS_INSIDE_NS]);
			continue;
		}
		lines->lines[lines->count++] =
			(struct line){ group, NULL, 0, group->numbers[SYSCALLS_CALLS],
				       group->numbers[SYSCALLS_INSIDE_NS] };
		add_sums(lines, group, top_count);
	}
	if (rest.rest_count > 0)
		lines->lines[lines->count++] = rest;
	lines->lines[lines->count++] =
		(struct line){ NULL, NULL, 0, syscalls->numbers[SYSCALLS_CALLS],
			       syscalls->numbers[SYSCALLS_INSIDE_NS] };
	return 0;
}

static void write_name(const struct lines *lines, const struct line *line,
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
		(void)display_escape(line->sum->name->text.bytes, line->sum->name->text.size_bytes,
				     ret_text + INDENT, TABLE_CELL_BYTES - INDENT);
	} else if (group->kind == TALLY_GROUP || group->kind == TALLY_WITHOUT_KEY)
		cell_text_key(group->value, lines->syscalls->by, TABLE_FIRST_COLUMN_MAX, ret_text);
	else
		(void)strcpy(ret_text, tally_group_kind_name(group->kind));
}

static void write_mean(double value, char ret_text[static TABLE_CELL_BYTES])
{
	(void)snprintf(ret_text, TABLE_CELL_BYTES, "%.*f", value < 100 ? 1 : 0, value);
}

static void write_cell(const void *context, size_t row, size_t column,
		       char ret_text[static TABLE_CELL_BYTES])
{
	const struct lines *lines = context;
	const struct line *line = &lines->lines[row];
	uint64_t requests = line->group ? line->group->request_count : 0;

	(void)strcpy(ret_text, "-");
	if (column == COLUMN_NAME)
		write_name(lines, line, ret_text);
	else if (column == COLUMN_CALLS)
		display_number(line->calls, ret_text);
	else if (column == COLUMN_SHARE)
		cell_text_share(line->calls, lines->syscalls->numbers[SYSCALLS_CALLS], ret_text);
	else if (column == COLUMN_INSIDE)
		display_duration(line->inside_ns, ret_text);
	else if (column == COLUMN_EACH && line->calls > 0)
		display_duration(line->inside_ns / line->calls, ret_text);
	else if (column == COLUMN_REQUESTS && requests > 0 && !line->sum && !line->rest_count)
		display_number((int64_t)requests, ret_text);
	else if (column == COLUMN_REQUESTS && (line->sum || line->rest_count))
		ret_text[0] = '\0';
	else if (column == COLUMN_CALLS_MEAN && requests > 0)
		write_mean((double)line->calls / (double)requests, ret_text);
	else if (column == COLUMN_INSIDE_MEAN && requests > 0)
		display_duration(line->inside_ns / (int64_t)requests, ret_text);
}

/* Compares the calls in the records by name with those in the accounts. */
static void print_books(const struct tally *syscalls, size_t width, FILE *out)
{
	char counted[DISPLAY_NUMBER_BYTES], charged[DISPLAY_NUMBER_BYTES];
	char lost[DISPLAY_NUMBER_BYTES];

	display_number(syscalls->numbers[SYSCALLS_CALLS], counted);
	display_number(syscalls->account, charged);
	display_number(syscalls->lost, lost);
	if (syscalls->numbers[SYSCALLS_CALLS] == syscalls->account)
		display_sentence(out, width, DISPLAY_INDENT,
				 "These are all %s calls of the accounts.", charged);
	else
		display_sentence(out, width, DISPLAY_INDENT,
				 "The accounts have %s calls, these are %s: %s were lost for want "
				 "of room (of all processes), and others were made while none were "
				 "counted.",
				 charged, counted, lost);
}

int syscalls_text_print(const struct tally *syscalls, const struct syscalls_view_options *options,
			FILE *out)
{
	const struct table_column columns[_COLUMN_MAX] = {
		[COLUMN_NAME] = { syscalls->by, 0, true },
		[COLUMN_REQUESTS] = { "requests", 4, false },
		[COLUMN_CALLS] = { "calls", 1, false },
		[COLUMN_CALLS_MEAN] = { "a request", 0, false },
		[COLUMN_SHARE] = { "share", 5, false },
		[COLUMN_INSIDE] = { "inside", 2, false },
		[COLUMN_INSIDE_MEAN] = { "inside a request", 3, false },
		[COLUMN_EACH] = { "each", 6, false },
	};
	struct table table = { .columns = columns,
			       .column_count = _COLUMN_MAX,
			       .width = options->width,
			       .is_bold = options->is_bold,
			       .cell = write_cell };
	struct lines lines;
	int r = lines_init(&lines, syscalls, options->top_count);

	if (r < 0)
		return r;
	table.context = &lines;
	table.row_count = lines.count;
	table.rules[0] = lines.count - 1;
	(void)table_print(&table, out);
	(void)fputc('\n', out);
	print_books(syscalls, options->width, out);
	free(lines.lines);
	return 0;
}
