/* What the files sender*.c share; nobody else includes this. */
#pragma once

#include <pthread.h>

#include "forward/backoff.h"
#include "forward/compression.h"
#include "forward/forward_peer.h"
#include "forward/poison.h"
#include "forward/sender.h"
#include "forward/sender_report.h"

/* A chunk that was refused, and what is known of it since. */
struct suspect {
	struct suspect *prev, *next;
	char id[CHUNK_ID_BYTES];
	unsigned int refusals; /* of the whole, in a row */
	struct poison_hunt *hunt; /* NULL = not yet */
};

struct sender {
	struct sender_options options;
	struct chunk_source source;
	struct waiter waiter;
	struct forward_url urls[SENDER_URLS_MAX];
	struct forward_peer *peers[SENDER_URLS_MAX];
	struct sender_report reports[SENDER_URLS_MAX];
	size_t current; /* the peer to try first: it was the last to ack */
	struct compressor *compressor; /* NULL = no compression */
	struct backoff backoff;
	struct suspect *suspects; /* utlist */
	uint64_t last_ack_ns; /* CLOCK_MONOTONIC; of the start, before the first */
	char last_id[CHUNK_ID_BYTES]; /* of the last try */
	pthread_t thread;
	bool is_running; /* the thread has to be joined */
	int ended_fd;
	pthread_mutex_t mutex; /* of status */
	struct sender_status status;
};

enum delivery {
	DELIVERY_ACKED = 0,
	DELIVERY_REFUSED = 1, /* a working collector dislikes the payload */
	DELIVERY_FAILED = 2, /* no collector could be had */
};

/* sender_deliver.c: offers a payload to the collectors, each once, until one acks it. */
enum delivery sender_deliver(struct sender *sender, const struct chunk *chunk);

/* sender_chunk.c: one try for a chunk, or for a part of it where it is suspect. What came of it. */
enum delivery sender_try_chunk(struct sender *sender, const struct chunk *chunk);
void sender_forget_suspects(struct sender *sender);
