/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/diff.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"

static const enum figure figures[_DIFF_MAX] = {
	[DIFF_CPU_MEAN] = FIGURE_CPU_MEAN,
	[DIFF_CPU_P99] = FIGURE_CPU_P99,
	[DIFF_WALL_MEAN] = FIGURE_WALL_MEAN,
	[DIFF_WALL_P99] = FIGURE_WALL_P99,
};

const struct figure_info *diff_info(enum diff_what what)
{
	return &figure_infos[figures[what]];
}

static bool is_mean(enum diff_what what)
{
	return diff_info(what)->source == FIGURE_SOURCE_MEAN;
}

const struct group *diff_group(const struct diff_row *row)
{
	return row->before.group ? row->before.group : row->after.group;
}

bool diff_has_several_hosts(const struct diff *diff)
{
	return diff->before->selection.recording.has_several_hosts ||
	       diff->after->selection.recording.has_several_hosts;
}

uint64_t diff_needed(enum diff_what what)
{
	return is_mean(what) ? STATISTICS_MEAN_MIN : statistics_needed(diff_info(what)->percent);
}

bool diff_has_changed(const struct diff_figure *figure)
{
	return figure->is_tested && statistics_is_change(&figure->difference, figure->corrected);
}

const char *diff_verdict(const struct diff_figure *figure)
{
	if (!diff_has_changed(figure))
		return "no significant change";
	return figure->difference.value > 0 ? "MORE" : "LESS";
}

static int compare_groups(const void *a, const void *b)
{
	return grouping_compare(*(const struct group *const *)a, *(const struct group *const *)b);
}

/* Sorts by keys. */
static const struct group **sort_groups(const struct grouping *grouping)
{
	const struct group **groups = calloc(grouping->group_count + 1, sizeof(struct group *));
	size_t count = 0;

	if (!groups)
		return NULL;
	for (const struct group *group = grouping->groups; group; group = group->hh.next)
		groups[count++] = group;
	qsort(groups, count, sizeof(struct group *), compare_groups);
	return groups;
}

/* Only if every request was measured, as in rows.c; else NULL. */
static const struct histogram *figure_of(const struct distribution *requests, uint64_t count,
					 enum diff_what what)
{
	const struct histogram *figure = requests ? &requests->costs[diff_info(what)->what] : NULL;

	return figure && figure->count > 0 && figure->count == count ? figure : NULL;
}

static bool value_of(const struct histogram *figure, enum diff_what what, int64_t *ret_ns)
{
	return is_mean(what) ? histogram_mean(figure, ret_ns)
			     : histogram_percentile(figure, diff_info(what)->percent, ret_ns);
}

static int compare(struct diff_row *row, const struct distribution *before,
		   const struct distribution *after)
{
	int r = 0;

	for (int i = 0; i < _DIFF_MAX && r >= 0; i++) {
		enum diff_what what = (enum diff_what)i;
		struct diff_figure *figure = &row->figures[what];
		const struct histogram *first = figure_of(before, row->before.request_count, what);
		const struct histogram *second = figure_of(after, row->after.request_count, what);

		figure->is_known = first && second && value_of(first, what, &figure->before_ns) &&
				   value_of(second, what, &figure->after_ns);
		if (!figure->is_known)
			continue;
		r = is_mean(what) ? statistics_compare_means(first, second, &figure->difference)
				  : statistics_compare_percentiles(first, second,
								   diff_info(what)->percent,
								   &figure->difference);
		figure->is_tested = r > 0;
	}
	return r < 0 ? r : 0;
}

static struct diff_side side_of(const struct group *group)
{
	if (!group)
		return (struct diff_side){ 0 };
	return (struct diff_side){ group, &group->costs, group->request_count };
}

static int add_row(struct diff *diff, const struct group *before, const struct group *after)
{
	struct diff_row *row = &diff->rows[diff->row_count++];

	*row = (struct diff_row){ .before = side_of(before), .after = side_of(after) };
	return compare(row, before ? before->requests : NULL, after ? after->requests : NULL);
}

