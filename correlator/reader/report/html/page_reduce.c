/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_reduce.h"

#include <errno.h>
#include <stdlib.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "reader/report/html/page_request.h"

enum {
	LOOK_BACK = 16, /* cells to search for one to merge with: more threads stay apart */
	TIMES_LEAST = 64, /* fewer times only if no other detail is left */
};

/* A request with the figures that rank it. */
struct ranked {
	struct page_request *request;
	int64_t cpu_ns;
	int64_t wall_ns;
	bool is_kept;
};

static int compare_cpu(const void *a, const void *b)
{
	return compare_i64(((const struct ranked *)b)->cpu_ns, ((const struct ranked *)a)->cpu_ns);
}

static int compare_wall(const void *a, const void *b)
{
	return compare_i64(((const struct ranked *)b)->wall_ns,
			   ((const struct ranked *)a)->wall_ns);
}

/* Keeps the first `wanted` requests that are not kept yet. */
static void keep(struct ranked *ranked, size_t count, size_t wanted)
{
	for (size_t i = 0; i < count && wanted > 0; i++) {
		wanted -= !ranked[i].is_kept;
		ranked[i].is_kept = true;
	}
}

/* Ranks the requests that have ended or have no cells (with_open: all), and sets is_kept of the
 * most expensive kept_max. The caller frees *ret_ranked. */
static int rank(const struct page_data *data, bool with_open, size_t kept_max,
		struct ranked **ret_ranked, size_t *ret_count)
{
	struct ranked *ranked = calloc(data->request_count + 1, sizeof(*ranked));
	struct page_request *request;
	size_t count = 0;

	if (!ranked)
		return -ENOMEM;
	DL_FOREACH(data->requests, request) {
		int64_t wall_ns = 0;

		if (request->is_open && request->cell_count > 0 && !with_open)
			continue;
		(void)costs_wall_ns(&request->costs, &wall_ns);
		ranked[count++] =
			(struct ranked){ request, request->costs.sums[COST_CPU], wall_ns, false };
	}
	qsort(ranked, count, sizeof(*ranked), compare_cpu);
	keep(ranked, count, kept_max - kept_max / 2);
	qsort(ranked, count, sizeof(*ranked), compare_wall);
	keep(ranked, count, kept_max / 2);
	*ret_ranked = ranked;
	*ret_count = count;
	return 0;
}

/* The group of cells that precede any with a group: that of the first cell that has one. Later
 * cells without a group have that of the last one, as in selection.h. */
static uint32_t first_group(const struct page_request *request)
{
	for (size_t i = 0; i < request->cell_count; i++)
		if (request->cells[i].group != PAGE_NO_NAME)
			return request->cells[i].group;
	return PAGE_NO_NAME;
}

/* Copies a request's samples to nobody; those without a group get the request's first group. */
static int fold_samples(struct page_data *data, const struct page_request *request)
{
	uint32_t group = first_group(request);
	int r = 0;

	for (size_t i = 0; i < request->sample_count && r == 0; i++) {
		struct page_sample sample = request->samples[i];

		if (sample.group == PAGE_NO_NAME)
			sample.group = group;
		r = page_request_add_sample(data, &data->nobody, &sample);
	}
	return r;
}

static int fold(struct page_data *data, struct page_request *request)
{
	uint32_t group = first_group(request);
	int r = 0;

	for (size_t i = 0; i < request->cell_count && r == 0; i++) {
		struct page_cell cell = request->cells[i];

		if (cell.group != PAGE_NO_NAME)
			group = cell.group;
		cell.group = group;
		cell.thread = PAGE_NO_NAME;
		r = page_request_add_cell(data, &data->nobody, &cell);
	}
	if (r == 0 && request->cell_count > 0)
		r = fold_samples(data, request);
	data->folded_requests += request->cell_count > 0;
	data->dropped_slices += request->slice_count;
	page_request_remove(data, request);
	return r;
}

static int fold_all_but(struct page_data *data, bool with_open, size_t kept_max)
{
	_cleanup_free_ struct ranked *ranked = NULL;
	size_t count;
	int r = rank(data, with_open, kept_max, &ranked, &count);

	for (size_t i = 0; i < count && r == 0; i++)
		if (!ranked[i].is_kept)
			r = fold(data, ranked[i].request);
	return r;
}

static void drop_slices(struct page_data *data, struct page_request *request)
{
	data->dropped_slices += request->slice_count;
	data->slice_count -= request->slice_count;
	free(request->slices);
	request->slices = NULL;
	request->slice_count = request->slice_room = 0;
}

