/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The source of every view: passes on each record of the span of time once, with the values that
 * its request lends it, and whether --where matches it. README.md states the rule ("Which time
 * belongs to which row"). If the request of an activity record (cpu, slice, sample, syscall) has no
 * value of a key yet, the record waits until another record has one or the request ends; later
 * records of that request wait behind it. So the records of one request keep their order; those of
 * different requests may not. Memory is bounded: if too many bytes wait, the request that has
 * waited longest goes without the value; if values take too many bytes, the least recently seen
 * request ends.
 *
 * Records are untrusted. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/query/filter.h"
#include "reader/query/known_records.h"
#include "reader/query/packing.h"
#include "reader/query/recording.h"
#include "record/record_view.h"
#include "requests/attribution.h"
#include "requests/open_requests.h"

enum {
	SELECTION_KEYS_MAX = RECORDING_KEYS_MAX, /* keys that are lent; further ones are not */
	SELECTION_HELD_BYTES_MAX = 64 * 1024 * 1024,
	SELECTION_VALUE_BYTES_MAX = 64 * 1024 * 1024,
};

struct selection_value;
struct selection_held;

/* An open request. The consumer's struct for a request begins with it. */
struct selection_request {
	struct open_request open;
	struct selection_value **values; /* owned: the first and the last value of each key */
	size_t key_count; /* capacity of values, in keys */
	struct selection_held *held; /* owned; utlist, oldest first */
	struct selection_request *prev, *next; /* utlist of the requests with held records */
};

/* Borrowed until the call returns. */
struct selection_record {
	const struct record_view *view; /* with the lent values */
	const struct record_view *raw; /* as it was recorded */
	enum attribution attribution; /* of an activity record; else ATTRIBUTION_NONE */
	uint64_t number; /* in reading order, from 1; a request's records may be passed on later */
	struct record_text
		comm; /* of its process, as known when it was read; { NULL, 0 } = not known */
	struct selection_request *request; /* NULL = none */
	bool is_wanted; /* matches the filter */
};

/* The view that receives the records. Each function returns 0, or -errno, which ends the call. */
struct selection_consumer {
	/* Called for a record that is no activity. On error it counts as never seen. NULL: not
	 * wanted. */
	int (*other)(void *context, const struct record_view *record);
	/* Called before an activity record is taken in, with the recording's keys known up to that
	 * record: the place to ask for keys. NULL: nothing to do. */
	int (*prepare)(void *context);
	int (*take)(void *context, const struct selection_record *record);
	/* Called when all records of a request were taken. NULL: not wanted. */
	int (*end)(void *context, struct selection_request *request);
	void *context;
};

struct selection {
	struct filter filter; /* owned; set before the first record */
	struct recording recording; /* built from the records that were let through */
	struct known_records known;
	uint64_t double_records; /* read before; not passed on */
	bool has_asked; /* the filter's keys were asked for */
	struct open_requests requests;
	char *keys[SELECTION_KEYS_MAX]; /* owned: keys whose values are lent */
	size_t key_count;
	bool lends_all; /* lends every key that a record has */
	struct packing packing;
	struct packed scratch;
	struct record_view *views; /* owned: one for an unpacked record, and one with lent
				    * values; NULL: not needed yet */
	struct selection_request *holders; /* utlist of requests with held records, the longest
					    * waiting first */
	size_t held_bytes;
	size_t held_bytes_max;
	size_t value_bytes; /* of open requests, and lent to held records */
	size_t value_bytes_max;
	uint64_t last_number; /* of the last activity record */
	uint64_t given_up; /* records that lack a value of their request because memory was
			    * bounded */
};

/* request_bytes: size of the consumer's struct for a request, which starts as zeros. */
void selection_init(struct selection *selection, size_t request_bytes);
/* Takes ownership of the filter; call before the first record. */
void selection_take_filter(struct selection *selection, struct filter *filter);
/* Discards open requests without calling end. */
void selection_deinit(struct selection *selection);

/* Lends values of this key from now on, unless it is a field of the schema, request_id, or was
 * asked for already. Call before any record of a request. Returns 0, -ENOMEM. */
int selection_ask(struct selection *selection, const char *key);

/* Whether a record describes the recording (meta, process) or a frame that later ones refer to:
 * these count outside the span of time, too. */
bool selection_holds_at_any_time(const struct record_view *record);

/* For a consumer that needs neither values nor conditions: counts each record once, if it is in the
 * span of time. Returns 1: it counts; 0: it does not; -ENOMEM. */
int selection_admit(struct selection *selection, const struct record_view *record);

/* Adds a record of any kind. Returns 0; -ENOMEM; the consumer's error. */
int selection_add(struct selection *selection, const struct selection_consumer *consumer,
		  const struct record_view *record);

/* Ends requests, the least recently seen first, until at most open_max are open. */
int selection_settle(struct selection *selection, const struct selection_consumer *consumer,
		     size_t open_max);
