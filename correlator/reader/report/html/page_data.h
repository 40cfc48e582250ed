/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a page must know to answer for any span of time and any group by itself: for each request
 * what it cost in each window and on each thread (a cell), its slices and the samples of its stacks
 * where they were recorded, what was charged to no request, and the books of each window. It
 * listens to totals, so that it has what they have.
 *
 * Bounded by page_limits: of more requests the costliest are kept whole, by CPU and by wall time,
 * and of the others the sums of each window. Where that is not enough, windows become one, and then
 * threads are not told apart. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "figures/costs.h"
#include "reader/aggregate/totals.h"
#include "reader/profile/frames.h"
#include "reader/profile/stacks.h"
#include "reader/report/html/page_names.h"
#include "reader/report/html/page_times.h"
#include "record/sched_state.h"

enum {
	PAGE_REQUESTS_MAX = 100000, /* kept whole */
	PAGE_CELLS_MAX = 500000, /* 80 MB */
	PAGE_SLICES_MAX = 1000000, /* 40 MB */
	PAGE_SAMPLES_MAX = 500000, /* 20 MB */
	PAGE_GROUPS_MAX = 10000,
	PAGE_THREADS_MAX = 65536,
};

struct page_limits {
	size_t requests; /* >= 2 */
	size_t cells; /* >= 2 */
	size_t slices;
	size_t samples;
	size_t times; /* >= 2 */
	size_t groups;
	size_t threads;
};

/* What a cell or a slice says of is what it is charged to. */
struct page_cell {
	uint64_t wall_ns; /* of its window */
	uint32_t group; /* page_names; PAGE_NO_NAME: it has no such key */
	uint32_t thread;
	enum totals_part part;
	struct costs costs;
};

struct page_slice {
	int64_t start_ns; /* wall clock */
	int64_t end_ns;
	uint32_t thread;
	uint32_t cpu_plus_1; /* 0: it was not running */
	uint32_t woken_by_tid; /* 0: not known */
	uint32_t fiber; /* 0: not known */
	enum sched_state state;
};

/* What a sample record says. */
struct page_sample {
	uint64_t wall_ns; /* of its window */
	enum stacks_measure measure;
	uint64_t samples; /* these two as of stacks_weigh */
	uint64_t stands_for_ns;
	struct frame *frame; /* the innermost one; NULL: there was no room for it, or no id */
	uint32_t group;
	enum totals_part part;
};

struct page_request {
	struct page_cell *cells; /* in the order of its records */
	size_t cell_count, cell_room;
	struct page_slice *slices;
	size_t slice_count, slice_room;
	struct page_sample *samples;
	size_t sample_count, sample_room;
	struct costs costs;
	bool is_open; /* in the table: more may come of it */
	struct page_request *prev, *next;
	UT_hash_handle hh;
	size_t id_bytes;
	char *id; /* not NUL-terminated; in the same memory */
};

struct page_data {
	struct page_limits limits;
	const struct totals *totals; /* borrowed */
	struct page_request *requests; /* utlist, in order of appearance */
	size_t request_count;
	struct page_request *table; /* uthash, of the open ones */
	uint64_t seed;
	struct page_request nobody; /* charged to no request; of requests that were folded */
	bool has_threads; /* false: nobody's cells have none any more, */
	bool has_request_threads; /* and those of requests neither */
	size_t cell_count; /* of all */
	size_t slice_count;
	size_t sample_count; /* records of them */
	uint64_t folded_requests; /* that are in sums alone */
	uint64_t dropped_slices;
	uint64_t dropped_samples;
	struct frames frames; /* that samples are of */
	struct page_times times;
	int64_t origin_ns; /* wall clock, when finished: where the first window started */
	struct page_names groups;
	struct page_names threads; /* "PID/TID NAME", with several hosts "HOST:PID/TID NAME" */
	struct totals_listener listener; /* for totals */
};

/* The key that a cell's group is a value of: what the totals group by, or the endpoint of requests.
 */
const char *page_data_by(const struct page_data *data);

/* limits: NULL: those above. Listens to totals until it is deinitialized. 0, -ENOMEM. */
int page_data_init(struct page_data *data, struct totals *totals, const struct page_limits *limits);
void page_data_deinit(struct page_data *data);

/* After totals_finish: brings it to its limits, merges what is of one window, and sorts slices.
 * 0, -ENOMEM. */
int page_data_finish(struct page_data *data);
