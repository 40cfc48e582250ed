/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The one way into every view: it passes on each record of the span of time once, with the values
 * that its request lends it, and says whether --where wants it. README.md states the rule ("Which
 * time belongs to which row"). An activity record (cpu, slice, sample, syscall) whose request has
 * no value of a key yet waits here until another record has one or the request ends; later records
 * of that request wait behind it. So the records of one request keep their order, those of
 * different requests may not. Memory is bounded: when too many bytes wait, the request that has
 * waited for longest goes without the value; when values take too many bytes, the request without
 * news for longest ends.
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
	SELECTION_KEYS_MAX = RECORDING_KEYS_MAX, /* that are lent; of more keys nothing is */
	SELECTION_HELD_BYTES_MAX = 64 * 1024 * 1024,
	SELECTION_VALUE_BYTES_MAX = 64 * 1024 * 1024,
};

struct selection_value;
struct selection_held;

/* An open request. The consumer's own struct of a request begins with it. */
struct selection_request {
	struct open_request open;
	struct selection_value **values; /* owned: of each key the first and the last */
	size_t key_count; /* that values has room for */
	struct selection_held *held; /* owned; utlist, in their order */
	struct selection_request *prev, *next; /* utlist: of those with something held */
};

/* Borrowed until the call returns. */
struct selection_record {
	const struct record_view *view; /* with what was lent */
	const struct record_view *raw; /* as it was recorded */
	enum attribution attribution; /* of an activity record; else ATTRIBUTION_NONE */
	uint64_t number; /* in the order of reading, from 1: those of a request may come later */
	struct record_text
		comm; /* of its process, as known when it came; { NULL, 0 } = not known */
	struct selection_request *request; /* NULL: it is of none */
	bool is_wanted; /* by the filter */
};

/* The view that records are taken in for. Each function: 0 or -errno, which ends the call. */
struct selection_consumer {
	/* A record that is no activity; refused, it counts as if it had never come. NULL: none are
	 * wanted. */
	int (*other)(void *context, const struct record_view *record);
	/* The recording's keys are known as far as this record tells: before an activity record is
	 * taken in, and the place to ask for keys. NULL: nothing is to be done. */
	int (*prepare)(void *context);
	int (*take)(void *context, const struct selection_record *record);
	/* All records of it were taken. NULL: nobody wants to know. */
	int (*end)(void *context, struct selection_request *request);
	void *context;
};

struct selection {
	struct filter filter; /* owned: what is chosen; set before the first record */
	struct recording recording; /* made from the records that were let through */
	struct known_records known;
	uint64_t double_records; /* were known already: nobody got them */
	bool has_asked; /* the keys of the filter are lent */
	struct open_requests requests;
	char *keys[SELECTION_KEYS_MAX]; /* owned: those that are lent */
	size_t key_count;
	bool lends_all; /* every key, as records show it */
	struct packing packing;
	struct packed scratch;
	struct record_view *views; /* owned: one made out again, and one with what was lent; NULL:
				    * there was no need yet */
	struct selection_request *holders; /* utlist, the one that holds for longest first */
	size_t held_bytes;
	size_t held_bytes_max;
	size_t value_bytes; /* of open requests, and lent to what is held */
	size_t value_bytes_max;
	uint64_t last_number; /* of an activity record */
	uint64_t given_up; /* records without a value that their requests have, for want of room */
};

/* request_bytes: of the consumer's struct of a request, which is all zeros at first. */
void selection_init(struct selection *selection, size_t request_bytes);
/* Takes the filter, before the first record. */
void selection_take_filter(struct selection *selection, struct filter *filter);
/* Requests that are open are gone without an end. */
void selection_deinit(struct selection *selection);

/* From now on values of this key are lent, if it is one that records may have (no field of the
 * schema, no request_id, and not asked for before). Before records of requests came. 0, -ENOMEM. */
int selection_ask(struct selection *selection, const char *key);

/* A record of what there is (meta, process), or of a frame that later ones name: it counts outside
 * the span of time, too. */
bool selection_holds_at_any_time(const struct record_view *record);

/* For a consumer that needs no values and no choice, only what counts: each record once, of the
 * span of time. 1: it counts; 0: it does not; -ENOMEM. */
int selection_admit(struct selection *selection, const struct record_view *record);

/* Takes a record of any kind in. 0; -ENOMEM; what the consumer returned. */
int selection_add(struct selection *selection, const struct selection_consumer *consumer,
		  const struct record_view *record);

/* Ends requests, the one without news for longest first, until at most open_max are open. */
int selection_settle(struct selection *selection, const struct selection_consumer *consumer,
		     size_t open_max);
