/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NO_COST = -1
};

/* What is less, of a row's CPU, nobody decides by. */
enum {
	SPLIT_ERROR_PERCENT = 5
};

static const struct {
	const char *name;
	int cost;
} row_fields[_ROW_FIELD_MAX] = {
	[ROW_FIELD_KEY] = { "key", NO_COST },
	[ROW_FIELD_REQUESTS] = { "requests", NO_COST },
	[ROW_FIELD_CPU] = { "cpu", COST_CPU },
	[ROW_FIELD_USER] = { "user", COST_USER },
	[ROW_FIELD_KERNEL] = { "kernel", COST_KERNEL },
	[ROW_FIELD_RUN_QUEUE] = { "run_queue", COST_RUN_QUEUE },
	[ROW_FIELD_BLOCKED] = { "blocked", COST_BLOCKED },
	[ROW_FIELD_SHARE] = { "share", NO_COST },
	[ROW_FIELD_SLICES] = { "slices", COST_SLICES },
	[ROW_FIELD_SWITCHES] = { "switches", COST_SWITCHES },
	[ROW_FIELD_AMBIGUOUS] = { "ambiguous", COST_AMBIGUOUS },
	[ROW_FIELD_MIGRATIONS] = { "migrations", COST_MIGRATIONS },
	[ROW_FIELD_STOLEN] = { "stolen", COST_STOLEN },
	[ROW_FIELD_CPU_PERCENT] = { "cpu_percent", NO_COST },
	[ROW_FIELD_MACHINE_PERCENT] = { "machine_percent", NO_COST },
	[ROW_FIELD_THREAD_NAME] = { "thread_name", NO_COST },
	[ROW_FIELD_COMM] = { "comm", NO_COST },
	[ROW_FIELD_SPLIT_ERROR] = { "split_error", COST_SPLIT_ERROR },
};

const char *rows_field_name(enum row_field field)
{
	return row_fields[field].name;
}

int rows_find_field(const char *name, enum row_field *ret_field)
{
	for (int field = 0; field < _ROW_FIELD_MAX; field++) {
		if (strcmp(row_fields[field].name, name) == 0) {
			*ret_field = (enum row_field)field;
			return 0;
		}
	}
	return -EINVAL;
}

bool rows_field_cost(enum row_field field, enum cost *ret_cost)
{
	if (row_fields[field].cost == NO_COST)
		return false;
	*ret_cost = (enum cost)row_fields[field].cost;
	return true;
}

static int compare_keys(const struct group *a, const struct group *b)
{
	size_t shorter = a->value_bytes < b->value_bytes ? a->value_bytes : b->value_bytes;
	int order = memcmp(a->value, b->value, shorter);

	return order != 0 ? order
			  : (a->value_bytes > b->value_bytes) - (a->value_bytes < b->value_bytes);
}

/* A name that is not known comes last. */
static int compare_names(const struct group *a, const struct group *b, enum group_name name)
{
	const char *first = a->names[name], *second = b->names[name];
	int order = first && second ? strcmp(first, second) : !first - !second;

	return order != 0 ? order : compare_keys(a, b);
}

/* What a row is sorted by, as a number; -1 = not measured. */
static int64_t sort_value(const struct group *group, enum row_field field)
{
	enum cost cost = COST_CPU; /* the percentages order as cpu does */

	if (field == ROW_FIELD_REQUESTS)
		return (int64_t)group->request_count;
	(void)rows_field_cost(field, &cost);
	return costs_has(&group->costs, cost) ? group->costs.sums[cost] : -1;
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct group *first = *(const struct group *const *)a;
	const struct group *second = *(const struct group *const *)b;
	enum row_field field = *(const enum row_field *)context;
	int64_t x, y;

	if (field == ROW_FIELD_KEY)
		return compare_keys(first, second);
	if (field == ROW_FIELD_THREAD_NAME)
		return compare_names(first, second, GROUP_NAME_THREAD);
	if (field == ROW_FIELD_COMM)
		return compare_names(first, second, GROUP_NAME_COMM);
	x = sort_value(first, field);
	y = sort_value(second, field);
	if (x < y)
		return 1;
	return x > y ? -1 : compare_keys(first, second);
}

