/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/forward_peer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "recorder/forward/connection.h"

enum {
	HANDSHAKE_S = 10, /* for the HELO, and for the PONG */
	/* In multiples of the timeout: limit for an ack that arrives byte by byte. */
	ACK_TIMEOUTS_MAX = 4,
	/*
	 * Wait for a HELO: without acks nothing else would show that a collector wants a handshake.
	 */
	EARLY_WORD_MS = 200,
};

struct forward_peer {
	struct forward_peer_options options;
	struct resolver *resolver;
	struct connection *connection; /* NULL = not open */
	bool is_kept_alive;
	unsigned int address; /* index of the host's address in use, or to try next */
};

struct forward_peer *forward_peer_new(const struct forward_peer_options *options)
{
	struct forward_peer *peer = calloc(1, sizeof(*peer));

	if (!peer)
		return NULL;
	peer->options = *options;
	peer->resolver = resolver_new(options->url->host, options->url->port);
	if (peer->resolver)
		return peer;
	free(peer);
	return NULL;
}

void forward_peer_free(struct forward_peer *peer)
{
	if (!peer)
		return;
	forward_peer_close(peer);
	resolver_free(peer->resolver);
	free(peer);
}

void forward_peer_close(struct forward_peer *peer)
{
	connection_close(TAKE_PTR(peer->connection));
}

/* If this address answered and then failed, the host's next one may work. */
static void give_up(struct forward_peer *peer)
{
	forward_peer_close(peer);
	peer->address++;
}

/*
 * Explains data that the peer sent where none, or an end, was due. It explains more than the end
 * does: a collector that wants a handshake sends HELO, and then cannot parse our chunk.
 */
static void explain_words(struct forward_peer *peer, enum failure_kind otherwise,
			  const char *otherwise_text, struct failure *ret_failure)
{
	enum forward_reply reply = FORWARD_REPLY_OTHER;
	size_t available_bytes, reply_bytes;
	const uint8_t *input = connection_input(peer->connection, &available_bytes);
	int r = forward_reply_parse(input, available_bytes, "", &reply, &reply_bytes);

	if (available_bytes == 0)
		failure_set(ret_failure, otherwise, "%s", otherwise_text);
	else if (r == 0 && reply == FORWARD_REPLY_HELLO)
		failure_set(ret_failure, FAILURE_KEY_WANTED,
			    "it requires a shared key, and none is configured (--shared-key-file)");
	else if (available_bytes >= 2 && input[0] == 0x15 && input[1] == 0x03)
		failure_set(ret_failure, FAILURE_GARBAGE, "it speaks TLS: use tls://");
	else if (r == 0 && reply == FORWARD_REPLY_REFUSAL)
		failure_set(ret_failure, FAILURE_REFUSED, "it refused the chunk");
	else
		failure_set(ret_failure, FAILURE_GARBAGE,
			    "what it says is not the Fluent Forward protocol");
}

struct reader {
	int (*parse)(void *user, const uint8_t *bytes, size_t available_bytes, size_t *ret_bytes);
	void *user;
	uint64_t patience_ns; /* timeout after each piece */
	uint64_t end_ns; /* absolute deadline */
};

/*
 * Reads until parse has a complete value. Returns parse's result (0, or an -errno of its own except
 * -EAGAIN); -ECONNRESET: the peer ended the connection; -ETIMEDOUT; -ECANCELED and other errors of
 * reading, with ret_failure.
 */
static int await_value(struct forward_peer *peer, const struct reader *reader,
		       struct failure *ret_failure)
{
	for (;;) {
		uint64_t deadline_ns = clock_monotonic_ns() + reader->patience_ns;
		size_t available_bytes, value_bytes = 0;
		const uint8_t *input = connection_input(peer->connection, &available_bytes);
		int r = reader->parse(reader->user, input, available_bytes, &value_bytes);

		if (r == 0)
			connection_consume(peer->connection, value_bytes);
		if (r != -EAGAIN)
			return r;
		if (deadline_ns > reader->end_ns)
			deadline_ns = reader->end_ns;
		r = connection_read(peer->connection, deadline_ns, ret_failure);
		if (r <= 0)
			return r == 0 ? -ECONNRESET : r;
	}
}

struct handshake {
	struct forward_peer *peer;
	struct forward_hello hello;
	char salt[FORWARD_SALT_BYTES];
	char reason[FORWARD_REASON_BYTES];
};

