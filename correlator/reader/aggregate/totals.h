/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Everything a report says, added up from the records of one or more recordings. Owned by the
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
	TOTALS_THREADS_MAX = 4096, /* of unattributed_threads; more are in its without_value */
};

/* What a cpu record is part of. */
enum totals_part {
	TOTALS_PART_ATTRIBUTED = 0,
	TOTALS_PART_UNATTRIBUTED = 1,
	TOTALS_PART_OVERFLOW = 2,
};

enum totals_part totals_part_of(enum attribution attribution);

/* Is told of what totals take in, where that needs more than sums. Each: 0, or -errno, which
 * totals_add returns. */
struct totals_listener {
	/* A record that is no activity, and counts. */
	int (*other)(void *context, const struct record_view *record);
	/* An activity record that counts, whether it is wanted or not. */
	int (*take)(void *context, const struct selection_record *taken);
	/* Before that, of a cpu record that is wanted. NULL: nobody wants to know. */
	int (*charge)(void *context, const struct selection_record *taken,
		      const struct costs *costs);
	/* No more will come of it. The same. */
	int (*settle)(void *context, const struct request *request);
	void *context;
};

struct totals {
	struct grouping groupings[TOTALS_GROUPINGS_MAX];
	size_t grouping_count;
	bool follows_keys; /* the groupings are yet to be chosen, by the recording's keys */
	bool is_by_default; /* they are or were: where no request has an endpoint, the next stays */
	bool keeps_one; /* of them one is enough: set after totals_init of two by default */
	struct costs unattributed; /* time under no context, or under one that could not be read */
	struct grouping unattributed_threads; /* the same by thread_name and attribution */
	struct costs overflow; /* time under contexts that could not be told apart */
	struct costs inherited; /* the part of the groups that may be a leftover (record.h) */
	uint64_t inherited_requests;
	struct costs all; /* the CPU and waits of every cpu record that the filter lets pass */
	struct costs observed; /* and of those that it leaves out, too */
	struct books books;
	struct self_cost self_cost;
	struct selection selection; /* what it is of; the filter is set after totals_init */
	const struct totals_listener *listener; /* borrowed, set after totals_init; NULL: nobody */
	bool is_asked; /* the selection knows which keys are to be lent, */
	size_t asked_key_count; /* as of this number of keys of the recording */
};

/* by_names: what to group by, at most TOTALS_GROUPINGS_MAX; NULL: as many of what is recorded of
 * endpoint, request_id and, where neither is, the recording's first key. If these are two, the
 * first goes at the end where nothing has it: `record' asks for endpoint, whoever publishes it. 0,
 * -ENOMEM. */
int totals_init(struct totals *totals, const char *const *by_names, size_t by_count);
void totals_deinit(struct totals *totals);

/*
 * Adds one record of any kind, unless it is known already or the filter leaves it out. 0; -ENOMEM;
 * -E2BIG: too many distinct values (grouping.h); -EBADMSG: a balance record that lacks a time. Does
 * not log.
 */
int totals_add(struct totals *totals, const struct record_view *record);

/* Ends requests, the one without news for longest first, until at most open_max are open. 0,
 * -ENOMEM, -E2BIG. */
int totals_settle(struct totals *totals, size_t open_max);

/* After the last record: requests have ended, and what no record was seen of is "not measured"
 * where nothing was. 0, -ENOMEM, -E2BIG. */
int totals_finish(struct totals *totals);

/*
 * CPU in percent of one CPU, or of all CPUs of the machine, over the duration of the recording.
 * False when it is not measured, or the number of CPUs is not known or not the same throughout.
 */
bool totals_cpu_percent(const struct totals *totals, const struct costs *costs,
			double *ret_percent);
bool totals_machine_percent(const struct totals *totals, const struct costs *costs,
			    double *ret_percent);

/* False when the CPU of the cpu records, in all, in no context or in overflow, differs from what
 * the balance records say was charged; true as well when there are no balance records to compare
 * with, or a filter leaves out what they count. */
bool totals_match_books(const struct totals *totals);
