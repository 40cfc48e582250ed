/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The context of a cpu, slice, sample, syscall, io or stall record: its request, or, if it has
 * none, everything that ran outside requests with the same keys. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "record/record_view.h"
#include "requests/attribution.h"

enum {
	RECORD_CONTEXT_ID_BYTES = 4096, /* a longer one is cut */
};

/* Writes what identifies the context: the request's id, or the attribution and all keys. Returns
 * its length. */
size_t record_context_id(const struct record_view *record, enum attribution attribution,
			 char ret_id[static RECORD_CONTEXT_ID_BYTES], bool *ret_is_request);

/* Does the same for a part of a request: the parts differ in the values of their keys. */
size_t record_context_part_id(const struct record_view *record, enum attribution attribution,
			      char ret_id[static RECORD_CONTEXT_ID_BYTES], bool *ret_is_request);
