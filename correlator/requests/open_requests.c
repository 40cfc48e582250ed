/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/open_requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/random.h"

void open_requests_init(struct open_requests *requests, size_t element_bytes)
{
	*requests = (struct open_requests){ .element_bytes = element_bytes, .seed = random_seed() };
}

static int open_request(struct open_requests *requests, struct record_text id, unsigned int hash,
			struct open_request **ret_request)
{
	_cleanup_free_ char *memory = malloc(requests->element_bytes + id.size_bytes);
	struct open_request *request = (struct open_request *)(void *)memory;
	char *key;

	if (!memory)
		return -ENOMEM;
	key = memory + requests->element_bytes;
	memset(memory, 0, requests->element_bytes);
	memcpy(key, id.bytes, id.size_bytes);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, requests->table, key, (unsigned int)id.size_bytes, hash,
				    request);
	if (!request->hh.tbl)
		return -ENOMEM;
	DL_APPEND(requests->oldest, request);
	memory = NULL;
	*ret_request = request;
	return 1;
}

static bool is_of(const struct open_request *request, struct record_text id)
{
	return request->hh.keylen == id.size_bytes &&
	       memcmp(request->hh.key, id.bytes, id.size_bytes) == 0;
}

int open_requests_touch(struct open_requests *requests, struct record_text id,
			struct open_request **ret_request)
{
	struct open_request *newest = requests->oldest ? requests->oldest->prev : NULL;
	struct open_request *request;
	unsigned int hash;

	/* The records of a request's threads follow each other. */
	if (newest && is_of(newest, id)) {
		*ret_request = newest;
		return 0;
	}
	hash = hash_table_key(requests->seed, id.bytes, id.size_bytes);
	HASH_FIND_BYHASHVALUE(hh, requests->table, id.bytes, (unsigned int)id.size_bytes, hash,
			      request);
	if (!request)
		return open_request(requests, id, hash, ret_request);
	DL_DELETE(requests->oldest, request);
	DL_APPEND(requests->oldest, request);
	*ret_request = request;
	return 0;
}

void open_requests_take(struct open_requests *requests, struct open_request *request)
{
	HASH_DELETE(hh, requests->table, request);
	DL_DELETE(requests->oldest, request);
}
