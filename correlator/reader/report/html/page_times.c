/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_times.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int page_times_init(struct page_times *times, size_t count_max)
{
	assert(count_max >= 2);
	*times = (struct page_times){ .count_max = count_max };
	times->times = calloc(count_max, sizeof(*times->times));
	return times->times ? 0 : -ENOMEM;
}

void page_times_deinit(struct page_times *times)
{
	free(times->times);
	*times = (struct page_times){ 0 };
}

/* The index of the first time that did not end before wall_ns; count if all did. */
static size_t search(const struct page_times *times, uint64_t wall_ns)
{
	size_t low = 0, high = times->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (times->times[middle].end_ns < wall_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

size_t page_times_find(const struct page_times *times, uint64_t wall_ns)
{
	size_t index = search(times, wall_ns);

	assert(times->count > 0);
	return index < times->count ? index : times->count - 1;
}

static void merge(struct page_time *later, const struct page_time *earlier)
{
	if (earlier->start_ns < later->start_ns)
		later->start_ns = earlier->start_ns;
	saturated_add_to(&later->self_cpu_ns, earlier->self_cpu_ns);
	books_merge(&later->books, &earlier->books);
}

void page_times_halve(struct page_times *times)
{
	/* The last time stays: if the count is odd, the first one is not merged. */
	size_t kept = times->count % 2;

	for (size_t i = kept; i < times->count; i += 2) {
		merge(&times->times[i + 1], &times->times[i]);
		times->times[kept++] = times->times[i + 1];
		times->merged_count++;
	}
	times->count = kept;
}

/* Finds the time of a window that ended at wall_ns, or adds one. Once times have been merged, a
 * window that ended before the last time goes into the next time. */
static struct page_time *provide(struct page_times *times, uint64_t wall_ns)
{
	size_t index = search(times, wall_ns);
	bool is_there = index < times->count && times->times[index].end_ns == wall_ns;

	if (is_there || (times->merged_count > 0 && index < times->count))
		return &times->times[index];
	if (times->count == times->count_max) {
		page_times_halve(times);
		return provide(times, wall_ns);
	}
	memmove(&times->times[index + 1], &times->times[index],
		(times->count - index) * sizeof(*times->times));
	times->times[index] = (struct page_time){ .end_ns = wall_ns, .start_ns = wall_ns };
	times->count++;
	return &times->times[index];
}

int page_times_add(struct page_times *times, const struct record_view *record)
{
	struct page_time *time = provide(times, record->wall_ns);
	int64_t window_ns = 0;
	uint64_t start_ns;

	/* As in recording.c: only the windows of cpu and balance records make a duration. */
	if (record->kind == RECORD_KIND_CPU || record->kind == RECORD_KIND_BALANCE) {
		(void)record_view_count(record, RECORD_FIELD(balance, window_ns), &window_ns);
		start_ns = (uint64_t)window_ns < record->wall_ns
				   ? record->wall_ns - (uint64_t)window_ns
				   : 0;
		if (start_ns < time->start_ns)
			time->start_ns = start_ns;
	}
	if (record->kind == RECORD_KIND_SELF)
		(void)record_view_add(record, RECORD_FIELD(self, own_cpu_ns), &time->self_cpu_ns);
	if (record->kind == RECORD_KIND_GAP)
		books_add_gap(&time->books, record);
	return record->kind == RECORD_KIND_BALANCE ? books_add_balance(&time->books, record) : 0;
}
