/* SPDX-License-Identifier: GPL-2.0-only */
/* The requests of a page, found by id while they are open. For page_data.c and page_reduce.c
 * only. */
#pragma once

#include "reader/report/html/page_data.h"

/* The open request of this id, or NULL. */
struct page_request *page_request_find(const struct page_data *data, const void *id,
				       size_t id_bytes);
/* The same, but adds a request if there is none. 0, -ENOMEM. */
int page_request_provide(struct page_data *data, const void *id, size_t id_bytes,
			 struct page_request **ret_request);
/* Closes the request, of which no more records will come; its data stay. */
void page_request_close(struct page_data *data, struct page_request *request);
/* Removes the request and frees it. */
void page_request_remove(struct page_data *data, struct page_request *request);

/* Each adds a copy; request may be data->nobody. 0, -ENOMEM. */
int page_request_add_cell(struct page_data *data, struct page_request *request,
			  const struct page_cell *cell);
int page_request_add_slice(struct page_data *data, struct page_request *request,
			   const struct page_slice *slice);
int page_request_add_sample(struct page_data *data, struct page_request *request,
			    const struct page_sample *sample);
