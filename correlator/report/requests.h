/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests whose records still come: what each has cost so far, over all its threads, processes
 * and windows. One that nothing came of for long is given up to whoever asks, so that any number of
 * requests needs the memory of those at a time. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"
#include "report/filter.h"
#include "requests/costs.h"
#include "requests/open_requests.h"

enum {
	REQUEST_GROUPS_MAX = 2,
	REQUEST_ENDPOINT_BYTES = 64,
};

struct group;
struct held;

struct request {
	struct open_request open;
	struct group *groups[REQUEST_GROUPS_MAX]; /* where it was last, of each grouping; or NULL */
	struct held *held[REQUEST_GROUPS_MAX]; /* of each (grouping.h) */
	bool is_inherited;
	uint8_t endpoint_bytes; /* of endpoint, where a grouping is by request; 0: not known */
	enum filter_verdict verdict; /* as far as its records have told */
	struct costs costs;
	char endpoint[REQUEST_ENDPOINT_BYTES]; /* the latest one, cut; not NUL-terminated */
};

struct requests {
	struct open_requests open;
};

void requests_init(struct requests *requests);
void requests_deinit(struct requests *requests);

/* The record's request, found or new; NULL if it is of none. It is the requests' own. 0, -ENOMEM.
 */
int requests_touch(struct requests *requests, const struct record_view *record,
		   struct request **ret_request);

/* Takes note of its endpoint, if it has one. */
void request_set_endpoint(struct request *request, struct record_text endpoint);

/* The oldest one, if there are more than count_max, which the caller frees; else NULL. */
struct request *requests_take(struct requests *requests, size_t count_max);
void request_free(struct request *request);
