/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/random.h"
#include "report/grouping.h"

void requests_init(struct requests *requests)
{
	*requests = (struct requests){ .seed = random_seed() };
}

void requests_deinit(struct requests *requests)
{
	struct request *request;

	while ((request = requests_take(requests, 0)))
		request_free(request);
	*requests = (struct requests){ 0 };
}

void request_free(struct request *request)
{
	for (size_t i = 0; i < REQUEST_GROUPS_MAX; i++)
		grouping_held_free(request->held[i]);
	free(request);
}

static int open_request(struct requests *requests, struct record_text id, unsigned int hash,
			struct request **ret_request)
{
	_cleanup_free_ struct request *request = calloc(1, sizeof(*request) + id.size_bytes);

	if (!request)
		return -ENOMEM;
	memcpy(request->id, id.bytes, id.size_bytes);
	request->id_bytes = id.size_bytes;
	request->verdict = FILTER_UNKNOWN;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, requests->table, request->id, request->id_bytes, hash,
				    request);
	if (!request->hh.tbl)
		return -ENOMEM;
	DL_APPEND(requests->oldest, request);
	*ret_request = TAKE_PTR(request);
	return 0;
}

int requests_touch(struct requests *requests, const struct record_view *record,
		   struct request **ret_request)
{
	struct request *newest = requests->oldest ? requests->oldest->prev : NULL;
	struct record_text id;
	unsigned int hash;

	*ret_request = NULL;
	if (!record_view_text(record, "request_id", &id) || id.size_bytes == 0)
		return 0;
	/* Its threads' records follow each other. */
	if (newest && newest->id_bytes == id.size_bytes &&
	    memcmp(newest->id, id.bytes, id.size_bytes) == 0) {
		*ret_request = newest;
		return 0;
	}
	hash = hash_table_key(requests->seed, id.bytes, id.size_bytes);
	HASH_FIND_BYHASHVALUE(hh, requests->table, id.bytes, id.size_bytes, hash, *ret_request);
	if (!*ret_request)
		return open_request(requests, id, hash, ret_request);
	DL_DELETE(requests->oldest, *ret_request);
	DL_APPEND(requests->oldest, *ret_request);
	return 0;
}

struct request *requests_take(struct requests *requests, size_t count_max)
{
	struct request *request = requests->oldest;

	if (HASH_COUNT(requests->table) <= count_max)
		return NULL;
	HASH_DELETE(hh, requests->table, request);
	DL_DELETE(requests->oldest, request);
	return request;
}
