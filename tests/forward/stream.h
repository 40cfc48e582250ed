/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A backlog, the sender and a collector at a Unix socket, with numbered entries: what the tests of
 * this folder do with them. What the sender released, as acked, must be what the collector kept.
 */
#pragma once

#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <setjmp.h>

#include <cmocka.h>

#include "forward/collector.h"
#include "recorder/forward/sender.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/numbered_entries.h"

#define MS UINT64_C(1000000) /* in ns */

enum {
	ENTRY = sizeof(struct numbered_entry),
	STREAM_PATH_BYTES = 64,
	STREAM_DEADLINE_MS = 30000,
};

struct stream {
	struct collector *collector;
	struct backlog *backlog;
	struct sender *sender;
	struct chunk_source inner;
	struct chunk chunk; /* the last one given out */
	int done_fd; /* eventfd: a chunk was released */
	uint64_t unkept_releases; /* released, but not kept by the collector */
	struct backlog_options backlog_options;
	const char *shared_key;
	uint64_t ack_timeout_ns;
	struct forward_credentials credentials;
	uint64_t rejected; /* entries set aside, */
	uint64_t rejected_number; /* the last one's */
	char path[STREAM_PATH_BYTES];
};

static inline int stream_next(void *user, struct chunk *ret_chunk)
{
	struct stream *stream = user;
	int r = stream->inner.next(stream->inner.user, ret_chunk);

	if (!r)
		stream->chunk = *ret_chunk;
	return r;
}

static inline void stream_done(void *user)
{
	struct stream *stream = user;

	for (uint32_t i = 0; i < stream->chunk.entries; i++)
		stream->unkept_releases +=
			!collector_count(stream->collector, entry_number(stream->chunk.bytes, i));
	stream->inner.done(stream->inner.user);
	(void)eventfd_write(stream->done_fd, 1);
}

static inline const char *stream_reject(void *user, const void *entry, size_t entry_bytes)
{
	struct stream *stream = user;

	stream->rejected++;
	stream->rejected_number = entry_number(entry, 0);
	return stream->inner.reject(stream->inner.user, entry, entry_bytes);
}

static inline int stream_defer(void *user)
{
	struct stream *stream = user;

	return stream->inner.defer(stream->inner.user);
}

/* Starts the backlog and the sender; the collector is there already. */
static inline void stream_start(struct stream *stream)
{
	struct forward_url url;
	struct chunk_source source;
	const char *problem;
	char text[STREAM_PATH_BYTES + 8];
	struct sender_options options = {
		.urls = &url,
		.url_count = 1,
		.client_name = "host",
		.tag = "correlator.test",
		.ack_timeout_ns = stream->ack_timeout_ns,
		.backoff_base_ns = MS / 20,
		.backoff_max_ns = MS / 2,
	};

	(void)snprintf(text, sizeof(text), "unix:%s", stream->path);
	assert_int_equal(forward_url_parse(text, &url, &problem), 0);
	if (stream->shared_key) {
		stream->credentials = (struct forward_credentials){ stream->shared_key, "", "" };
		options.credentials = &stream->credentials;
	}
	stream->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	assert_true(stream->done_fd >= 0);
	assert_int_equal(backlog_new(&stream->backlog_options, &stream->backlog), 0);
	stream->inner = backlog_source(stream->backlog);
	source = (struct chunk_source){ .user = stream,
					.next = stream_next,
					.done = stream_done,
					.reject = stream_reject,
					.defer = stream_defer,
					.event_fd = stream->inner.event_fd };
	assert_int_equal(sender_start(&options, &source, &stream->sender), 0);
}

/* Ends both at once, as a process that has no time. */
static inline void stream_stop(struct stream *stream)
{
	sender_free(stream->sender);
	stream->sender = NULL;
	backlog_free(stream->backlog);
	stream->backlog = NULL;
	(void)close(stream->done_fd);
}

static inline void stream_append(struct stream *stream, uint64_t first, uint64_t count)
{
	for (uint64_t number = first; number < first + count; number++) {
		struct numbered_entry entry = number_entry(number);

		assert_int_equal(backlog_append(stream->backlog, &entry, sizeof(entry)), 0);
	}
}

/* False: nothing was released in time. */
static inline bool stream_await_empty(struct stream *stream)
{
	struct pollfd done = { .fd = stream->done_fd, .events = POLLIN };
	eventfd_t count;

	backlog_seal(stream->backlog);
	while (!backlog_is_empty(stream->backlog)) {
		if (poll(&done, 1, STREAM_DEADLINE_MS) != 1)
			return false;
		(void)eventfd_read(stream->done_fd, &count);
	}
	return true;
}
