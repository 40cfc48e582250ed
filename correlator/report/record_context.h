/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose a cpu, sample or syscall record is: of which request, or of what ran in none with the same
 * keys; and whether that is wanted, as totals.h chooses. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "record/record_view.h"
#include "report/filter.h"
#include "requests/attribution.h"

enum {
	RECORD_CONTEXT_ID_BYTES = 4096, /* a longer one is cut */
};

/* What the context is known by: the request's id, or whose time it is, and all keys. Returns its
 * length. */
size_t record_context_id(const struct record_view *record, enum attribution attribution,
			 char ret_id[static RECORD_CONTEXT_ID_BYTES], bool *ret_is_request);

/* The request's id in such an id of a request. */
const char *record_context_request(const char *id, size_t id_bytes, size_t *ret_size_bytes);

/*
 * Whether one more record counts, of a context of which *verdict is known (FILTER_UNKNOWN at
 * first), which is brought up to date: a request is chosen as a whole, but for a record that is not
 * wanted itself.
 */
bool record_context_is_wanted(bool is_request, enum filter_verdict of_record,
			      enum filter_verdict *verdict);
