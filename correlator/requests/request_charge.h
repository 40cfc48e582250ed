/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one cpu record says of a request: which one, and what it used. The same of a record that is
 * being written and of one that was read back, so that who counts requests counts the same in both.
 * Records that were read are untrusted: sums saturate at 2^63-1. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

/* Nanoseconds. */
enum request_figure {
	REQUEST_CPU = 0,
	REQUEST_WALL = 1, /* from the first activity to the last: of a request as a whole */
	REQUEST_USER = 2,
	REQUEST_KERNEL = 3,
	REQUEST_RUN_QUEUE = 4,
	REQUEST_BLOCKED = 5,
	_REQUEST_FIGURE_MAX,
};

/* What one record lacks is "not measured" for their sum. All zeros: nothing was used yet. */
struct request_costs {
	int64_t sums[_REQUEST_FIGURE_MAX]; /* that of REQUEST_WALL is not used */
	uint32_t missing; /* bit per enum request_figure */
	bool has_span; /* at least one record was added */
	int64_t first_ns; /* wall clock of the first and the last activity */
	int64_t last_ns;
};

struct request_charge {
	struct record_text id; /* request_id; no bytes: it is of no request */
	struct record_text value; /* of the key that was asked for; no bytes: it has none */
	bool is_attributed; /* to a context that is known */
	struct request_costs costs;
};

/* Borrow the record's texts. key: whose value is wanted; NULL = none. */
struct request_charge request_charge_of_record(const struct cpu_record *record, const char *key);
struct request_charge request_charge_of_view(const struct record_view *view, const char *key);

void request_costs_add(struct request_costs *costs, const struct request_costs *other);
/* False: not measured. */
bool request_costs_figure(const struct request_costs *costs, enum request_figure figure,
			  int64_t *ret_ns);
