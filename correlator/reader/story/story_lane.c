/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/story/story_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"

static const char nothing[] = " ";
static const char *const symbols[_SCHED_STATE_MAX] = {
	[SCHED_RUNNING] = "█",
	[SCHED_RUN_QUEUE] = "▒",
	[SCHED_BLOCKED] = "·",
	[SCHED_UNINTERRUPTIBLE] = "•",
};
static const char *const heights[STORY_LANE_LEVELS + 1] = {
	"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
};

const char *story_lane_symbol(enum sched_state state)
{
	return symbols[state];
}

int64_t story_lane_cell_ns(const struct story *story, size_t cells_max)
{
	return (story->last_ns - story->first_ns) / (int64_t)cells_max + 1;
}

/* Time by cell: part_ns is that of the first and last cell of each span; change marks where the
 * cells between them, which it fills, begin (+1) and end (-1). */
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

static int compare_owners(const void *a, const void *b)
{
	const struct story_lane_owner *one = a, *other = b;
	int order = story_thread_compare(one->thread, other->thread);

	return order ? order : (one->fiber > other->fiber) - (one->fiber < other->fiber);
}

/* Sorts the owners and removes duplicates. Returns the number left. */
static size_t sort_owners(struct story_lane_owner *owners, size_t count)
{
	size_t kept = 0;

	if (count > 0)
		qsort(owners, count, sizeof(*owners), compare_owners);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || compare_owners(&owners[kept - 1], &owners[i]) != 0)
			owners[kept++] = owners[i];
	return kept;
}

int story_lane_owners(const struct story *story, struct story_lane_owner **ret_owners,
		      size_t *ret_count)
{
	const struct story_thread *thread = story->threads.table;
	struct story_lane_owner *owners;
	size_t count = 0;

	owners = calloc(HASH_COUNT(thread) + story->slice_count + 1, sizeof(*owners));
	if (!owners)
		return -ENOMEM;
	for (; thread; thread = thread->hh.next)
		if (story_thread_is_of_request(thread) && !thread->has_several_fibers)
			owners[count++] = (struct story_lane_owner){ .thread = thread };
	for (size_t i = 0; i < story->slice_count; i++) {
		const struct story_slice *slice = &story->slices[i];

		if (slice->thread->has_several_fibers)
			owners[count++] =
				(struct story_lane_owner){ slice->thread, slice->view.fiber };
	}
	*ret_count = sort_owners(owners, count);
	*ret_owners = owners;
	return 0;
}

static bool is_owned(const struct story_slice *slice, const struct story_lane_owner *owner)
{
	return slice->thread == owner->thread &&
	       (!owner->thread->has_several_fibers || slice->view.fiber == owner->fiber);
}

static const char *find_longest(const struct sums sums[static _SCHED_STATE_MAX],
				const int64_t whole[static _SCHED_STATE_MAX], size_t cell,
				int64_t cell_ns)
{
	const char *symbol = nothing;
	int64_t longest_ns = 0;

	for (int state = 0; state < _SCHED_STATE_MAX; state++) {
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

void story_lane_of_slices(const struct story *story, const struct story_lane_owner *owner,
			  size_t cells_max, struct story_lane *ret_lane)
{
	_cleanup_free_ struct sums *sums = calloc(_SCHED_STATE_MAX, sizeof(*sums));
	int64_t cell_ns = story_lane_cell_ns(story, cells_max);
	int64_t whole[_SCHED_STATE_MAX] = { 0 };

	ret_lane->cell_count = 0;
	if (!sums)
		return;
	for (size_t i = 0; i < story->slice_count; i++) {
		const struct story_slice *slice = &story->slices[i];

		if (is_owned(slice, owner))
			add_stretch(&sums[slice->view.state], cell_ns,
				    slice->view.start_ns - story->first_ns,
				    slice->view.end_ns - story->first_ns);
	}
	ret_lane->cell_count = count_cells(story, cell_ns);
	for (size_t cell = 0; cell < ret_lane->cell_count; cell++) {
		for (int state = 0; state < _SCHED_STATE_MAX; state++)
			whole[state] += sums[state].change[cell];
		ret_lane->cells[cell] = find_longest(sums, whole, cell, cell_ns);
	}
}

/* The height for cpu_ns of length_ns; above 0 if anything ran. */
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
	return compare_i64(*(const int64_t *)b, *(const int64_t *)a);
}

/* The least weight that is shown, and how many entries of exactly that weight are shown. */
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
	bool is_open = false; /* the last line can take more entries */
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
