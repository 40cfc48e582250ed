/* SPDX-License-Identifier: GPL-2.0-only */
/* A request as totals know it while its records come: the cost of those that are wanted, over all
 * its threads, processes and windows. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "figures/costs.h"
#include "reader/query/selection.h"
#include "record/record_view.h"

enum {
	REQUEST_GROUPS_MAX = 2,
	REQUEST_ENDPOINT_BYTES = 64,
};

struct group;

struct request {
	struct selection_request selection;
	struct group *groups[REQUEST_GROUPS_MAX]; /* where it was last, of each grouping; or NULL */
	bool is_inherited;
	uint8_t endpoint_bytes; /* of endpoint, where a grouping is by request; 0: not known */
	struct costs costs; /* of no records: nothing of it is wanted */
	char endpoint[REQUEST_ENDPOINT_BYTES]; /* the latest one, cut; not NUL-terminated */
};

/* Takes note of its endpoint, if it has one. */
void request_set_endpoint(struct request *request, struct record_text endpoint);

static inline struct record_text request_id(const struct request *request)
{
	return open_request_id(&request->selection.open);
}
