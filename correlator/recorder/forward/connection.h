/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stream to a collector: TCP, TLS or a Unix socket. Every wait has a deadline and ends when the
 * sender is asked to stop (waiter.h), so no peer can block it: neither one that takes a byte a
 * second, nor one that never stops sending. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/cleanup.h"
#include "recorder/forward/failure.h"
#include "recorder/forward/forward_url.h"
#include "recorder/forward/tls.h"
#include "recorder/net/resolver.h"
#include "recorder/net/waiter.h"

enum {
	/* More than any answer has: input that is not parsed by then is invalid. */
	CONNECTION_INPUT_BYTES = 8192,
	CONNECTION_PARTS_MAX = 4,
};

struct connection_options {
	const struct forward_url *url;
	struct tls_context *tls; /* for tls:// */
	struct resolver *resolver; /* for the URL's host */
	const struct waiter *waiter;
	uint64_t stall_ns; /* a peer that takes nothing for this long is abandoned */
	/*
	 * Index of the host's address to try first, modulo their number; set to the address that
	 * answered. Borrowed; NULL = the first.
	 */
	unsigned int *address;
};

struct connection;

/* options are copied; what they point to is borrowed. 0, or -errno with ret_failure. */
int connection_open(const struct connection_options *options, struct connection **ret_connection,
		    struct failure *ret_failure);
/* With TLS, sends close_notify first. */
void connection_close(struct connection *connection);
DEFINE_CLEANUP(struct connection *, connection_close);

/*
 * Sends the parts in order; a partial send counts as none. 0; -EPROTO: the peer sent data before it
 * had everything, which is in the input; -EPIPE: it closed or reset the connection, its last data
 * is in the input; another -errno. ret_failure is set except for the first two errors.
 */
int connection_write(struct connection *connection, const struct iovec *parts, size_t count,
		     struct failure *ret_failure);

/*
 * Waits for more input. Returns the number of new bytes, > 0; 0: the peer closed or reset the
 * connection; -ETIMEDOUT, without ret_failure; -ENOBUFS: the input is full, without ret_failure;
 * another -errno with it.
 */
int connection_read(struct connection *connection, uint64_t deadline_ns,
		    struct failure *ret_failure);
/* connection_read without waiting: also -EAGAIN if there is no data. */
int connection_read_now(struct connection *connection, struct failure *ret_failure);

/* The input that was read and not yet consumed. */
const uint8_t *connection_input(const struct connection *connection, size_t *ret_size_bytes);
void connection_consume(struct connection *connection, size_t size_bytes);

/* For poll(2): when readable, call connection_read_now. */
int connection_fd(const struct connection *connection);
