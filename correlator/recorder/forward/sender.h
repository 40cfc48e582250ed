/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends pending chunks, in a thread of its own, at least once: only its ack releases a chunk. One
 * chunk is in flight. When a collector fails, the next one in the list is tried at once; when all
 * have failed, after a wait (backoff.h). An entry that a working collector keeps refusing is set
 * aside (poison.h), so that the rest goes through. Thread rule: start, stop and free from one
 * thread; sender_get_status from any.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/forward/failure.h"
#include "recorder/forward/forward_handshake.h"
#include "recorder/forward/forward_url.h"
#include "recorder/forward/tls.h"
#include "recorder/queue/chunk.h"

enum {
	SENDER_URLS_MAX = 8
};

struct sender_options {
	const struct forward_url *urls; /* in the order to try them */
	size_t url_count; /* 1 to SENDER_URLS_MAX */
	struct tls_context *tls; /* NULL = urls has no tls:// */
	const struct forward_credentials *credentials; /* NULL = no handshake */
	const char *client_name; /* forward_handshake.h */
	const char *tag;
	bool is_gzip;
	bool has_no_acks; /* at most once: a chunk is released when the kernel has taken it */
	uint64_t ack_timeout_ns;
	uint64_t backoff_base_ns;
	uint64_t backoff_max_ns;
	uint64_t give_up_ns; /* end when nothing was acked for this long; 0 = never */
};

/* Counts since the start. */
struct sender_status {
	uint64_t sent_chunks; /* including retries */
	uint64_t resent_chunks; /* retries among sent_chunks */
	uint64_t acked_chunks;
	uint64_t acked_records;
	uint64_t acked_bytes; /* of entries, before compression */
	uint64_t rejected_records;
	uint64_t failures;
	uint64_t last_ack_wall_ns; /* 0 = none yet */
	uint64_t last_error_wall_ns;
	enum failure_kind last_failure; /* FAILURE_NONE = none yet */
	bool is_delivering; /* the last try succeeded */
	char collector[FORWARD_NAME_BYTES]; /* the last to ack; "" = none */
	char last_error[FORWARD_NAME_BYTES + FAILURE_TEXT_BYTES + 2]; /* with its name; "" = none */
};

struct sender;

/* options and source are copied; what they point to is borrowed. 0 or -errno (logged). */
int sender_start(const struct sender_options *options, const struct chunk_source *source,
		 struct sender **ret_sender);

/* Becomes readable once the sender ends by itself: the source is exhausted, or it gave up. */
int sender_ended_fd(const struct sender *sender);

/*
 * Stops the sender: sends what is left for at most drain_ns, as long as collectors accept it.
 * Returns when the thread is gone. May be called again.
 */
void sender_stop(struct sender *sender, uint64_t drain_ns);
/* Stops at once if not stopped yet. */
void sender_free(struct sender *sender);
DEFINE_CLEANUP(struct sender *, sender_free);

void sender_get_status(struct sender *sender, struct sender_status *ret_status);
