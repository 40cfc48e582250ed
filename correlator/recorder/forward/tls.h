/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TLS by OpenSSL 3 over a non-blocking socket. Verifies the collector's certificate, and that it
 * names the expected host, unless that is switched off. One tls_context for all connections; each
 * tls_stream is used by one thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "recorder/forward/failure.h"
#include "recorder/forward/forward_url.h"

struct tls_options {
	const char *ca_path; /* PEM file, or directory of hashed ones; NULL = the system's */
	const char *certificate_path; /* our own, PEM with its chain; NULL = none */
	const char *key_path; /* NULL = in certificate_path */
	const char *server_name; /* expected instead of the URL's host; NULL = the host */
	bool is_unverified;
};

struct tls_context;
struct tls_stream;

/* 0 and *ret_context; -errno, logged with the name of the file. options are borrowed. */
int tls_context_new(const struct tls_options *options, struct tls_context **ret_context);
void tls_context_free(struct tls_context *context);
DEFINE_CLEANUP(struct tls_context *, tls_context_free);

/* fd stays the caller's. 0, or -ENOMEM with ret_failure. */
int tls_stream_new(struct tls_context *context, int fd, const struct forward_url *url,
		   struct tls_stream **ret_stream, struct failure *ret_failure);
void tls_stream_free(struct tls_stream *stream);
DEFINE_CLEANUP(struct tls_stream *, tls_stream_free);

/*
 * All three: the result (bytes; 0 for the handshake); -EAGAIN: call again once the socket is ready
 * for *ret_events (POLLIN or POLLOUT), a write with the same bytes; any other -errno with
 * ret_failure. Reading returns 0 at the end.
 */
int tls_stream_handshake(struct tls_stream *stream, short *ret_events, struct failure *ret_failure);
ssize_t tls_stream_read(struct tls_stream *stream, void *ret_bytes, size_t size_bytes,
			short *ret_events, struct failure *ret_failure);
ssize_t tls_stream_write(struct tls_stream *stream, const void *bytes, size_t size_bytes,
			 short *ret_events, struct failure *ret_failure);

/* Sends close_notify, without waiting for an answer. */
void tls_stream_say_goodbye(struct tls_stream *stream);
