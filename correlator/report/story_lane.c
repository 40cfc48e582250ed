/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/story_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

static const char nothing[] = " ";
static const char *const symbols[_STORY_STATE_MAX] = {
	[STORY_STATE_RUNNING] = "█",
	[STORY_STATE_RUN_QUEUE] = "▒",
	[STORY_STATE_BLOCKED] = "·",
	[STORY_STATE_UNINTERRUPTIBLE] = "•",
};
static const char *const heights[STORY_LANE_LEVELS + 1] = {
	"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
};

const char *story_lane_symbol(enum story_state state)
{
	return symbols[state];
}

int64_t story_lane_cell_ns(const struct story *story, size_t cells_max)
{
	return (story->last_ns - story->first_ns) / (int64_t)cells_max + 1;
}

/* What was in each part: of the outer ones of each stretch apart, of those between as a change. */
struct sums {
	int64_t part_ns[STORY_LANE_CELLS_MAX];
	int64_t change[STORY_LANE_CELLS_MAX + 1];
};

static void add_stretch(struct sums *sums, int64_t cell_ns, int64_t start_ns, int64_t end_ns)
{
	int64_t first = start_ns / cell_ns, last = end_ns / cell_ns;

	if (first == last) {
		saturated_add_to(&sums->part_ns[first], end_ns - start_ns);
		return;
	}
	saturated_add_to(&sums->part_ns[first], (first + 1) * cell_ns - start_ns);
	saturated_add_to(&sums->part_ns[last], end_ns - last * cell_ns);
	sums->change[first + 1]++;
	sums->change[last]--;
}

static size_t count_cells(const struct story *story, int64_t cell_ns)
{
	return (size_t)((story->last_ns - story->first_ns) / cell_ns) + 1;
}

static const char *find_longest(const struct sums sums[static _STORY_STATE_MAX],
				const int64_t whole[static _STORY_STATE_MAX], size_t cell,
				int64_t cell_ns)
{
	const char *symbol = nothing;
	int64_t longest_ns = 0;

	for (int state = 0; state < _STORY_STATE_MAX; state++) {
		int64_t ns;

		if (__builtin_mul_overflow(whole[state], cell_ns, &ns))
			ns = INT64_MAX;
		saturated_add_to(&ns, sums[state].part_ns[cell]);
		if (ns > longest_ns) {
			longest_ns = ns;
			symbol = symbols[state];
		}
	}
	return symbol;
}

void story_lane_of_slices(const struct story *story, const struct story_thread *thread,
			  size_t cells_max, struct story_lane *ret_lane)
{
	_cleanup_free_ struct sums *sums = calloc(_STORY_STATE_MAX, sizeof(*sums));
	int64_t cell_ns = story_lane_cell_ns(story, cells_max);
	int64_t whole[_STORY_STATE_MAX] = { 0 };

	ret_lane->cell_count = 0;
	if (!sums)
		return;
	for (size_t i = 0; i < story->slice_count; i++) {
		const struct story_slice *slice = &story->slices[i];

		if (slice->thread == thread)
			add_stretch(&sums[slice->state], cell_ns, slice->start_ns - story->first_ns,
				    slice->end_ns - story->first_ns);
	}
	ret_lane->cell_count = count_cells(story, cell_ns);
	for (size_t cell = 0; cell < ret_lane->cell_count; cell++) {
		for (int state = 0; state < _STORY_STATE_MAX; state++)
			whole[state] += sums[state].change[cell];
		ret_lane->cells[cell] = find_longest(sums, whole, cell, cell_ns);
	}
}

/* Of a stretch of some length; what ran at all is never nothing. */
static size_t height_of(int64_t cpu_ns, int64_t length_ns)
{
	double part = length_ns > 0 ? (double)cpu_ns / (double)length_ns : 1;

	if (cpu_ns <= 0)
		return 0;
	if (part >= 1)
		return STORY_LANE_LEVELS;
	return 1 + (size_t)(part * (STORY_LANE_LEVELS - 1) + 0.5);
}

void story_lane_of_windows(const struct story *story, const struct story_thread *thread,
			   size_t cells_max, struct story_lane *ret_lane)
{
	int64_t cell_ns = story_lane_cell_ns(story, cells_max);
	size_t levels[STORY_LANE_CELLS_MAX] = { 0 };

	ret_lane->cell_count = count_cells(story, cell_ns);
	for (size_t cell = 0; cell < ret_lane->cell_count; cell++)
		ret_lane->cells[cell] = nothing;
	for (size_t i = 0; i < story->window_count; i++) {
		const struct costs *costs = &story->windows[i].costs;
		int64_t first = (costs->first_ns - story->first_ns) / cell_ns;
		int64_t last = (costs->last_ns - story->first_ns) / cell_ns;
		size_t level;

		if (story->windows[i].thread != thread || costs->lacks_span)
			continue;
		level = height_of(costs->sums[COST_CPU], costs->last_ns - costs->first_ns);
		for (int64_t cell = first; cell <= last; cell++) {
			if (level > levels[cell] || ret_lane->cells[cell] == nothing)
				ret_lane->cells[cell] = heights[level];
			levels[cell] = level > levels[cell] ? level : levels[cell];
		}
	}
}

static int compare_descending(const void *a, const void *b)
{
	int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;

	return (one < other) - (one > other);
}

/* The least weight that is shown, and how many of just that weight. */
static int find_least(const int64_t *weights, size_t count, size_t shown_max, int64_t *ret_least,
		      size_t *ret_of_least)
{
	_cleanup_free_ int64_t *sorted = malloc(count * sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	memcpy(sorted, weights, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), compare_descending);
	*ret_least = sorted[shown_max - 1];
	*ret_of_least = 0;
	for (size_t i = 0; i < shown_max; i++)
		*ret_of_least += sorted[i] == *ret_least;
	return 0;
}

int story_fold(const int64_t *weights, size_t count, size_t shown_max,
	       struct story_lines *ret_lines, size_t *ret_line_count)
{
	size_t of_least = count, line_count = 0;
	bool is_open = false; /* the last line takes more */
	int64_t least = INT64_MIN;
	int r = 0;

	if (shown_max > 0 && count > 2 * shown_max)
		r = find_least(weights, count, shown_max, &least, &of_least);
	if (r < 0)
		return r;
	for (size_t i = 0; i < count; i++) {
		bool is_shown = weights[i] > least || (weights[i] == least && of_least > 0);

		if (is_shown && weights[i] == least)
			of_least--;
		if (!is_shown && is_open)
			ret_lines[line_count - 1].count++;
		else
			ret_lines[line_count++] = (struct story_lines){ i, 1 };
		is_open = !is_shown;
	}
	*ret_line_count = line_count;
	return 0;
}
