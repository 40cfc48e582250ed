/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends what waits to be sent, in a thread of its own, at least once: a chunk is released by its
 * ack and by nothing else. One chunk is in flight. When a collector fails, the next one of the list
 * is tried at once; when all have failed, after a wait (backoff.h). An entry that a working
 * collector keeps refusing is set aside (poison.h), so that the rest goes through.
 * Thread rule: start, stop and free from one thread; sender_get_status from any.
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
	struct tls_context *tls; /* NULL = no tls:// among them */
	const struct forward_credentials *credentials; /* NULL = no handshake */
	const char *client_name; /* forward_handshake.h */
	const char *tag;
	bool is_gzip;
	bool has_no_acks; /* at most once: a chunk is released when the kernel has taken it */
	uint64_t ack_timeout_ns;
	uint64_t backoff_base_ns;
	uint64_t backoff_max_ns;
	uint64_t give_up_ns; /* end when nothing was acked for so long; 0 = never */
};

/* Counts since the start. */
struct sender_status {
	uint64_t sent_chunks; /* each try */
	uint64_t resent_chunks; /* of them: tries after the first */
	uint64_t acked_chunks;
	uint64_t acked_records;
	uint64_t acked_bytes; /* of entries, before compression */
	uint64_t rejected_records;
	uint64_t failures;
	uint64_t last_ack_wall_ns; /* 0 = none yet */
	uint64_t last_error_wall_ns;
	enum failure_kind last_failure; /* FAILURE_NONE = none yet */
	bool is_delivering; /* the last try was acked */
	char collector[FORWARD_NAME_BYTES]; /* that acked last; "" = none */
	char last_error[FORWARD_NAME_BYTES + FAILURE_TEXT_BYTES + 2]; /* with its name; "" = none */
};

struct sender;

/* options and source: copied, what they point to is borrowed. 0 or -errno (logged). */
int sender_start(const struct sender_options *options, const struct chunk_source *source,
		 struct sender **ret_sender);

/* Readable once the sender has ended by itself: the source had no more, or it gave up. */
int sender_ended_fd(const struct sender *sender);

/*
 * Ends it: what is still there is sent for at most drain_ns, but for no longer than collectors take
 * it. Returns when the thread is gone. May be called again.
 */
void sender_stop(struct sender *sender, uint64_t drain_ns);
/* Stops at once what was not stopped. */
void sender_free(struct sender *sender);
DEFINE_CLEANUP(struct sender *, sender_free);

void sender_get_status(struct sender *sender, struct sender_status *ret_status);
