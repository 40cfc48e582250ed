/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which records a report is of: those whose fields have wanted values, of a span of time. What its
 * request lends a record is in it by then (selection.h). Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	FILTER_CONDITIONS_MAX = 16
};

struct filter_condition {
	char *key; /* owned: a key of the records, or pid, tid, comm, thread_name, host_name */
	const char *wanted; /* in the same memory */
	bool is_pattern; /* as of fnmatch(3) */
};

struct filter_time {
	bool is_set; /* false: it is no limit */
	uint64_t ns; /* wall clock, */
	bool is_relative; /* or from the first record on, */
	bool is_of_day; /* or since midnight, local time, of the day that brings it nearest to that
			 */
};

/* All zeros lets everything pass. */
struct filter {
	struct filter_condition conditions[FILTER_CONDITIONS_MAX];
	size_t condition_count;
	struct filter_time since; /* windows that end after it, */
	struct filter_time until; /* and not after this one */
};

void filter_deinit(struct filter *filter);
/* 0; -ENOMEM, with nothing in *ret_filter. */
int filter_copy(const struct filter *filter, struct filter *ret_filter);

/* A condition as it was given, in 256 bytes, cut. */
void filter_describe(const struct filter_condition *condition, char ret_text[static 256]);

/* KEY=VALUE, or KEY~PATTERN (with * ? [...]). 0; -EINVAL: it is neither; -E2BIG: more than
 * FILTER_CONDITIONS_MAX; -ENOMEM. */
int filter_add(struct filter *filter, const char *text);

/* "2026-11-22T10:15:00Z", with a space or fractions of the second too, in UTC; "10:15:00", as
 * tables have it, in local time; or a duration from the first record on (duration.h). 0, -EINVAL.
 */
int filter_parse_time(const char *text, struct filter_time *ret_time);

/* Whether a record of any kind is of the span of time. The first one that it is asked about is the
 * first record. */
bool filter_is_in_time(struct filter *filter, const struct record_view *record);

/* Whether the record has a value that is wanted for each condition; comm: of its process ({ NULL, 0
 * } = not known). */
bool filter_wants(const struct filter *filter, const struct record_view *record,
		  struct record_text comm);
