/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The windows of a recording, by end, with the books of each. A time stands for the windows that
 * ended after the time before it and not after itself, as with --since and --until. Bounded: if
 * there are too many, neighbours are merged in pairs. Single thread; nothing here logs.
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
	uint64_t start_ns; /* start of the first of its windows */
	int64_t self_cpu_ns; /* CPU of Correlator's own processes, from self records */
	struct books books;
};

struct page_times {
	struct page_time *times; /* ascending */
	size_t count;
	size_t count_max;
	uint64_t merged_count; /* times merged into the next one */
};

/* count_max >= 2. 0, -ENOMEM. */
int page_times_init(struct page_times *times, size_t count_max);
void page_times_deinit(struct page_times *times);

/* Adds a record that has a window. 0; -EBADMSG: a balance record that lacks a time. */
int page_times_add(struct page_times *times, const struct record_view *record);

/* Merges neighbours in pairs: half as many, rounded up. */
void page_times_halve(struct page_times *times);

/* The index of the time that an added record belongs to; there is at least one time. */
size_t page_times_find(const struct page_times *times, uint64_t wall_ns);
