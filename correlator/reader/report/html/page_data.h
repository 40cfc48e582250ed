/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data from which a page itself answers for any span of time and any group:
 *
 * - for each request, its cost in each window and on each thread (a cell), and its slices and
 *   samples of stacks if they were recorded;
 * - the time charged to no request;
 * - the books of each window.
 *
 * And of all of it the long waits, the system calls, and what was read and written.
 *
 * It listens to totals, so that both have the same records.
 *
 * Bounded by page_limits. If there are too many requests, the most expensive ones by CPU and by
 * wall time are kept whole, and the others are summed up by window. If there are too many cells,
 * details are dropped step by step (page_reduce.c): threads of time in no request, then windows are
 * merged, then threads of requests are dropped, then more requests are summed up. Single thread;
 * nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "figures/costs.h"
#include "reader/aggregate/io.h"
#include "reader/aggregate/stalls.h"
#include "reader/aggregate/syscalls.h"
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
	PAGE_STALLS_MAX = 50, /* rows of each table of long waits */
	PAGE_TALLY_MAX = 30, /* groups, and lines of each, of system calls and of peers */
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

/* A cell, slice or sample is charged to the page_request that holds it. */
struct page_cell {
	uint64_t wall_ns; /* end of its window */
	uint32_t group; /* number in page_names; PAGE_NO_NAME: it has no such key */
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

/* A sample record. */
struct page_sample {
	uint64_t wall_ns; /* end of its window */
	enum stacks_measure measure;
	uint64_t samples; /* this and stands_for_ns: from stacks_weigh */
	uint64_t stands_for_ns;
	struct frame *frame; /* innermost; NULL: it did not fit, or has no id */
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
	bool is_open; /* in the table: more records may come */
	struct page_request *prev, *next;
	UT_hash_handle hh;
	size_t id_bytes;
	char *id; /* not NUL-terminated; in the same allocation */
};

struct page_data {
	struct page_limits limits;
	const struct totals *totals; /* borrowed */
	struct page_request *requests; /* utlist, in order of appearance */
	size_t request_count;
	struct page_request *table; /* uthash of the open ones */
	uint64_t seed;
	struct page_request nobody; /* time charged to no request, and folded requests */
	bool has_threads; /* false: nobody's cells have lost their threads */
	bool has_request_threads; /* false: cells of requests have lost theirs, too */
	size_t cell_count; /* of all requests, and nobody's */
	size_t slice_count;
	size_t sample_count; /* sample records */
	uint64_t folded_requests; /* only in the sums */
	uint64_t dropped_slices;
	uint64_t dropped_samples;
	struct frames frames; /* of samples and waits */
	/* Grouped by page_data_by(); empty if they were not recorded: */
	struct stalls stalls;
	struct tally syscalls;
	struct tally io;
	struct page_times times;
	int64_t origin_ns; /* wall clock; set by page_data_finish: start of the first window */
	struct page_names groups;
	struct page_names threads; /* "PID/TID NAME", with several hosts "HOST:PID/TID NAME" */
	struct totals_listener listener; /* registered with totals */
};

/* The key of a cell's group: the one that totals group by, or endpoint if they group by request. */
const char *page_data_by(const struct page_data *data);

/* limits: NULL means the constants above. Listens to totals until it is deinitialized. 0,
 * -ENOMEM. */
int page_data_init(struct page_data *data, struct totals *totals, const struct page_limits *limits);
void page_data_deinit(struct page_data *data);

/* After totals_finish: reduces the data to its limits, merges cells of one window, and sorts
 * slices. 0, -ENOMEM. */
int page_data_finish(struct page_data *data);
