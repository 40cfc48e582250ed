/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The windows of a recording, by when they ended, with the books of each. A time stands for the
 * windows that ended after the one before it and not after itself, as --since and --until have it.
 * Bounded: where there would be too many, two become one. Single thread; nothing here logs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/books.h"
#include "record/record_view.h"

enum {
	PAGE_TIMES_MAX = 4096
};

struct page_time {
	uint64_t end_ns; /* wall clock */
	uint64_t start_ns; /* of the first of its windows */
	int64_t self_cpu_ns; /* of Correlator's own processes, by the self records */
	struct books books;
};

struct page_times {
	struct page_time *times; /* ascending */
	size_t count;
	size_t count_max;
	uint64_t merged_count; /* times that became part of the next one */
};

/* count_max >= 2. 0, -ENOMEM. */
int page_times_init(struct page_times *times, size_t count_max);
void page_times_deinit(struct page_times *times);

/* Takes note of a record that has a window. 0; -EBADMSG: a balance record without its times. */
int page_times_add(struct page_times *times, const struct record_view *record);

/* Makes one of each two neighbours: half as many, rounded up. */
void page_times_halve(struct page_times *times);

/* Where something that was added belongs; there is at least one time. */
size_t page_times_find(const struct page_times *times, uint64_t wall_ns);
