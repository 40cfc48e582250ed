/* SPDX-License-Identifier: GPL-2.0-only */
/* What alerts told, as text: "TIME STATE [KEY] VALUE since SINCE|" each, in milliseconds. */
#pragma once

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "alert/alert.h"
#include "base/clock.h"

#define START_NS (UINT64_C(1600000000) * NS_PER_S)

static char told[4096];

static inline int64_t ms_of(uint64_t wall_ns)
{
	return (int64_t)(wall_ns - START_NS) / (int64_t)NS_PER_MS;
}

static inline void tell(void *user, const struct alert_change *change)
{
	size_t length = strlen(told);

	(void)user;
	length += (size_t)snprintf(told + length, sizeof(told) - length, "%d %s ",
				   (int)ms_of(change->wall_ns),
				   change->is_firing ? "firing" : "resolved");
	if (change->value_of_key)
		length += (size_t)snprintf(told + length, sizeof(told) - length, "[%s] ",
					   change->value_of_key);
	if (change->has_value)
		length += (size_t)snprintf(told + length, sizeof(told) - length, "%lld",
					   (long long)change->value);
	else
		length += (size_t)snprintf(told + length, sizeof(told) - length, "none");
	(void)snprintf(told + length, sizeof(told) - length, " since %d|",
		       (int)ms_of(change->since_ns));
}

static inline void expect_told(const char *expected)
{
	assert_string_equal(told, expected);
	told[0] = '\0';
}

/* Milliseconds since the start. */
static inline struct alert_window window_of(int64_t start_ms, int64_t end_ms)
{
	return (struct alert_window){ START_NS + (uint64_t)(start_ms * (int64_t)NS_PER_MS),
				      START_NS + (uint64_t)(end_ms * (int64_t)NS_PER_MS), 0, 0 };
}