static int parse_hello(void *user, const uint8_t *bytes, size_t available_bytes, size_t *ret_bytes)
{
	struct handshake *handshake = user;

	return forward_hello_parse(bytes, available_bytes, &handshake->hello, ret_bytes);
}

static int parse_pong(void *user, const uint8_t *bytes, size_t available_bytes, size_t *ret_bytes)
{
	struct handshake *handshake = user;
	const struct forward_peer_options *options = &handshake->peer->options;

	return forward_pong_parse(bytes, available_bytes, &handshake->hello, options->credentials,
				  options->client_name, handshake->salt, handshake->reason,
				  ret_bytes);
}

/* The handshake waits no longer than the ack timeout. */
static uint64_t handshake_ns(const struct forward_peer *peer)
{
	const uint64_t most_ns = HANDSHAKE_S * NS_PER_S;

	return peer->options.ack_timeout_ns < most_ns ? peer->options.ack_timeout_ns : most_ns;
}

static struct reader handshake_reader(struct handshake *handshake,
				      int (*parse)(void *, const uint8_t *, size_t, size_t *))
{
	uint64_t patience_ns = handshake_ns(handshake->peer);

	return (struct reader){ .parse = parse,
				.user = handshake,
				.patience_ns = patience_ns,
				.end_ns = clock_monotonic_ns() + patience_ns };
}

static int await_hello(struct handshake *handshake, struct failure *ret_failure)
{
	struct reader reader = handshake_reader(handshake, parse_hello);
	int r = await_value(handshake->peer, &reader, ret_failure);

	if (r == -ETIMEDOUT)
		failure_set(
			ret_failure, FAILURE_NO_HELLO,
			"it asks for no handshake within %.1f s, and a shared key is configured",
			(double)handshake_ns(handshake->peer) / 1e9);
	else if (r == -ECONNRESET)
		failure_set(ret_failure, FAILURE_CONNECT,
			    "it closed the connection before the handshake");
	else if (r < 0)
		failure_set(ret_failure, FAILURE_GARBAGE,
			    "what it says is not the handshake of Fluent Forward");
	return r;
}

static int await_pong(struct handshake *handshake, struct failure *ret_failure)
{
	struct reader reader = handshake_reader(handshake, parse_pong);
	int r = await_value(handshake->peer, &reader, ret_failure);

	if (r == -EACCES)
		failure_set(ret_failure, FAILURE_KEY_REFUSED,
			    "it refuses our shared key, user or password: %s",
			    handshake->reason[0] ? handshake->reason : "no reason given");
	else if (r == -EKEYREJECTED)
		failure_set(ret_failure, FAILURE_IMPOSTOR,
			    "it does not know the shared key itself: not the collector it claims "
			    "to be");
	/* Fluent Bit does not answer a wrong key. */
	else if (r == -ECONNRESET)
		failure_set(ret_failure, FAILURE_KEY_REFUSED,
			    "it closed the connection in the handshake: a wrong shared key?");
	else if (r == -ETIMEDOUT)
		failure_set(ret_failure, FAILURE_NO_HELLO,
			    "it did not finish the handshake within %.1f s",
			    (double)handshake_ns(handshake->peer) / 1e9);
	else if (r < 0)
		failure_set(ret_failure, FAILURE_GARBAGE,
			    "what it says is not the handshake of Fluent Forward");
	return r;
}

/* Sends it in one write: Fluent Bit reads it with one read. */
static int send_ping(struct handshake *handshake, struct failure *ret_failure)
{
	const struct forward_peer_options *options = &handshake->peer->options;
	uint8_t ping[FORWARD_PING_BYTES_MAX];
	size_t ping_bytes;
	int r = forward_salt_make(handshake->salt);

	if (r == 0)
		r = forward_ping_encode(&handshake->hello, options->credentials,
					options->client_name, handshake->salt, ping, &ping_bytes);
	if (r < 0) {
		failure_set(ret_failure, FAILURE_INTERNAL, "cannot make our part of the handshake");
		return r;
	}
	r = connection_write(handshake->peer->connection, &(struct iovec){ ping, ping_bytes }, 1,
			     ret_failure);
	if (r < 0)
		failure_set(ret_failure, FAILURE_CONNECT,
			    "it closed the connection in the handshake");
	return r;
}

