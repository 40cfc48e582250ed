/* SPDX-License-Identifier: GPL-2.0-only */
/* Whether the time of a cpu, slice, sample or syscall record is in a context, and in which kind.
 * Pure. */
#pragma once

#include <stdbool.h>

#include "record/record_view.h"

enum attribution {
	ATTRIBUTION_CONTEXT = 0, /* a known context */
	ATTRIBUTION_INHERITED = 1, /* a known context, but it may be a leftover (record.h) */
	ATTRIBUTION_NONE = 2, /* no context was in force */
	ATTRIBUTION_UNKNOWN = 3, /* a context may have been, but could not be read */
	ATTRIBUTION_OVERFLOW = 4, /* contexts that could not be told apart */
	_ATTRIBUTION_MAX,
};

enum attribution attribution_of(const struct record_view *record);
/* Whether the context is known: attributed or inherited. */
bool attribution_has_context(enum attribution attribution);

/* "attributed", "inherited", "no context", "unknown", "overflow". */
const char *attribution_name(enum attribution attribution);
