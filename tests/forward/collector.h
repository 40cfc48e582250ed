/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A collector that misbehaves on demand, in a thread of its own: it speaks Fluent Forward by
 * msgpack-c, not by the code under test, keeps what it acks, and does to each connection and chunk
 * what its plan says. Numbered entries (numbered_entries.h).
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fault {
	FAULT_NONE = 0,
	FAULT_CLOSE_EARLY, /* closes after `bytes` of the chunk */
	FAULT_RESET_EARLY, /* the same, by a reset */
	FAULT_KEEP_AND_CLOSE, /* keeps the chunk, and closes instead of the ack */
	FAULT_CUT_ACK, /* keeps it, and closes after `bytes` of the ack */
	FAULT_SILENT, /* takes it, and says nothing */
	FAULT_WRONG_ACK,
	FAULT_EMPTY_MAP, /* as Vector says no */
	FAULT_GARBAGE,
	FAULT_HUGE, /* a string of 4 GiB, as far as it is read */
	FAULT_SLOW_ACK, /* byte by byte */
	FAULT_SLOW_READ, /* 16 bytes at a time */
	FAULT_ABSENT, /* closes, and listens again only after `bytes` * 10 us */
	_FAULT_MAX
};

struct fault_plan {
	enum fault fault;
	uint32_t bytes;
};

struct collector_options {
	/* What to do with the next chunk; number: of its first entry. From the collector's thread.
	 */
	struct fault_plan (*plan)(void *user, uint64_t number, uint32_t entries);
	void *user;
	const char *shared_key; /* NULL = no handshake */
	bool says_that_it_closes; /* in the handshake: after each chunk, and so it does */
	/* Closes each connection after so many bytes that it sent; UINT64_MAX = never. */
	uint64_t cut_after_bytes;
	uint32_t cuts; /* so often */
	uint64_t poison; /* refuses, by closing, each chunk with this number; UINT64_MAX = none */
};

enum {
	COLLECTOR_MESSAGES_MAX = 8,
};

struct collector;

/* Listens on the Unix socket at path. Fails the test where it cannot. */
struct collector *collector_start(const char *path, const struct collector_options *options);
/* Ends it, and frees it. */
void collector_stop(struct collector *collector);

/* Whether, and how often, it kept that entry. */
uint32_t collector_count(struct collector *collector, uint64_t number);
/* Chunks of one id that did not have the same bytes each time. */
uint64_t collector_changed_chunks(struct collector *collector);
/* Bytes that it has sent on the longest connection so far. */
uint64_t collector_sent_bytes(struct collector *collector);
/*
 * How many bytes it had read on its first connection with each of the first messages on it, PING
 * included; returns how many messages. The sender writes none before the last one was answered:
 * each ends there. Once nothing is sent any more.
 */
size_t collector_message_ends(const struct collector *collector,
			      uint64_t ret_ends[static COLLECTOR_MESSAGES_MAX]);
