/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/rows.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/compare.h"
#include "reader/aggregate/peers.h"

/* What is less, of a row's CPU, nobody decides by. */
enum {
	SPLIT_ERROR_PERCENT = 5
};

/* Where a column's number comes from. */
enum source {
	SOURCE_NONE, /* a text, or something of its own */
	SOURCE_COST,
	SOURCE_PERCENTILE,
	SOURCE_MEAN,
};

static const struct {
	const char *name;
	enum row_unit unit;
	enum source source;
	int what; /* enum cost or enum figure */
	double percent;
} row_fields[_ROW_FIELD_MAX] = {
#define COST(field, name, unit)	 [ROW_FIELD_##field] = { name, unit, SOURCE_COST, COST_##field, 0 }
#define OTHER(field, name, unit) [ROW_FIELD_##field] = { name, unit, SOURCE_NONE, 0, 0 }
#define FIGURE(column, name, source, figure, percent) \
	[ROW_FIELD_##column] = { name, ROW_UNIT_NS, SOURCE_##source, FIGURE_##figure, percent }
#define FIGURES(figure, name)                                              \
	FIGURE(figure##_MEAN, name "_mean", MEAN, figure, 0),              \
		FIGURE(figure##_P50, name "_p50", PERCENTILE, figure, 50), \
		FIGURE(figure##_P90, name "_p90", PERCENTILE, figure, 90), \
		FIGURE(figure##_P99, name "_p99", PERCENTILE, figure, 99), \
		FIGURE(figure##_MAX, name "_max", PERCENTILE, figure, 100)
	OTHER(KEY, "key", ROW_UNIT_TEXT),
	OTHER(REQUESTS, "requests", ROW_UNIT_COUNT),
	COST(CPU, "cpu", ROW_UNIT_NS),
	COST(USER, "user", ROW_UNIT_NS),
	COST(KERNEL, "kernel", ROW_UNIT_NS),
	COST(RUN_QUEUE, "run_queue", ROW_UNIT_NS),
	COST(BLOCKED, "blocked", ROW_UNIT_NS),
	OTHER(SHARE, "share", ROW_UNIT_PERCENT),
	COST(SLICES, "slices", ROW_UNIT_COUNT),
	COST(SWITCHES, "switches", ROW_UNIT_COUNT),
	COST(AMBIGUOUS, "ambiguous", ROW_UNIT_NS),
	COST(MIGRATIONS, "migrations", ROW_UNIT_COUNT),
	COST(STOLEN, "stolen", ROW_UNIT_NS),
	OTHER(CPU_PERCENT, "cpu_percent", ROW_UNIT_PERCENT),
	OTHER(MACHINE_PERCENT, "machine_percent", ROW_UNIT_PERCENT),
	OTHER(THREAD_NAME, "thread_name", ROW_UNIT_TEXT),
	OTHER(COMM, "comm", ROW_UNIT_TEXT),
	COST(SPLIT_ERROR, "split_error", ROW_UNIT_NS),
	COST(UNINTERRUPTIBLE, "uninterruptible", ROW_UNIT_NS),
	COST(SYSCALLS, "syscalls", ROW_UNIT_COUNT),
	COST(GVL, "gvl", ROW_UNIT_NS),
	COST(GVL_WAITS, "gvl_waits", ROW_UNIT_COUNT),
	COST(GC, "gc", ROW_UNIT_NS),
	COST(GC_RUNS, "gc_runs", ROW_UNIT_COUNT),
	OTHER(RATE, "rate", ROW_UNIT_RATE),
	FIGURES(CPU, "cpu"),
	FIGURES(WALL, "wall"),
	FIGURES(PARKED, "parked"),
	OTHER(WALL, "wall", ROW_UNIT_NS),
	OTHER(PARKED, "parked", ROW_UNIT_NS),
	OTHER(ENDPOINT, "endpoint", ROW_UNIT_TEXT),
	OTHER(SYSCALLS_MEAN, "syscalls_mean", ROW_UNIT_RATE),
	OTHER(KEY_2, "key_2", ROW_UNIT_TEXT),
	OTHER(KEY_3, "key_3", ROW_UNIT_TEXT),
	OTHER(KEY_4, "key_4", ROW_UNIT_TEXT),
	OTHER(BEGAN, "began", ROW_UNIT_TIME),
#define BLOCKED(reason, name) COST(BLOCKED_##reason, "blocked_" #name, ROW_UNIT_NS),
	BLOCKED_REASONS(BLOCKED)
#undef BLOCKED
		OTHER(BLOCKED_ON, "blocked_on", ROW_UNIT_TEXT),
	OTHER(CHILDREN, "children", ROW_UNIT_NS),
};

const char *rows_field_name(enum row_field field)
{
	return row_fields[field].name;
}

enum row_unit rows_field_unit(enum row_field field)
{
	return row_fields[field].unit;
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
	if (row_fields[field].source != SOURCE_COST)
		return false;
	*ret_cost = (enum cost)row_fields[field].what;
	return true;
}

bool rows_field_is_reason(enum row_field field)
{
	return field >= ROW_FIELD_BLOCKED_DISK && field <= ROW_FIELD_BLOCKED_OTHER;
}

bool rows_has_reason(const struct rows *rows, enum row_field field)
{
	enum cost cost;

	return rows_field_cost(field, &cost) && rows->totals->all.sums[cost] > 0;
}

/* Of all its requests, or of none: a percentile of those that were measured would be of others. */
static bool figure_of(const struct row *row, enum row_field field, int64_t *ret_number)
{
	const struct histogram *figure;

	if (!row->requests)
		return false;
	figure = &row->requests->figures[row_fields[field].what];
	if (figure->count != row->request_count)
		return false;
	if (row_fields[field].source == SOURCE_MEAN)
		return histogram_mean(figure, ret_number);
	return histogram_percentile(figure, row_fields[field].percent, ret_number);
}

static bool in_parts(double value, int64_t *ret_number)
{
	if (value > (double)INT64_MAX / ROWS_PARTS / 2)
		return false;
	*ret_number = (int64_t)(value * ROWS_PARTS + 0.5);
	return true;
}

static bool rate_of(const struct rows *rows, const struct row *row, double *ret_rate)
{
	uint64_t duration_ns = recording_duration_ns(&rows->totals->recording);
	bool is_request = rows->grouping->is_by_request && row->group;

	if (row->request_count == 0 || duration_ns == 0 || is_request)
		return false;
	*ret_rate = (double)row->request_count * (double)NS_PER_S / (double)duration_ns;
	return true;
}

static bool syscalls_mean_of(const struct row *row, double *ret_mean)
{
	if (row->request_count == 0 || !costs_has(row->costs, COST_SYSCALLS))
		return false;
	*ret_mean = (double)row->costs->sums[COST_SYSCALLS] / (double)row->request_count;
	return true;
}

bool rows_number(const struct rows *rows, const struct row *row, enum row_field field,
		 int64_t *ret_number)
{
	const struct totals *totals = rows->totals;
	const struct costs *costs = row->costs;
	double value = 0;

	if (row_fields[field].source == SOURCE_COST) {
		if (!costs_has(costs, (enum cost)row_fields[field].what))
			return false;
		*ret_number = costs->sums[row_fields[field].what];
		return true;
	}
	if (row_fields[field].source != SOURCE_NONE)
		return figure_of(row, field, ret_number);
	switch (field) {
	case ROW_FIELD_REQUESTS:
		if (row->request_count == 0)
			return false;
		*ret_number = (int64_t)row->request_count;
		return true;
	case ROW_FIELD_WALL:
		return row->group && rows->grouping->is_by_request &&
		       costs_wall_ns(costs, ret_number);
	case ROW_FIELD_PARKED:
		return row->group && rows->grouping->is_by_request &&
		       costs_parked_ns(costs, ret_number);
	case ROW_FIELD_BEGAN:
		*ret_number = costs->first_ns;
		return row->group && !costs->lacks_span;
	case ROW_FIELD_CHILDREN:
		*ret_number = costs->children_ns;
		return costs->children_ns > 0 || totals->recording.has_children;
	case ROW_FIELD_SHARE:
		return costs_share_percent(costs, &totals->all, &value) &&
		       in_parts(value, ret_number);
	case ROW_FIELD_CPU_PERCENT:
		return totals_cpu_percent(totals, costs, &value) && in_parts(value, ret_number);
	case ROW_FIELD_MACHINE_PERCENT:
		return totals_machine_percent(totals, costs, &value) && in_parts(value, ret_number);
	case ROW_FIELD_RATE:
		return rate_of(rows, row, &value) && in_parts(value, ret_number);
	case ROW_FIELD_SYSCALLS_MEAN:
		return syscalls_mean_of(row, &value) && in_parts(value, ret_number);
	default:
		return false;
	}
}

bool rows_field_part(enum row_field field, size_t *ret_part)
{
	if (field != ROW_FIELD_KEY && (field < ROW_FIELD_KEY_2 || field > ROW_FIELD_KEY_4))
		return false;
	*ret_part = field == ROW_FIELD_KEY ? 0 : (size_t)(field - ROW_FIELD_KEY_2) + 1;
	return true;
}

/* A name that is not known comes last. */
static int compare_names(const struct group *a, const struct group *b, enum group_name name)
{
	const char *first = a->names[name], *second = b->names[name];
	int order = first && second ? strcmp(first, second) : !first - !second;

	return order != 0 ? order : grouping_compare(a, b);
}

static struct row row_of(const struct group *group)
{
	return (struct row){ .kind = ROW_KIND_GROUP,
			     .group = group,
			     .costs = &group->costs,
			     .request_count = group->request_count,
			     .requests = group->requests };
}

struct sortable {
	const struct group *group;
	int64_t number; /* -1: not measured */
};

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct sortable *first = a, *second = b;
	enum row_field field = *(const enum row_field *)context;
	size_t part;
	int order;

	if (field == ROW_FIELD_THREAD_NAME)
		return compare_names(first->group, second->group, GROUP_NAME_THREAD);
	if (field == ROW_FIELD_COMM)
		return compare_names(first->group, second->group, GROUP_NAME_COMM);
	if (field == ROW_FIELD_ENDPOINT)
		return compare_names(first->group, second->group, GROUP_NAME_ENDPOINT);
	order = compare_i64(second->number, first->number);
	if (order == 0 && rows_field_part(field, &part) && part > 0 &&
	    part < first->group->part_count)
		order = grouping_compare_part(first->group, second->group, part);
	return order ? order : grouping_compare(first->group, second->group);
}

/* What of one request is what a figure is of many. */
static const enum row_field of_one[_FIGURE_MAX] = {
	[FIGURE_CPU] = ROW_FIELD_CPU,
	[FIGURE_WALL] = ROW_FIELD_WALL,
	[FIGURE_PARKED] = ROW_FIELD_PARKED,
};

/* The percentages order as cpu does, not cut to parts; and a request has one of what of
 * many has percentiles. */
enum row_field rows_field_sorted_by(const struct grouping *grouping, enum row_field field)
{
	if (rows_field_unit(field) == ROW_UNIT_PERCENT)
		return ROW_FIELD_CPU;
	if (field == ROW_FIELD_BLOCKED_ON)
		return ROW_FIELD_BLOCKED;
	if (!grouping->is_by_request || row_fields[field].source == SOURCE_NONE ||
	    row_fields[field].source == SOURCE_COST)
		return field;
	return of_one[row_fields[field].what];
}

/* How long it took where it is sorted by nothing that has percentiles. */
static enum figure figure_to_sort_by(const struct rows *rows, enum row_field field)
{
	enum row_field number = rows_field_sorted_by(rows->grouping, field);

	for (int figure = 0; figure < _FIGURE_MAX; figure++)
		if (of_one[figure] == number)
			return (enum figure)figure;
	return FIGURE_WALL;
}

static int sort(struct rows *rows, enum row_field field)
{
	struct sortable *sortables = calloc(rows->group_count + 1, sizeof(*sortables));
	enum row_field of_number = rows_field_sorted_by(rows->grouping, field);

	if (!sortables)
		return -ENOMEM;
	for (size_t i = 0; i < rows->group_count; i++) {
		struct row row = row_of(rows->groups[i]);

		sortables[i] = (struct sortable){ row.group, -1 };
		(void)rows_number(rows, &row, of_number, &sortables[i].number);
	}
	qsort_r(sortables, rows->group_count, sizeof(*sortables), compare_rows, &field);
	for (size_t i = 0; i < rows->group_count; i++)
		rows->groups[i] = sortables[i].group;
	free(sortables);
	return 0;
}

/* Marks those that are above the percentile of their endpoint. peers and ret_is_above have room for
 * each request. */
static void find_above(const struct rows *rows, enum row_field field, struct peer *peers,
		       bool *ret_is_above)
{
	enum row_field of_number = of_one[figure_to_sort_by(rows, field)];
	size_t count = 0;

	for (size_t i = 0; i < rows->group_count; i++) {
		struct row row = row_of(rows->groups[i]);

		peers[count] = (struct peer){ .endpoint = row.group->of, .index = i };
		count += rows_number(rows, &row, of_number, &peers[count].number);
	}
	peers_mark_above(peers, count, rows->grouping->above_percent, ret_is_above);
}

/* Those that are above come first, in order. */
static int put_above_first(struct rows *rows, enum row_field field, size_t *ret_count)
{
	_cleanup_free_ const struct group **groups =
		calloc(rows->group_count + 1, sizeof(struct group *));
	_cleanup_free_ struct peer *peers = calloc(rows->group_count + 1, sizeof(*peers));
	_cleanup_free_ bool *is_above = calloc(rows->group_count + 1, sizeof(*is_above));
	size_t count = 0;

	if (!groups || !peers || !is_above)
		return -ENOMEM;
	find_above(rows, field, peers, is_above);
	for (int wanted = 1; wanted >= 0; wanted--) {
		for (size_t i = 0; i < rows->group_count; i++)
			if (is_above[i] == (wanted == 1))
				groups[count++] = rows->groups[i];
		if (wanted)
			*ret_count = count;
	}
	memcpy(rows->groups, groups, rows->group_count * sizeof(struct group *));
	return 0;
}

static int choose(struct rows *rows, enum row_field field, size_t top_count, size_t *ret_count)
{
	int r;

	*ret_count = rows->group_count;
	r = rows->grouping->above_percent > 0 ? put_above_first(rows, field, ret_count) : 0;
	if (top_count > 0 && top_count < *ret_count)
		*ret_count = top_count;
	return r;
}

/* Groups that were folded for want of memory are hidden from the start. */
static int hide_folded(struct rows *rows)
{
	rows->hidden = rows->grouping->folded;
	rows->hidden_count = rows->grouping->folded_count;
	rows->hidden_requests = rows->grouping->folded_requests;
	return distribution_merge(&rows->hidden_distribution, &rows->grouping->folded_distribution);
}

/* Shows the first count groups and sums the rest. */
static int hide_rest(struct rows *rows, size_t count)
{
	int r = 0;

	for (size_t i = count; i < rows->group_count && r == 0; i++) {
		const struct group *group = rows->groups[i];

		costs_add(&rows->hidden, &group->costs);
		rows->hidden_requests += group->request_count;
		if (group->requests)
			r = distribution_merge(&rows->hidden_distribution, group->requests);
	}
	rows->hidden_count += rows->group_count - count;
	rows->group_count = count;
	return r;
}

/* From now on a request that ends below the last one of the first top_count is not shown. */
static void raise_floor(const struct rows *rows, struct grouping *grouping, enum row_field field,
			size_t top_count)
{
	struct grouping_floor floor = { 0 };
	struct row row;

	field = rows_field_sorted_by(rows->grouping, field);
	if (rows->group_count < top_count ||
	    (field != ROW_FIELD_WALL && row_fields[field].source != SOURCE_COST))
		return;
	row = row_of(rows->groups[top_count - 1]);
	floor.is_wall = field == ROW_FIELD_WALL;
	floor.cost = (enum cost)row_fields[field].what;
	if (rows_number(rows, &row, field, &floor.least))
		grouping->floor = floor;
}

static bool may_fold(const struct grouping *grouping, size_t top_count)
{
	size_t count = grouping->group_count - grouping->open_count;

	return count > ROWS_FOLD_AT && count / 2 >= top_count && grouping->above_percent == 0 &&
	       !grouping->is_over_time;
}

/* All but the first ones. */
static int forget_rest(const struct rows *rows, struct grouping *grouping, size_t first_count)
{
	int64_t most_ns = 0;
	int r = 0;

	for (size_t i = first_count; i < rows->group_count && r == 0; i++) {
		struct group *group = (struct group *)rows->groups[i];
		int64_t cpu_ns = group->costs.sums[COST_CPU];

		most_ns = cpu_ns > most_ns ? cpu_ns : most_ns;
		r = grouping_forget(grouping, group);
	}
	if (!grouping->is_by_request)
		saturated_add_to(&grouping->lacking_cpu_ns, most_ns);
	return r;
}

int rows_fold(const struct totals *totals, struct grouping *grouping, enum row_field field,
	      size_t top_count)
{
	size_t first_count = top_count;
	struct rows rows;
	int r;

	if (!may_fold(grouping, top_count))
		return 0;
	rows = (struct rows){ .totals = totals, .grouping = grouping };
	rows.groups = calloc(grouping->group_count, sizeof(struct group *));
	if (!rows.groups)
		return -ENOMEM;
	for (struct group *group = grouping->groups; group; group = group->hh.next)
		if (group->open_count == 0)
			rows.groups[rows.group_count++] = group;
	r = sort(&rows, field);
	if (r == 0 && grouping->is_by_request)
		raise_floor(&rows, grouping, field, top_count);
	else if (first_count < ROWS_KEPT_MIN)
		first_count = ROWS_KEPT_MIN;
	if (r == 0)
		r = forget_rest(&rows, grouping, first_count);
	free(rows.groups);
	return r;
}

static void show(struct rows *rows, enum row_kind kind)
{
	rows->others[rows->other_count++] = kind;
}

int rows_init(struct rows *rows, const struct totals *totals, const struct grouping *grouping,
	      enum row_field field, size_t top_count)
{
	const struct group **groups = calloc(grouping->group_count + 1, sizeof(struct group *));
	const struct group *group;
	size_t count;
	int r;

	if (!groups)
		return -ENOMEM;
	*rows = (struct rows){ .totals = totals, .grouping = grouping, .groups = groups };
	for (group = grouping->groups; group; group = group->hh.next)
		groups[rows->group_count++] = group;
	r = sort(rows, field);
	if (r == 0)
		r = choose(rows, field, top_count, &count);
	if (r == 0)
		r = hide_folded(rows);
	if (r == 0)
		r = hide_rest(rows, count);
	if (r < 0) {
		rows_deinit(rows);
		return r;
	}
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

int rows_show_first(struct rows *rows, size_t count)
{
	if (count >= rows->group_count)
		return 0;
	if (rows->hidden_count == 0) {
		memmove(rows->others + 1, rows->others,
			rows->other_count * sizeof(rows->others[0]));
		rows->others[0] = ROW_KIND_HIDDEN;
		rows->other_count++;
	}
	return hide_rest(rows, count);
}

void rows_deinit(struct rows *rows)
{
	free(rows->groups);
	distribution_deinit(&rows->hidden_distribution);
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
	struct row row;

	assert(index < rows_count(rows));
	if (index < rows->group_count)
		return row_of(rows->groups[index]);
	row = (struct row){ .kind = rows->others[index - rows->group_count] };
	row.costs = costs[row.kind];
	if (row.kind == ROW_KIND_TOTAL) {
		row.request_count = rows->grouping->request_count;
		row.requests = &rows->grouping->requests;
	} else if (row.kind == ROW_KIND_WITHOUT_KEY) {
		row.request_count = rows->grouping->without_value_count;
		row.requests = &rows->grouping->without_value_requests;
	} else if (row.kind == ROW_KIND_HIDDEN && !rows->grouping->is_by_request) {
		row.request_count = rows->hidden_requests;
		row.requests = &rows->hidden_distribution;
	}
	return row;
}

const char *rows_kind_name(enum row_kind kind)
{
	static const char *const names[_ROW_KIND_MAX] = {
		[ROW_KIND_GROUP] = "group",
		[ROW_KIND_HIDDEN] = "hidden",
		[ROW_KIND_WITHOUT_KEY] = "without_key",
		[ROW_KIND_UNATTRIBUTED] = "unattributed",
		[ROW_KIND_OVERFLOW] = "overflow",
		[ROW_KIND_TOTAL] = "total",
	};

	return names[kind];
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

bool rows_park(const struct rows *rows)
{
	bool is_one = rows->grouping->is_by_request;
	int64_t parked_ns, wall_ns;

	for (size_t i = 0; i < rows_count(rows); i++) {
		struct row row = rows_at(rows, i);

		if (rows_number(rows, &row, is_one ? ROW_FIELD_PARKED : ROW_FIELD_PARKED_MEAN,
				&parked_ns) &&
		    rows_number(rows, &row, is_one ? ROW_FIELD_WALL : ROW_FIELD_WALL_MEAN,
				&wall_ns) &&
		    parked_ns > wall_ns / 100)
			return true;
	}
	return false;
}

bool rows_measure(const struct rows *rows, enum cost cost)
{
	for (size_t i = 0; i < rows_count(rows); i++) {
		const struct costs *costs = rows_at(rows, i).costs;

		if (costs->record_count > 0 && costs_has(costs, cost))
			return true;
	}
	return false;
}
