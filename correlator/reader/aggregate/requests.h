/* SPDX-License-Identifier: GPL-2.0-only */
/* A request in totals while its records arrive: the cost of the wanted ones, over all its threads,
 * processes and windows. */
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
	struct group *groups[REQUEST_GROUPS_MAX]; /* its latest group in each grouping; or NULL */
	bool is_inherited;
	uint8_t endpoint_bytes; /* of endpoint, if a grouping is by request; 0: not known */
	struct costs costs; /* without records: none of its records is wanted */
	char endpoint[REQUEST_ENDPOINT_BYTES]; /* the latest one, cut; not NUL-terminated */
};

/* Remembers its endpoint, if it has one. */
void request_set_endpoint(struct request *request, struct record_text endpoint);

static inline struct record_text request_id(const struct request *request)
{
	return open_request_id(&request->selection.open);
}
