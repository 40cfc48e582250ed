/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What one cpu record says of a request: which one, and what it used. The same of a record that is
 * being written and of one that was read back, so that who counts requests counts the same in both.
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>

#include "figures/costs.h"
#include "record/record_view.h"

struct request_charge {
	struct record_text id; /* request_id; no bytes: it is of no request */
	struct record_text value; /* of the key that was asked for; no bytes: it has none */
	uint32_t pid;
	bool is_attributed; /* to a context that is known */
	struct costs costs;
};

/* Borrow the record's texts. key: whose value is wanted; NULL = none. */
struct request_charge request_charge_of_record(const struct cpu_record *record, const char *key);
struct request_charge request_charge_of_view(const struct record_view *view, const char *key);
