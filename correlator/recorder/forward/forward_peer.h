/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One collector: its connection, if open, the handshake that opens it, and chunks with their acks,
 * one at a time. Logs nothing: each failure is passed to the caller. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/forward/failure.h"
#include "recorder/forward/forward_handshake.h"
#include "recorder/forward/forward_message.h"
#include "recorder/forward/forward_url.h"
#include "recorder/forward/tls.h"
#include "recorder/net/waiter.h"

struct forward_peer_options {
	const struct forward_url *url;
	struct tls_context *tls; /* for tls:// */
	const struct forward_credentials *credentials; /* NULL = no handshake */
	const char *client_name; /* forward_handshake.h */
	const struct waiter *waiter;
	bool wants_ack;
	uint64_t ack_timeout_ns;
};

struct forward_peer;

/* options are copied; what they point to is borrowed. NULL: out of memory. */
struct forward_peer *forward_peer_new(const struct forward_peer_options *options);
void forward_peer_free(struct forward_peer *peer);
DEFINE_CLEANUP(struct forward_peer *, forward_peer_free);

/*
 * Connects, and does the handshake. 0, also when it is open already; -errno with ret_failure. After
 * a failure, here or in a send, the host's next address is tried first.
 */
int forward_peer_open(struct forward_peer *peer, struct failure *ret_failure);
void forward_peer_close(struct forward_peer *peer);

/*
 * Sends one payload and waits for its ack; with wants_ack, its chunk_id must be set. 0: acked
 * (without acks: handed to the kernel); -errno with ret_failure, and the connection is closed.
 */
int forward_peer_send(struct forward_peer *peer, const struct forward_payload *payload,
		      struct failure *ret_failure);

/*
 * Between chunks: the descriptor to poll, -1 when not open; and a check, when it is readable or
 * before a chunk, whether the connection still works. If not, it is closed.
 */
int forward_peer_fd(const struct forward_peer *peer);
bool forward_peer_check(struct forward_peer *peer);
