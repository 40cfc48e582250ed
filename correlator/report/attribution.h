/* SPDX-License-Identifier: GPL-2.0-only */
/* Whose time a cpu record is of, as far as it says. Pure. */
#pragma once

#include "record/record_view.h"

enum attribution {
	ATTRIBUTION_CONTEXT = 0, /* of a context that is known */
	ATTRIBUTION_INHERITED = 1, /* the same, but it may be a leftover (record.h) */
	ATTRIBUTION_NONE = 2, /* no context was in force */
	ATTRIBUTION_UNKNOWN = 3, /* one may have been, but could not be read */
	ATTRIBUTION_OVERFLOW = 4, /* contexts that could not be told apart */
	_ATTRIBUTION_MAX,
};

enum attribution attribution_of(const struct record_view *record);

/* "attributed", "inherited", "no context", "unknown", "overflow". */
const char *attribution_name(enum attribution attribution);
