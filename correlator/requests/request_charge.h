/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The part of a cpu record that concerns requests: the request's ID, and what it used. The same for
 * a record that is being written and for one that was read back, so both give the same counts of
 * requests. Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "figures/costs.h"
#include "record/record_view.h"

/* The key by which requests are told apart. */
#define REQUEST_ID "request_id"

struct request_charge {
	struct record_text id; /* request_id; empty = no request */
	struct record_text value; /* value of the given key; empty = none */
	uint32_t pid;
	bool is_attributed; /* to a known context */
	struct costs costs;
};

/* The value of a key among those of a record: borrowed; empty if it has none. key: NULL = none. */
struct record_text request_key_value(const struct record_key *keys, size_t count, const char *key);

/* Borrow the record's texts. key: the key whose value is wanted; NULL = none. */
struct request_charge request_charge_of_record(const struct cpu_record *record, const char *key);
struct request_charge request_charge_of_view(const struct record_view *view, const char *key);
