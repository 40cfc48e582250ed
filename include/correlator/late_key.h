/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Late keys: a request has a value of theirs that may come when it has run for a while. Of a
 * context with a request_id they are no part of what it is known by, so it stays one context when
 * the value comes. Without one there is nothing else to tell requests apart by, and they are.
 * Pure.
 */
#pragma once

#include <correlator/snapshot.h>

/* nil, false, an empty text, or no value at all: no name of anything. */
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

/* Whether it takes the place of what was known before. */
static inline int value_completes(const struct value_snapshot *value)
{
	return !value_is_blank(value) && value->kind != VALUE_KIND_UNREADABLE;
}
