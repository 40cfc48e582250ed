/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests whose records still come: what each has cost so far, over all its threads, processes
 * and windows. One that nothing came of for long is given up to whoever asks, so that any number of
 * requests needs the memory of those at a time. Ids are somebody else's values: the table is keyed
 * with a random seed. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "record/record_view.h"
#include "report/costs.h"
#include "report/filter.h"

enum {
	REQUESTS_OPEN_MAX = 32768, /* at a time: about 10 MB */
	REQUEST_GROUPS_MAX = 2,
};

struct group;
struct held;

struct request {
	struct costs costs;
	struct group *groups[REQUEST_GROUPS_MAX]; /* where it was last, of each grouping; or NULL */
	struct held *held[REQUEST_GROUPS_MAX]; /* of each (grouping.h) */
	bool is_inherited;
	enum filter_verdict verdict; /* as far as its records have told */
	struct request *prev, *next;
	UT_hash_handle hh;
	size_t id_bytes;
	char id[]; /* not NUL-terminated */
};

struct requests {
	struct request *table; /* uthash */
	struct request *oldest; /* utlist: the one that nothing came of for longest */
	uint64_t seed;
};

void requests_init(struct requests *requests);
void requests_deinit(struct requests *requests);

/* The record's request, found or new; NULL if it is of none. It is the requests' own. 0, -ENOMEM.
 */
int requests_touch(struct requests *requests, const struct record_view *record,
		   struct request **ret_request);

/* The oldest one, if there are more than count_max, which the caller frees; else NULL. */
struct request *requests_take(struct requests *requests, size_t count_max);
void request_free(struct request *request);
