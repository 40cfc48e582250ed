/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests that may still get records, by ID, ordered by their last record: a lookup makes a
 * request the newest; the owner takes the oldest if there are too many, or if it has been quiet for
 * long enough. The owner defines what is kept of a request, in a struct that begins with a struct
 * open_request. IDs are untrusted values: the table is keyed with a random seed. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "record/record_view.h"

enum {
	REQUESTS_OPEN_MAX = 32768, /* at a time; the default bound */
};

struct open_request {
	struct open_request *prev, *next; /* utlist: next is the newer one, NULL for the newest */
	UT_hash_handle hh;
};

struct open_requests {
	struct open_request *table; /* uthash */
	struct open_request *oldest; /* utlist; NULL = empty */
	size_t element_bytes;
	uint64_t seed;
};

/* element_bytes: size of the owner's struct. */
void open_requests_init(struct open_requests *requests, size_t element_bytes);

/*
 * Finds or adds the request of this ID, of at least one byte, and makes it the newest. 0: found; 1:
 * added, and all zeros behind its struct open_request; -ENOMEM.
 */
int open_requests_touch(struct open_requests *requests, struct record_text id,
			struct open_request **ret_request);

/* Removes a request. The caller frees it with free(3) after it has read the ID. */
void open_requests_take(struct open_requests *requests, struct open_request *request);

static inline size_t open_requests_count(const struct open_requests *requests)
{
	return HASH_COUNT(requests->table);
}

/* The ID, in the memory of the request. */
static inline struct record_text open_request_id(const struct open_request *request)
{
	return (struct record_text){ request->hh.key, request->hh.keylen };
}
