/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The requests of which more may come, by their ids, and in the order in which something last came
 * of them: whoever looks one up makes it the newest, and takes the oldest when there are too many,
 * or when it has been quiet for long enough. What is known of a request is its owner's: a struct of
 * its own that begins with a struct open_request. Ids are somebody else's values: the table is
 * keyed with a random seed. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "record/record_view.h"

enum {
	REQUESTS_OPEN_MAX = 32768, /* at a time, for whoever has no reason for another bound */
};

struct open_request {
	struct open_request *prev, *next; /* utlist: the newer one is next, NULL of the newest */
	UT_hash_handle hh;
};

struct open_requests {
	struct open_request *table; /* uthash */
	struct open_request *oldest; /* utlist; NULL: there is none */
	size_t element_bytes;
	uint64_t seed;
};

/* element_bytes: of the owner's struct. */
void open_requests_init(struct open_requests *requests, size_t element_bytes);

/*
 * The request of this id, of at least one byte: the newest one from now on. 0: it was there; 1: it
 * is new, and all zeros behind its struct open_request; -ENOMEM.
 */
int open_requests_touch(struct open_requests *requests, struct record_text id,
			struct open_request **ret_request);

/* Takes one out, which the caller frees with free(3) when it has read its id. */
void open_requests_take(struct open_requests *requests, struct open_request *request);

static inline size_t open_requests_count(const struct open_requests *requests)
{
	return HASH_COUNT(requests->table);
}

/* In the same memory. */
static inline struct record_text open_request_id(const struct open_request *request)
{
	return (struct record_text){ request->hh.key, request->hh.keylen };
}