/* Shows the first top_count groups and sums the rest. */
static void hide_rest(struct rows *rows, size_t top_count)
{
	if (top_count == 0 || top_count >= rows->group_count)
		return;
	for (size_t i = top_count; i < rows->group_count; i++)
		costs_add(&rows->hidden, &rows->groups[i]->costs);
	rows->hidden_count = rows->group_count - top_count;
	rows->group_count = top_count;
}

static void show(struct rows *rows, enum row_kind kind)
{
	rows->others[rows->other_count++] = kind;
}

int rows_init(struct rows *rows, const struct totals *totals, const struct grouping *grouping,
	      enum row_field sort, size_t top_count)
{
	const struct group **groups = calloc(grouping->group_count + 1, sizeof(struct group *));
	const struct group *group;

	if (!groups)
		return -ENOMEM;
	*rows = (struct rows){ .totals = totals, .grouping = grouping, .groups = groups };
	for (group = grouping->groups; group; group = group->hh.next)
		groups[rows->group_count++] = group;
	qsort_r(groups, rows->group_count, sizeof(struct group *), compare_rows, &sort);
	hide_rest(rows, top_count);
	if (rows->hidden_count > 0)
		show(rows, ROW_KIND_HIDDEN);
	if (grouping->without_value.record_count > 0)
		show(rows, ROW_KIND_WITHOUT_KEY);
	if (!grouping->has_all_time)
		show(rows, ROW_KIND_UNATTRIBUTED);
	if (!grouping->has_all_time && totals->overflow.record_count > 0)
		show(rows, ROW_KIND_OVERFLOW);
	show(rows, ROW_KIND_TOTAL);
	return 0;
}

void rows_deinit(struct rows *rows)
{
	free(rows->groups);
	*rows = (struct rows){ 0 };
}

size_t rows_count(const struct rows *rows)
{
	return rows->group_count + rows->other_count;
}

struct row rows_at(const struct rows *rows, size_t index)
{
	const struct costs *const costs[_ROW_KIND_MAX] = {
		[ROW_KIND_HIDDEN] = &rows->hidden,
		[ROW_KIND_WITHOUT_KEY] = &rows->grouping->without_value,
		[ROW_KIND_UNATTRIBUTED] = &rows->totals->unattributed,
		[ROW_KIND_OVERFLOW] = &rows->totals->overflow,
		[ROW_KIND_TOTAL] = &rows->totals->all,
	};
	struct row row = { .kind = ROW_KIND_GROUP };

	assert(index < rows_count(rows));
	if (index < rows->group_count) {
		row.group = rows->groups[index];
		row.costs = &row.group->costs;
		row.request_count = row.group->request_count;
		return row;
	}
	row.kind = rows->others[index - rows->group_count];
	row.costs = costs[row.kind];
	row.request_count = row.kind == ROW_KIND_TOTAL ? rows->grouping->request_count : 0;
	return row;
}

size_t rows_find_kind(const struct rows *rows, enum row_kind kind)
{
	size_t index = 0;

	while (index < rows_count(rows) && rows_at(rows, index).kind != kind)
		index++;
	return index;
}

bool rows_split_error_matters(const struct rows *rows)
{
	for (size_t i = 0; i < rows_count(rows); i++) {
		const struct costs *costs = rows_at(rows, i).costs;

		if (costs_has(costs, COST_CPU) && costs_has(costs, COST_SPLIT_ERROR) &&
		    costs->sums[COST_SPLIT_ERROR] >
			    costs->sums[COST_CPU] / 100 * SPLIT_ERROR_PERCENT)
			return true;
	}
	return false;
}