static int shake_hands(struct forward_peer *peer, struct failure *ret_failure)
{
	struct handshake handshake = { .peer = peer };
	int r = await_hello(&handshake, ret_failure);

	if (r == 0)
		r = send_ping(&handshake, ret_failure);
	if (r == 0)
		r = await_pong(&handshake, ret_failure);
	peer->is_kept_alive = handshake.hello.is_kept_alive;
	return r;
}

static int expect_no_word(struct forward_peer *peer, struct failure *ret_failure)
{
	uint64_t deadline_ns = clock_monotonic_ns() + EARLY_WORD_MS * NS_PER_MS;
	int r = connection_read(peer->connection, deadline_ns, ret_failure);

	if (r == -ETIMEDOUT)
		return 0;
	explain_words(peer, FAILURE_CLOSED, "it closed the connection at once", ret_failure);
	return -EPROTO;
}

int forward_peer_open(struct forward_peer *peer, struct failure *ret_failure)
{
	const struct connection_options options = {
		.url = peer->options.url,
		.tls = peer->options.tls,
		.resolver = peer->resolver,
		.waiter = peer->options.waiter,
		.stall_ns = peer->options.ack_timeout_ns,
		.address = &peer->address,
	};
	int r;

	if (peer->connection)
		return 0;
	peer->is_kept_alive = true;
	r = connection_open(&options, &peer->connection, ret_failure);
	if (r == 0 && peer->options.credentials)
		r = shake_hands(peer, ret_failure);
	else if (r == 0 && !peer->options.wants_ack)
		r = expect_no_word(peer, ret_failure);
	if (r < 0)
		give_up(peer);
	return r;
}

struct awaited_ack {
	const char *chunk_id;
	enum forward_reply reply;
};

static int parse_reply(void *user, const uint8_t *bytes, size_t available_bytes, size_t *ret_bytes)
{
	struct awaited_ack *awaited = user;
	int r = forward_reply_parse(bytes, available_bytes, awaited->chunk_id, &awaited->reply,
				    ret_bytes);

	if (r == 0 && awaited->reply != FORWARD_REPLY_ACK &&
	    awaited->reply != FORWARD_REPLY_WRONG_ACK)
		return -EPROTO;
	return r;
}

static int await_ack(struct forward_peer *peer, const char *chunk_id, struct failure *ret_failure)
{
	const uint64_t timeout_ns = peer->options.ack_timeout_ns;
	struct awaited_ack awaited = { .chunk_id = chunk_id };
	const struct reader reader = {
		.parse = parse_reply,
		.user = &awaited,
		.patience_ns = timeout_ns,
		.end_ns = clock_monotonic_ns() + ACK_TIMEOUTS_MAX * timeout_ns,
	};
	int r = await_value(peer, &reader, ret_failure);

	if (r == 0 && awaited.reply == FORWARD_REPLY_WRONG_ACK) {
		failure_set(ret_failure, FAILURE_WRONG_ACK,
			    "it acknowledges a chunk that was not sent");
		r = -EPROTO;
	} else if (r == -ETIMEDOUT)
		failure_set(ret_failure, FAILURE_SILENT,
			    "it took a chunk and did not acknowledge it within %.1f s",
			    (double)timeout_ns / 1e9);
	else if (r < 0)
		explain_words(peer, FAILURE_CLOSED,
			      "it closed the connection instead of acknowledging a chunk",
			      ret_failure);
	return r;
}

int forward_peer_send(struct forward_peer *peer, const struct forward_payload *payload,
		      struct failure *ret_failure)
{
	struct forward_message message;
	int r;

	forward_message_build(&message, payload);
	r = connection_write(peer->connection, message.parts, FORWARD_MESSAGE_PARTS, ret_failure);
	if (r < 0)
		explain_words(peer, FAILURE_CLOSED,
			      "it closed the connection in the middle of a chunk", ret_failure);
	else if (peer->options.wants_ack)
		r = await_ack(peer, payload->chunk_id, ret_failure);
	if (r < 0)
		give_up(peer);
	else if (!peer->is_kept_alive)
		forward_peer_close(peer);
	return r;
}

int forward_peer_fd(const struct forward_peer *peer)
{
	return peer->connection ? connection_fd(peer->connection) : -1;
}

bool forward_peer_check(struct forward_peer *peer)
{
	struct failure ignored = { 0 };

	if (peer->connection && connection_read_now(peer->connection, &ignored) != -EAGAIN)
		forward_peer_close(peer);
	return peer->connection != NULL;
}
