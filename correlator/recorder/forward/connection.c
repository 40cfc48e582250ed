/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/connection.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "base/iovec.h"

enum {
	LOOKUP_S = 10,
	CONNECT_S = 5, /* per address */
	TLS_HANDSHAKE_S = 10,
	/* In multiples of stall_ns: limit for one message, even if its bytes trickle steadily. */
	STALLS_PER_MESSAGE = 20,
};

struct connection {
	struct connection_options options;
	int fd;
	struct tls_stream *tls; /* NULL = plain */
	uint8_t input[CONNECTION_INPUT_BYTES];
	size_t input_bytes;
};

static uint64_t in_seconds(uint64_t seconds)
{
	return clock_monotonic_ns() + seconds * NS_PER_S;
}

/* The kernel detects dead peers, too. Options that a socket does not support are skipped. */
static void set_tcp_options(int fd, uint64_t stall_ns)
{
	const uint64_t stall_ms = stall_ns / NS_PER_MS;
	const unsigned int user_timeout_ms = stall_ms < INT_MAX ? (unsigned int)stall_ms : INT_MAX;
	const int on = 1;

	(void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_timeout_ms,
			 sizeof(user_timeout_ms));
}

static int await_connected(int fd, const struct waiter *waiter)
{
	int error = 0, r = waiter_wait(waiter, fd, POLLOUT, in_seconds(CONNECT_S));
	socklen_t size = sizeof(error);

	if (r < 0)
		return r;
	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		return -errno;
	return -error;
}

/* A connected socket, or -errno. */
static int connect_to(const struct sockaddr *address, socklen_t address_bytes,
		      const struct waiter *waiter)
{
	_cleanup_fd_ int fd =
		socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	if (connect(fd, address, address_bytes) < 0) {
		r = errno == EINPROGRESS ? await_connected(fd, waiter) : -errno;
		if (r < 0)
			return r;
	}
	return TAKE_FD(fd);
}

static int explain_connect(int r, struct failure *ret_failure)
{
	if (r == -ECANCELED)
		failure_set(ret_failure, FAILURE_CANCELLED, "stopped while connecting");
	else
		failure_set(ret_failure, FAILURE_CONNECT, "cannot connect: %s", strerror(-r));
	return r;
}

static int connect_unix(struct connection *connection, struct failure *ret_failure)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int r;

	memcpy(address.sun_path, connection->options.url->path, sizeof(address.sun_path));
	r = connect_to((struct sockaddr *)&address, sizeof(address), connection->options.waiter);
	if (r < 0)
		return explain_connect(r, ret_failure);
	connection->fd = r;
	return 0;
}

static int explain_lookup(int r, const char *host, const char *reason, struct failure *ret_failure)
{
	if (r == -ECANCELED)
		failure_set(ret_failure, FAILURE_CANCELLED, "stopped while looking up %s", host);
	else if (r == -EHOSTUNREACH || r == -ETIMEDOUT)
		failure_set(ret_failure, FAILURE_RESOLVE, "the name %s cannot be resolved: %s",
			    host, reason);
	else
		failure_set(ret_failure, FAILURE_INTERNAL,
			    "cannot start a thread to look up %s: %s", host, strerror(-r));
	return r;
}

/* Tries the addresses in turn: a host's IPv6 may be dead while its IPv4 works. */
static int connect_any(const struct connection_options *options, const struct addrinfo *addresses)
{
	unsigned int ignored = 0, *number = options->address ? options->address : &ignored;
	const struct addrinfo *address;
	unsigned int count = 0, first;
	int r = -EHOSTUNREACH;

	for (address = addresses; address; address = address->ai_next)
		count++;
	first = count ? *number % count : 0;
	for (unsigned int i = 0; i < count && r < 0 && r != -ECANCELED; i++) {
		*number = (first + i) % count;
		address = addresses;
		for (unsigned int skipped = 0; skipped < *number; skipped++)
			address = address->ai_next;
		r = connect_to(address->ai_addr, address->ai_addrlen, options->waiter);
	}
	return r;
}

