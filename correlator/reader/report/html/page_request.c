/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_request.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"

/* Adds a copy of an element, and counts it in *all_count, too. 0, -ENOMEM. */
static int append(void **array, size_t *count, size_t *room, const void *element,
		  size_t element_bytes, size_t *all_count)
{
	void *grown = array_resized(*array, room, *count + 1, element_bytes);

	if (!grown)
		return -ENOMEM;
	*array = grown;
	memcpy((char *)*array + *count * element_bytes, element, element_bytes);
	(*count)++;
	(*all_count)++;
	return 0;
}

int page_request_add_cell(struct page_data *data, struct page_request *request,
			  const struct page_cell *cell)
{
	return append((void **)&request->cells, &request->cell_count, &request->cell_room, cell,
		      sizeof(*cell), &data->cell_count);
}

void page_request_close(struct page_data *data, struct page_request *request)
{
	HASH_DELETE(hh, data->table, request);
	request->is_open = false;
}

void page_request_remove(struct page_data *data, struct page_request *request)
{
	if (request->is_open)
		page_request_close(data, request);
	/* A request without cells was filtered out, or its samples came late. Without a filter, it
	 * is the latter: its samples are lost. */
	if (request->cell_count == 0 && data->totals->selection.filter.condition_count == 0)
		for (size_t i = 0; i < request->sample_count; i++)
			data->dropped_samples += request->samples[i].samples;
	DL_DELETE(data->requests, request);
	data->request_count--;
	data->cell_count -= request->cell_count;
	data->slice_count -= request->slice_count;
	data->sample_count -= request->sample_count;
	free(request->cells);
	free(request->slices);
	free(request->samples);
	free(request);
}

static struct page_request *find(const struct page_data *data, const void *id, size_t id_bytes,
				 unsigned int *ret_hash)
{
	struct page_request *request;

	*ret_hash = hash_table_key(data->seed, id, id_bytes);
	HASH_FIND_BYHASHVALUE(hh, data->table, id, id_bytes, *ret_hash, request);
	return request;
}

struct page_request *page_request_find(const struct page_data *data, const void *id,
				       size_t id_bytes)
{
	unsigned int hash;

	return find(data, id, id_bytes, &hash);
}

int page_request_provide(struct page_data *data, const void *id, size_t id_bytes,
			 struct page_request **ret_request)
{
	_cleanup_free_ struct page_request *request = NULL;
	unsigned int hash;

	*ret_request = find(data, id, id_bytes, &hash);
	if (*ret_request)
		return 0;
	request = calloc(1, sizeof(*request) + id_bytes);
	if (!request)
		return -ENOMEM;
	request->id = memcpy(request + 1, id, id_bytes);
	request->id_bytes = id_bytes;
	request->is_open = true;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, data->table, request->id, id_bytes, hash, request);
	if (!request->hh.tbl)
		return -ENOMEM;
	DL_APPEND(data->requests, request);
	data->request_count++;
	*ret_request = TAKE_PTR(request);
	return 0;
}

int page_request_add_slice(struct page_data *data, struct page_request *request,
			   const struct page_slice *slice)
{
	return append((void **)&request->slices, &request->slice_count, &request->slice_room, slice,
		      sizeof(*slice), &data->slice_count);
}

int page_request_add_sample(struct page_data *data, struct page_request *request,
			    const struct page_sample *sample)
{
	return append((void **)&request->samples, &request->sample_count, &request->sample_room,
		      sample, sizeof(*sample), &data->sample_count);
}