/* Drops the slices of the cheaper half of the requests that have ended; if more than half of the
 * limit is left, of all requests. */
static int drop_some_slices(struct page_data *data)
{
	_cleanup_free_ struct ranked *ranked = NULL;
	struct page_request *request;
	size_t count;
	int r = rank(data, false, data->request_count / 2, &ranked, &count);

	for (size_t i = 0; i < count && r == 0; i++)
		if (!ranked[i].is_kept)
			drop_slices(data, ranked[i].request);
	if (r == 0 && data->slice_count > data->limits.slices / 2)
		DL_FOREACH(data->requests, request)
			drop_slices(data, request);
	return r;
}

static bool is_same_place(const struct page_cell *a, const struct page_cell *b)
{
	return a->wall_ns == b->wall_ns && a->part == b->part && a->group == b->group;
}

/* The cell among the last LOOK_BACK that this one can merge into without changing the order in
 * which groups were in force; NULL: none. */
static struct page_cell *find_alike(struct page_cell *cells, size_t count,
				    const struct page_cell *cell)
{
	for (size_t back = 1; back <= count && back <= LOOK_BACK; back++) {
		struct page_cell *other = &cells[count - back];

		if (!is_same_place(other, cell))
			return NULL;
		if (other->thread == cell->thread)
			return other;
	}
	return NULL;
}

static void merge_request(struct page_data *data, struct page_request *request)
{
	size_t kept = 0;

	for (size_t i = 0; i < request->cell_count; i++) {
		struct page_cell cell = request->cells[i];
		struct page_cell *alike;

		cell.wall_ns =
			data->times.times[page_times_find(&data->times, cell.wall_ns)].end_ns;
		alike = find_alike(request->cells, kept, &cell);
		if (alike)
			costs_add(&alike->costs, &cell.costs);
		else
			request->cells[kept++] = cell;
	}
	data->cell_count -= request->cell_count - kept;
	request->cell_count = kept;
}

static int compare_cells(const void *a, const void *b)
{
	const struct page_cell *first = a, *second = b;
	int order = compare_u64(first->wall_ns, second->wall_ns);

	if (order == 0)
		order = compare_u64(first->part, second->part);
	if (order == 0)
		order = compare_u64(first->group, second->group);
	return order ? order : compare_u64(first->thread, second->thread);
}

void page_merge_cells(struct page_data *data)
{
	struct page_request *request, *nobody = &data->nobody;

	DL_FOREACH(data->requests, request)
		merge_request(data, request);
	/* Merges twice: only the sort in between brings all cells of one time together. */
	merge_request(data, nobody);
	if (nobody->cell_count > 0)
		qsort(nobody->cells, nobody->cell_count, sizeof(*nobody->cells), compare_cells);
	merge_request(data, nobody);
}

static void forget_threads(struct page_request *request)
{
	for (size_t i = 0; i < request->cell_count; i++)
		request->cells[i].thread = PAGE_NO_NAME;
}

/* Drops the least important detail; false: there is none left. */
static bool give_up_detail(struct page_data *data, int *r)
{
	struct page_request *request;

	if (data->has_threads) {
		data->has_threads = false;
		forget_threads(&data->nobody);
	} else if (data->times.count > TIMES_LEAST) {
		page_times_halve(&data->times);
	} else if (data->has_request_threads) {
		data->has_request_threads = false;
		DL_FOREACH(data->requests, request)
			forget_threads(request);
	} else if (data->request_count > 0) {
		*r = fold_all_but(data, true, data->request_count / 2);
	} else if (data->times.count > 2) {
		page_times_halve(&data->times);
	} else {
		return false;
	}
	return true;
}

/* Open requests stay, so this allows for as many as totals keep open, and for those known from
 * slices only. */
static bool has_many_requests(const struct page_data *data)
{
	size_t kept = data->limits.requests;

	return data->request_count > kept + kept / 4 + 2 * (size_t)REQUESTS_OPEN_MAX;
}

int page_reduce(struct page_data *data)
{
	int r = 0;

	if (has_many_requests(data))
		r = fold_all_but(data, false, data->limits.requests);
	if (r == 0 && data->slice_count > data->limits.slices)
		r = drop_some_slices(data);
	if (r < 0 || data->cell_count <= data->limits.cells)
		return r;
	page_merge_cells(data);
	while (r == 0 && data->cell_count > data->limits.cells - data->limits.cells / 4 &&
	       give_up_detail(data, &r))
		page_merge_cells(data);
	return r;
}

int page_reduce_finally(struct page_data *data)
{
	return data->request_count > data->limits.requests
		       ? fold_all_but(data, false, data->limits.requests)
		       : 0;
}