static int connect_host(struct connection *connection, struct failure *ret_failure)
{
	const struct connection_options *options = &connection->options;
	_cleanup_(freeaddrinfop) struct addrinfo *addresses = NULL;
	const char *reason = "no name server answers";
	int r = resolver_lookup(options->resolver, options->waiter, in_seconds(LOOKUP_S),
				&addresses, &reason);

	if (r < 0)
		return explain_lookup(r, options->url->host, reason, ret_failure);
	r = connect_any(options, addresses);
	if (r < 0)
		return explain_connect(r, ret_failure);
	connection->fd = r;
	set_tcp_options(connection->fd, options->stall_ns);
	return 0;
}

static int explain_wait(int r, struct failure *ret_failure)
{
	if (r == -ECANCELED)
		failure_set(ret_failure, FAILURE_CANCELLED, "stopped while sending");
	return r;
}

static int start_tls(struct connection *connection, struct failure *ret_failure)
{
	const struct connection_options *options = &connection->options;
	uint64_t deadline_ns = in_seconds(TLS_HANDSHAKE_S);
	short events;
	int r = tls_stream_new(options->tls, connection->fd, options->url, &connection->tls,
			       ret_failure);

	while (r == 0) {
		r = tls_stream_handshake(connection->tls, &events, ret_failure);
		if (r != -EAGAIN)
			return r;
		r = explain_wait(waiter_wait(options->waiter, connection->fd, events, deadline_ns),
				 ret_failure);
		if (r == -ETIMEDOUT)
			failure_set(ret_failure, FAILURE_TLS,
				    "no answer to the TLS handshake within %d s", TLS_HANDSHAKE_S);
	}
	return r;
}

int connection_open(const struct connection_options *options, struct connection **ret_connection,
		    struct failure *ret_failure)
{
	_cleanup_(connection_closep) struct connection *connection = calloc(1, sizeof(*connection));
	int r;

	if (!connection) {
		failure_set(ret_failure, FAILURE_INTERNAL, "no memory for a connection");
		return -ENOMEM;
	}
	connection->options = *options;
	connection->fd = -1;
	r = options->url->transport == FORWARD_TRANSPORT_UNIX
		    ? connect_unix(connection, ret_failure)
		    : connect_host(connection, ret_failure);
	if (r == 0 && options->url->transport == FORWARD_TRANSPORT_TLS)
		r = start_tls(connection, ret_failure);
	if (r < 0)
		return r;
	*ret_connection = TAKE_PTR(connection);
	return 0;
}

void connection_close(struct connection *connection)
{
	if (!connection)
		return;
	if (connection->tls)
		tls_stream_say_goodbye(connection->tls);
	tls_stream_free(connection->tls);
	cleanup_fd(&connection->fd);
	free(connection);
}

static bool is_ended(int error)
{
	return error == EPIPE || error == ECONNRESET;
}

/* 0: end of stream, or a reset, which counts as one. -EAGAIN and *ret_events: no data now. */
static ssize_t read_some(struct connection *connection, short *ret_events,
			 struct failure *ret_failure)
{
	uint8_t *free_bytes = connection->input + connection->input_bytes;
	size_t room_bytes = sizeof(connection->input) - connection->input_bytes;
	ssize_t got;

	*ret_events = POLLIN;
	if (room_bytes == 0)
		return -ENOBUFS;
	if (connection->tls) {
		got = tls_stream_read(connection->tls, free_bytes, room_bytes, ret_events,
				      ret_failure);
	} else {
		do {
			got = recv(connection->fd, free_bytes, room_bytes, 0);
		} while (got < 0 && errno == EINTR);
		if (got < 0)
			got = -errno;
	}
	if (got > 0)
		connection->input_bytes += (size_t)got;
	if (got < 0 && is_ended((int)-got))
		return 0;
	if (got < 0 && got != -EAGAIN)
		failure_set(ret_failure, FAILURE_CONNECT, "the connection failed: %s",
			    strerror((int)-got));
	return got;
}

int connection_read_now(struct connection *connection, struct failure *ret_failure)
{
	short events;

	return (int)read_some(connection, &events, ret_failure);
}

int connection_read(struct connection *connection, uint64_t deadline_ns,
		    struct failure *ret_failure)
{
	for (;;) {
		short events;
		ssize_t got = read_some(connection, &events, ret_failure);
		int r;

		if (got != -EAGAIN)
			return (int)got;
		r = waiter_wait(connection->options.waiter, connection->fd, events, deadline_ns);
		if (r < 0)
			return explain_wait(r, ret_failure);
	}
}

