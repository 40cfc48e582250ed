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
#include "reader/aggregate/top.h"

enum {
	SPLIT_ERROR_PERCENT = 5
};

/* Only if every request was measured; otherwise the percentile describes a different set. */
static bool figure_of(const struct row *row, enum figure field, int64_t *ret_number)
{
	const struct histogram *figure;

	if (!row->requests)
		return false;
	figure = &row->requests->costs[figure_infos[field].what];
	if (figure->count != row->request_count)
		return false;
	if (figure_infos[field].source == FIGURE_SOURCE_MEAN)
		return histogram_mean(figure, ret_number);
	return histogram_percentile(figure, figure_infos[field].percent, ret_number);
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
	uint64_t duration_ns = recording_duration_ns(&rows->totals->selection.recording);
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

/* Shares, percentages, rates and means of counts. */
bool rows_real(const struct rows *rows, const struct row *row, enum figure figure,
	       double *ret_value)
{
	const struct totals *totals = rows->totals;

	switch (figure) {
	case FIGURE_SHARE:
		return costs_share_percent(row->costs, &totals->all, ret_value);
	case FIGURE_CPU_PERCENT:
		return totals_cpu_percent(totals, row->costs, ret_value);
	case FIGURE_MACHINE_PERCENT:
		return totals_machine_percent(totals, row->costs, ret_value);
	case FIGURE_IO_PERCENT:
		return costs_io_percent(row->costs, ret_value);
	case FIGURE_USABLE_THREADS:
		return costs_usable_threads(row->costs, ret_value);
	case FIGURE_RATE:
		return rate_of(rows, row, ret_value);
	case FIGURE_SYSCALLS_MEAN:
		return syscalls_mean_of(row, ret_value);
	default:
		return false;
	}
}

/* Points in time, times of one request, the time of children, and numbers of requests. */
static bool integer_of(const struct rows *rows, const struct row *row, enum figure figure,
		       int64_t *ret_number)
{
	const struct costs *costs = row->costs;
	bool is_one = row->group && rows->grouping->is_by_request;
	bool has_span = row->group && !costs->lacks_span;

	switch (figure) {
	case FIGURE_REQUESTS:
		*ret_number = (int64_t)row->request_count;
		return row->request_count > 0;
	case FIGURE_WALL:
		return is_one && costs_wall_ns(costs, ret_number);
	case FIGURE_PARKED:
		return is_one && costs_parked_ns(costs, ret_number);
	case FIGURE_BEGAN:
		*ret_number = costs->first_ns;
		return has_span;
	case FIGURE_ENDED:
		*ret_number = costs->last_ns;
		return has_span;
	case FIGURE_CHILDREN:
		*ret_number = costs->children_ns;
		return costs->children_ns > 0 || rows->totals->selection.recording.has_children;
	default:
		return false;
	}
}

bool rows_is_real(enum figure figure)
{
	return figure_infos[figure].unit == FIGURE_UNIT_PERCENT ||
	       figure_infos[figure].unit == FIGURE_UNIT_RATE;
}

bool rows_number(const struct rows *rows, const struct row *row, enum figure figure,
		 int64_t *ret_number)
{
	double value;
	enum cost cost;

	switch (figure_infos[figure].source) {
	case FIGURE_SOURCE_COST:
		cost = (enum cost)figure_infos[figure].what;
		if (!costs_has(row->costs, cost))
			return false;
		*ret_number = row->costs->sums[cost];
		return true;
	case FIGURE_SOURCE_MEAN:
	case FIGURE_SOURCE_PERCENTILE:
		return figure_of(row, figure, ret_number);
	default:
		if (rows_is_real(figure))
			return rows_real(rows, row, figure, &value) && in_parts(value, ret_number);
		return integer_of(rows, row, figure, ret_number);
	}
}

/* Unknown names sort last. */
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
	enum figure field = *(const enum figure *)context;
	size_t part;
	int order;

	if (figure_infos[field].source == FIGURE_SOURCE_NAME)
		return compare_names(first->group, second->group,
				     (enum group_name)figure_infos[field].what);
	order = compare_i64(second->number, first->number);
	if (order == 0 && figure_part(field, &part) && part > 0 && part < first->group->part_count)
		order = grouping_compare_part(first->group, second->group, part);
	return order ? order : grouping_compare(first->group, second->group);
}

/* Percentages sort like cpu, which is not rounded to parts. A single request has no mean or
 * percentiles: it sorts by the figure itself. */
enum figure rows_sorted_by(const struct grouping *grouping, enum figure figure)
{
	enum figure_source source = figure_infos[figure].source;

	if (figure_infos[figure].unit == FIGURE_UNIT_PERCENT)
		return FIGURE_CPU;
	if (figure == FIGURE_BLOCKED_ON)
		return FIGURE_BLOCKED;
	if (grouping->is_by_request &&
	    (source == FIGURE_SOURCE_MEAN || source == FIGURE_SOURCE_PERCENTILE))
		return figure_of_request((enum request_cost)figure_infos[figure].what);
	return figure;
}

/* Ranks by duration if the sort column is no figure that has percentiles. */
static enum figure figure_to_rank(const struct rows *rows, enum figure figure)
{
	enum figure number = rows_sorted_by(rows->grouping, figure);

	for (enum request_cost cost = 0; cost < _REQUEST_COST_MAX; cost++)
		if (figure_of_request(cost) == number)
			return number;
	return FIGURE_WALL;
}

