/* SPDX-License-Identifier: GPL-2.0-only */
/* A backlog of numbered entries, for its tests. */
#pragma once

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <setjmp.h>

#include <cmocka.h>

#include "recorder/queue/backlog.h"
#include "recorder/queue/numbered_entries.h"

enum {
	ENTRY = sizeof(struct numbered_entry),
	DEADLINE_MS = 10000,
};

/* ns: no test waits for it. */
#define LONG UINT64_C(1000000000000)

static inline struct backlog *make_backlog(const struct backlog_options *options)
{
	struct backlog *backlog = NULL;

	assert_int_equal(backlog_new(options, &backlog), 0);
	return backlog;
}

static inline void append_numbers(struct backlog *backlog, uint64_t first, uint64_t count)
{
	for (uint64_t number = first; number < first + count; number++) {
		struct numbered_entry entry = number_entry(number);

		assert_int_equal(backlog_append(backlog, &entry, sizeof(entry)), 0);
	}
}

static inline bool is_readable(struct backlog *backlog, int timeout_ms)
{
	struct pollfd fd = { .fd = backlog_source(backlog).event_fd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

static inline struct chunk await_chunk(struct backlog *backlog)
{
	struct chunk chunk;
	int r;

	do {
		assert_true(is_readable(backlog, DEADLINE_MS));
		r = backlog_next(backlog, &chunk);
	} while (r == -EAGAIN);
	assert_int_equal(r, 0);
	return chunk;
}

/* The next chunk has these entries, and no others. */
static inline struct chunk expect_numbers(struct backlog *backlog, uint64_t first, uint32_t count)
{
	struct chunk chunk = await_chunk(backlog);

	assert_int_equal(chunk.entries, count);
	assert_int_equal(chunk.size_bytes, count * sizeof(struct numbered_entry));
	for (uint32_t i = 0; i < count; i++)
		assert_int_equal(entry_number(chunk.bytes, i), first + i);
	return chunk;
}
