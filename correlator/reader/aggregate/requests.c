/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/requests.h"

#include <string.h>

void request_set_endpoint(struct request *request, struct record_text endpoint)
{
	size_t size_bytes = endpoint.size_bytes < REQUEST_ENDPOINT_BYTES ? endpoint.size_bytes
									 : REQUEST_ENDPOINT_BYTES;

	if (size_bytes == 0)
		return;
	memcpy(request->endpoint, endpoint.bytes, size_bytes);
	request->endpoint_bytes = (uint8_t)size_bytes;
}