static int sort(struct rows *rows, enum figure field)
{
	struct sortable *sortables = calloc(rows->group_count + 1, sizeof(*sortables));
	enum figure of_number = rows_sorted_by(rows->grouping, field);

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

/* Marks the requests above the percentile of their endpoint. peers and ret_is_above have room for
 * each request. */
static void find_above(const struct rows *rows, enum figure field, struct peer *peers,
		       bool *ret_is_above)
{
	enum figure of_number = figure_to_rank(rows, field);
	size_t count = 0;

	for (size_t i = 0; i < rows->group_count; i++) {
		struct row row = row_of(rows->groups[i]);

		peers[count] = (struct peer){ .endpoint = row.group->of, .index = i };
		count += rows_number(rows, &row, of_number, &peers[count].number);
	}
	peers_mark_above(peers, count, rows->grouping->above_percent, ret_is_above);
}

/* Moves the marked groups to the front, in order. *ret_count: their number. */
static int put_above_first(struct rows *rows, enum figure field, size_t *ret_count)
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

static int choose(struct rows *rows, enum figure field, size_t top_count, size_t *ret_count)
{
	int r;

	*ret_count = rows->group_count;
	r = rows->grouping->above_percent > 0 ? put_above_first(rows, field, ret_count) : 0;
	*ret_count = top_shown(*ret_count, top_count);
	return r;
}

/* Groups that were folded to bound memory are hidden from the start. */
static int hide_folded(struct rows *rows)
{
	rows->hidden = rows->grouping->folded;
	rows->hidden_count = rows->grouping->folded_count;
	rows->hidden_requests = rows->grouping->folded_requests;
	return distribution_merge(&rows->hidden_distribution, &rows->grouping->folded_distribution);
}

/* Keeps the first count groups and sums up the rest in hidden. */
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

/* From now on a request that ends below the last of the first top_count rows does not become a
 * group. */
static void raise_floor(const struct rows *rows, struct grouping *grouping, enum figure field,
			size_t top_count)
{
	struct grouping_floor floor = { 0 };
	struct row row;

	field = rows_sorted_by(rows->grouping, field);
	if (rows->group_count < top_count ||
	    (field != FIGURE_WALL && figure_infos[field].source != FIGURE_SOURCE_COST))
		return;
	row = row_of(rows->groups[top_count - 1]);
	floor.is_wall = field == FIGURE_WALL;
	floor.cost = (enum cost)figure_infos[field].what;
	if (rows_number(rows, &row, field, &floor.least))
		grouping->floor = floor;
}

static bool may_fold(const struct grouping *grouping, size_t top_count)
{
	size_t count = grouping->group_count - grouping->open_count;

	return count > ROWS_FOLD_AT && count / 2 >= top_count && grouping->above_percent == 0 &&
	       !grouping->is_over_time;
}

/* Forgets all but the first first_count groups. */
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

int rows_fold(const struct totals *totals, struct grouping *grouping, enum figure field,
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
	      enum figure field, size_t top_count)
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

/* Below this share of a row's CPU the split error does not matter. */
static bool split_error_matters(const struct rows *rows)
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

/* Whether the requests of some row were on no thread for more than 1 % of their time. */
static bool park(const struct rows *rows)
{
	bool is_one = rows->grouping->is_by_request;
	int64_t parked_ns, wall_ns;

	for (size_t i = 0; i < rows_count(rows); i++) {
		struct row row = rows_at(rows, i);

		if (rows_number(rows, &row, is_one ? FIGURE_PARKED : FIGURE_PARKED_MEAN,
				&parked_ns) &&
		    rows_number(rows, &row, is_one ? FIGURE_WALL : FIGURE_WALL_MEAN, &wall_ns) &&
		    parked_ns > wall_ns / 100)
			return true;
	}
	return false;
}

static bool measure(const struct rows *rows, enum figure figure)
{
	int64_t number;

	for (size_t i = 0; i < rows_count(rows); i++) {
		struct row row = rows_at(rows, i);

		if (row.costs->record_count > 0 && rows_number(rows, &row, figure, &number))
			return true;
	}
	return false;
}

/* Whether the total of all rows is above 0. */
static bool use(const struct rows *rows, enum figure figure)
{
	const struct row row = { .kind = ROW_KIND_TOTAL, .costs = &rows->totals->all };
	enum cost cost;
	int64_t number;

	/* Records that lack a cost do not hide those that have it. */
	if (figure_cost(figure, &cost))
		return row.costs->sums[cost] > 0;
	if (figure == FIGURE_BLOCKED_ON)
		return costs_most_blocked_on(row.costs) >= 0 && row.costs->sums[COST_BLOCKED] > 0;
	return rows_number(rows, &row, figure, &number) && number > 0;
}

static bool have_name(const struct rows *rows, enum figure figure)
{
	/* Shown if endpoints are recorded: a request without one is shown as such. */
	if (figure == FIGURE_ENDPOINT)
		return recording_has_key(&rows->totals->selection.recording, "endpoint");
	return grouping_has_name(rows->grouping, (enum group_name)figure_infos[figure].what);
}

bool rows_tell(const struct rows *rows, enum figure figure)
{
	if (figure_is_of_requests(figure) && rows->grouping->request_count == 0)
		return false;
	switch (figure_infos[figure].when) {
	case FIGURE_WHEN_MEASURED:
		return measure(rows, figure);
	case FIGURE_WHEN_USED:
		return use(rows, figure);
	case FIGURE_WHEN_NAMED:
		return have_name(rows, figure);
	case FIGURE_WHEN_PARKS:
		return park(rows);
	case FIGURE_WHEN_SPLIT_MATTERS:
		return split_error_matters(rows);
	default:
		return true;
	}
}
