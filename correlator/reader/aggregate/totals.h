/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All figures of a report, summed from the records of one or more recordings. Owned by the
 * subcommand; the format_*.c files read it. Single thread.
 */
#pragma once

#include <stddef.h>

#include "reader/aggregate/books.h"
#include "reader/aggregate/grouping.h"
#include "reader/aggregate/requests.h"
#include "reader/aggregate/self_cost.h"
#include "reader/query/selection.h"
#include "record/record_view.h"
#include "requests/attribution.h"

enum {
	TOTALS_GROUPINGS_MAX = REQUEST_GROUPS_MAX,
	TOTALS_THREADS_MAX = 4096, /* of unattributed_threads; further ones count in its
				    * without_value */
};

/* The part of the total that a cpu record belongs to. */
enum totals_part {
	TOTALS_PART_ATTRIBUTED = 0,
	TOTALS_PART_UNATTRIBUTED = 1,
	TOTALS_PART_OVERFLOW = 2,
};

enum totals_part totals_part_of(enum attribution attribution);

/* Called with what totals takes in, for code that needs more than sums. Each function returns 0, or
 * -errno, which totals_add returns. */
struct totals_listener {
	/* A record that counts and is no activity. */
	int (*other)(void *context, const struct record_view *record);
	/* An activity record that counts, whether it is wanted or not. */
	int (*take)(void *context, const struct selection_record *taken);
	/* Called before take, for a cpu record that is wanted. NULL: not needed. */
	int (*charge)(void *context, const struct selection_record *taken,
		      const struct costs *costs);
	/* The request has ended. NULL: not needed. */
	int (*settle)(void *context, const struct request *request);
	void *context;
};

struct totals {
	struct grouping groupings[TOTALS_GROUPINGS_MAX];
	size_t grouping_count;
	bool follows_keys; /* the groupings are still to be chosen, by the recording's keys */
	bool is_by_default; /* chosen by default: if no request has an endpoint, only the next
			     * one stays */
	bool keeps_one; /* one of two default groupings is enough; set after totals_init */
	struct costs unattributed; /* time in no context, or in one that could not be read */
	struct grouping unattributed_threads; /* unattributed, by thread_name and attribution */
	struct costs overflow; /* time in contexts that could not be told apart */
	struct costs inherited; /* the part of the groups that may be a leftover (record.h) */
	uint64_t inherited_requests;
	struct costs all; /* CPU and waits of every cpu record that the filter matches */
	struct costs observed; /* of every cpu record, whether it matches or not */
	struct books books;
	struct self_cost self_cost;
	struct selection selection; /* the source of its records; the filter is set after
				     * totals_init */
	const struct totals_listener *listener; /* borrowed, set after totals_init; NULL: none */
	bool is_asked; /* the keys to be lent were asked for, */
	size_t asked_key_count; /* when the recording had this number of keys */
};

/*
 * Begins by_count groupings (at most TOTALS_GROUPINGS_MAX), by by_names. NULL: by endpoint and by
 * request_id, if they are recorded, but at most by_count of them; the recording's first other key
 * stands for a request_id that is not recorded. The grouping by endpoint is then dropped by
 * totals_finish() if no record has an endpoint: `record` always asks for it, and an application may
 * not publish one. Returns 0, -ENOMEM.
 */
int totals_init(struct totals *totals, const char *const *by_names, size_t by_count);
void totals_deinit(struct totals *totals);

/*
 * Adds one record of any kind, unless it is a duplicate or the filter leaves it out. Returns 0;
 * -ENOMEM; -E2BIG: too many distinct values (grouping.h); -EBADMSG: a balance record that lacks a
 * time. Does not log.
 */
int totals_add(struct totals *totals, const struct record_view *record);

/* Ends requests, the least recently seen first, until at most open_max are open. Returns 0,
 * -ENOMEM, -E2BIG. */
int totals_settle(struct totals *totals, size_t open_max);

/* Call after the last record: ends all requests. Sums without a record become "not measured" where
 * nothing else was measured either. Returns 0, -ENOMEM, -E2BIG. */
int totals_finish(struct totals *totals);

/*
 * CPU in percent of one CPU, or of all CPUs of the machine, over the duration of the recording.
 * False if it is not measured; for the machine also if the number of CPUs is not known or not the
 * same throughout, or there are several hosts.
 */
bool totals_cpu_percent(const struct totals *totals, const struct costs *costs,
			double *ret_percent);
bool totals_machine_percent(const struct totals *totals, const struct costs *costs,
			    double *ret_percent);

/* False if the CPU of the cpu records, in all, in no context or in overflow, differs from what was
 * charged according to the balance records. True as well if there are no balance records to compare
 * with, or a filter leaves out what they count. */
bool totals_match_books(const struct totals *totals);
