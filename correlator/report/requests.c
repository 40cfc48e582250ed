/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/requests.h"

#include <stdlib.h>
#include <string.h>

#include "report/grouping.h"

void requests_init(struct requests *requests)
{
	open_requests_init(&requests->open, sizeof(struct request));
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

int requests_touch(struct requests *requests, const struct record_view *record,
		   struct request **ret_request)
{
	struct open_request *open;
	struct record_text id;
	int r;

	*ret_request = NULL;
	if (!record_view_text(record, "request_id", &id) || id.size_bytes == 0)
		return 0;
	r = open_requests_touch(&requests->open, id, &open);
	if (r < 0)
		return r;
	*ret_request = (struct request *)open;
	if (r > 0)
		(*ret_request)->verdict = FILTER_UNKNOWN;
	return 0;
}

void request_set_endpoint(struct request *request, struct record_text endpoint)
{
	size_t size_bytes = endpoint.size_bytes < REQUEST_ENDPOINT_BYTES ? endpoint.size_bytes
									 : REQUEST_ENDPOINT_BYTES;

	if (size_bytes == 0)
		return;
	memcpy(request->endpoint, endpoint.bytes, size_bytes);
	request->endpoint_bytes = (uint8_t)size_bytes;
}

struct request *requests_take(struct requests *requests, size_t count_max)
{
	struct open_request *oldest = requests->open.oldest;

	if (open_requests_count(&requests->open) <= count_max)
		return NULL;
	open_requests_take(&requests->open, oldest);
	return (struct request *)oldest;
}
