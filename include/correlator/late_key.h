/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Late keys: keys whose value may be set when a request has already run for a while. In a context
 * with a request_id they are not part of its hash, so it stays one context when the value comes.
 * Without a request_id nothing else distinguishes requests, so they are part of it. Pure.
 */
#pragma once

#include <correlator/snapshot.h>

/* nil, false, an empty text, or no value at all: identifies nothing. */
static inline int value_is_blank(const struct value_snapshot *value)
{
	/* special_consts.h: nil is 8, since 3.2 it is 4; false is 0. */
	const __u64 nil_and_false = 8 | 4;

	switch (value->kind) {
	case VALUE_KIND_ABSENT: /* 0, like false */
	case VALUE_KIND_IMMEDIATE:
		return !(value->raw & ~nil_and_false);
	case VALUE_KIND_STRING:
	case VALUE_KIND_SYMBOL:
		return !value->length_bytes;
	}
	return 0;
}

/* Whether the value replaces the one known before. */
static inline int value_completes(const struct value_snapshot *value)
{
	return !value_is_blank(value) && value->kind != VALUE_KIND_UNREADABLE;
}