static int add_all_requests(struct diff *diff)
{
	const struct grouping *before = &diff->before->groupings[0],
			      *after = &diff->after->groupings[0];
	struct diff_row *row = &diff->rows[diff->row_count++];

	*row = (struct diff_row){
		.before = { NULL, &diff->before->all, before->request_count },
		.after = { NULL, &diff->after->all, after->request_count },
	};
	return compare(row, &before->requests, &after->requests);
}

/* Pairs the groups of both sides; both lists are sorted by keys. */
static int add_groups(struct diff *diff, const struct group *const *before,
		      const struct group *const *after)
{
	int r = 0;

	while (r == 0 && (*before || *after)) {
		int order = !*before ? 1 : !*after ? -1 : grouping_compare(*before, *after);

		r = add_row(diff, order <= 0 ? *before : NULL, order >= 0 ? *after : NULL);
		before += order <= 0;
		after += order >= 0;
	}
	return r;
}

static int correct(struct diff *diff)
{
	double *probabilities = calloc(diff->row_count * _DIFF_MAX, sizeof(*probabilities));
	size_t count = 0;
	int r;

	if (!probabilities)
		return -ENOMEM;
	for (size_t i = 0; i < diff->row_count * _DIFF_MAX; i++) {
		const struct diff_figure *figure =
			&diff->rows[i / _DIFF_MAX].figures[i % _DIFF_MAX];

		if (figure->is_tested)
			probabilities[count++] = figure->difference.probability;
	}
	r = statistics_correct(probabilities, count);
	for (size_t i = 0; i < diff->row_count * _DIFF_MAX && r == 0; i++) {
		struct diff_figure *figure = &diff->rows[i / _DIFF_MAX].figures[i % _DIFF_MAX];

		if (!figure->is_tested)
			continue;
		figure->corrected = probabilities[diff->tested_count++];
		diff->changed_count += diff_has_changed(figure);
	}
	free(probabilities);
	return r;
}

static bool has_row_changed(const struct diff_row *row)
{
	for (int what = 0; what < _DIFF_MAX; what++)
		if (diff_has_changed(&row->figures[what]))
			return true;
	return false;
}

static int64_t cpu_of(const struct diff_row *row)
{
	int64_t before = row->before.costs ? row->before.costs->sums[COST_CPU] : 0;

	return row->after.costs ? saturated_add(before, row->after.costs->sums[COST_CPU]) : before;
}

static int compare_rows(const void *a, const void *b)
{
	const struct diff_row *first = a, *second = b;
	bool has_first = has_row_changed(first), has_second = has_row_changed(second);
	int order = has_second - has_first;

	if (order == 0)
		order = compare_i64(cpu_of(second), cpu_of(first));
	return order ? order : grouping_compare(diff_group(first), diff_group(second));
}

int diff_init(struct diff *diff, const struct totals *before, const struct totals *after)
{
	const struct group **first = sort_groups(&before->groupings[0]);
	const struct group **second = sort_groups(&after->groupings[0]);
	size_t count = before->groupings[0].group_count + after->groupings[0].group_count + 1;
	int r = -ENOMEM;

	*diff = (struct diff){ .before = before,
			       .after = after,
			       .rows = calloc(count, sizeof(struct diff_row)) };
	if (first && second && diff->rows) {
		r = add_groups(diff, first, second);
		if (r == 0)
			r = add_all_requests(diff);
		if (r == 0)
			r = correct(diff);
	}
	if (r == 0)
		qsort(diff->rows, diff->row_count - 1, sizeof(struct diff_row), compare_rows);
	else
		diff_deinit(diff);
	free(first);
	free(second);
	return r;
}

void diff_deinit(struct diff *diff)
{
	free(diff->rows);
	*diff = (struct diff){ 0 };
}
