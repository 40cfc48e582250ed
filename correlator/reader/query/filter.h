/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Selects the records of a report by the values of their fields and by a span of time. Values that
 * the request lends a record are in it already (selection.h). Single thread.
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
	const char *wanted; /* in the same allocation */
	bool is_pattern; /* as in fnmatch(3) */
};

struct filter_time {
	bool is_set; /* false: no limit */
	uint64_t ns; /* wall clock, */
	bool is_relative; /* or since the first record, */
	bool is_of_day; /* or since local midnight, of the day nearest to the first record */
};

/* All zeros matches every record. */
struct filter {
	struct filter_condition conditions[FILTER_CONDITIONS_MAX];
	size_t condition_count;
	struct filter_time since; /* windows that end after it, */
	struct filter_time until; /* and not after this one */
};

void filter_deinit(struct filter *filter);
/* Returns 0; -ENOMEM, without changing *ret_filter. */
int filter_copy(const struct filter *filter, struct filter *ret_filter);

/* Formats a condition as it was given, cut to 256 bytes. */
void filter_describe(const struct filter_condition *condition, char ret_text[static 256]);

/* Adds KEY=VALUE or KEY~PATTERN (with * ? [...]). Returns 0; -EINVAL: neither of these; -E2BIG:
 * more than FILTER_CONDITIONS_MAX; -ENOMEM. */
int filter_add(struct filter *filter, const char *text);

/* Parses "2026-11-22T10:15:00Z", also with a space or fractions of a second, in UTC; "10:15:00", as
 * in tables, in local time; or a duration since the first record (duration.h). Returns 0, -EINVAL.
 */
int filter_parse_time(const char *text, struct filter_time *ret_time);

/* Whether a record of any kind is in the span of time. The record of the first call counts as the
 * first record. */
bool filter_is_in_time(struct filter *filter, const struct record_view *record);

/* Whether the record matches all conditions; comm: of its process ({ NULL, 0 } = not known). */
bool filter_wants(const struct filter *filter, const struct record_view *record,
		  struct record_text comm);