/* The part of a write that is not sent yet. */
struct unsent {
	struct iovec parts[CONNECTION_PARTS_MAX];
	size_t next;
	size_t count;
};

static void skip_sent(struct unsent *output, size_t sent_bytes)
{
	output->next +=
		iovec_skip(&output->parts[output->next], output->count - output->next, sent_bytes);
}

static ssize_t write_some(struct connection *connection, struct unsent *output, short *ret_events,
			  struct failure *ret_failure)
{
	const struct iovec *first = &output->parts[output->next];
	const struct msghdr message = { .msg_iov = (struct iovec *)first,
					.msg_iovlen = output->count - output->next };
	ssize_t sent;

	*ret_events = POLLOUT;
	if (connection->tls) {
		sent = tls_stream_write(connection->tls, first->iov_base, first->iov_len,
					ret_events, ret_failure);
	} else {
		/* Does not block, so no signal can interrupt it. */
		sent = sendmsg(connection->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0)
			sent = -errno;
	}
	if (sent > 0)
		skip_sent(output, (size_t)sent);
	return sent;
}

/* After a failed write: data that the peer sent before it closed may explain the failure. */
static int end_write(struct connection *connection, int r, struct failure *ret_failure)
{
	if (r == -EPROTO)
		return r;
	if (!is_ended(-r)) {
		failure_set(ret_failure, FAILURE_CONNECT, "the connection failed: %s",
			    strerror(-r));
		return r;
	}
	while (connection_read_now(connection, ret_failure) > 0)
		continue;
	return -EPIPE;
}

/* No answer is due before everything is sent: any input is something else. */
static int listen_while_writing(struct connection *connection, struct failure *ret_failure)
{
	int got = connection_read_now(connection, ret_failure);

	if (got == -EAGAIN)
		return 0;
	return got > 0 || got == -ENOBUFS ? -EPROTO : (got == 0 ? -EPIPE : got);
}

static int wait_to_write(struct connection *connection, short events, uint64_t deadline_ns,
			 struct failure *ret_failure)
{
	struct pollfd poll_fd = { .fd = connection->fd, .events = (short)(events | POLLIN) };
	int r = waiter_poll(connection->options.waiter, &poll_fd, 1, deadline_ns);

	if (r == -ETIMEDOUT)
		failure_set(ret_failure, FAILURE_STALLED, "it takes no more bytes, or too slowly");
	if (r < 0)
		return explain_wait(r, ret_failure);
	return poll_fd.revents & POLLIN ? listen_while_writing(connection, ret_failure) : 0;
}

static uint64_t earlier(uint64_t one_ns, uint64_t other_ns)
{
	return one_ns < other_ns ? one_ns : other_ns;
}

int connection_write(struct connection *connection, const struct iovec *parts, size_t count,
		     struct failure *ret_failure)
{
	const uint64_t stall_ns = connection->options.stall_ns;
	uint64_t progress_ns = clock_monotonic_ns();
	uint64_t end_ns = progress_ns + STALLS_PER_MESSAGE * stall_ns;
	struct unsent output = { .count = count };

	assert(count <= CONNECTION_PARTS_MAX);
	memcpy(output.parts, parts, count * sizeof(*parts));
	skip_sent(&output, 0);
	while (output.next < output.count) {
		short events;
		ssize_t sent = write_some(connection, &output, &events, ret_failure);
		int r = (int)sent;

		if (sent > 0) {
			progress_ns = clock_monotonic_ns();
			continue;
		}
		if (sent == -EAGAIN)
			r = wait_to_write(connection, events,
					  earlier(progress_ns + stall_ns, end_ns), ret_failure);
		if (r < 0)
			return end_write(connection, r, ret_failure);
	}
	return 0;
}

const uint8_t *connection_input(const struct connection *connection, size_t *ret_size_bytes)
{
	*ret_size_bytes = connection->input_bytes;
	return connection->input;
}

void connection_consume(struct connection *connection, size_t size_bytes)
{
	assert(size_bytes <= connection->input_bytes);
	connection->input_bytes -= size_bytes;
	memmove(connection->input, connection->input + size_bytes, connection->input_bytes);
}

int connection_fd(const struct connection *connection)
{
	return connection->fd;
}
