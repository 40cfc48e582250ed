/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The wire format: a PackedForward request [tag, bin(entries), {size, chunk, compressed}] of the
 * Fluent Forward protocol v1, and the answer to it. Pure; the payload is referenced, not copied.
 * Always bin, and always with the option map: every receiver accepts this form.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

enum {
	FORWARD_TAG_BYTES_MAX = 255, /* some receivers look for the tag in a small first buffer */
	FORWARD_CHUNK_ID_BYTES_MAX = 63,
	FORWARD_MESSAGE_PARTS = 3,
};

struct forward_payload {
	const char *tag; /* ASCII, at most FORWARD_TAG_BYTES_MAX */
	const char *chunk_id; /* NULL = no ack requested */
	const void *bytes;
	size_t size_bytes; /* at most UINT32_MAX */
	uint32_t entries;
	bool is_gzip; /* bytes are compressed */
};

/* In order: the bytes before the payload, the payload, the bytes after it. */
struct forward_message {
	struct iovec parts[FORWARD_MESSAGE_PARTS];
	uint8_t head[FORWARD_TAG_BYTES_MAX + 16];
	uint8_t tail[FORWARD_CHUNK_ID_BYTES_MAX + 64];
};

/* parts point into message and to the payload: message must not move. */
void forward_message_build(struct forward_message *message, const struct forward_payload *payload);

enum forward_reply {
	FORWARD_REPLY_ACK = 0,
	FORWARD_REPLY_WRONG_ACK = 1, /* of another chunk */
	FORWARD_REPLY_REFUSAL = 2, /* a map without an ack */
	FORWARD_REPLY_HELLO = 3, /* the collector wants a handshake */
	FORWARD_REPLY_OTHER = 4, /* msgpack, but not an answer */
};

/*
 * Parses the answer to a chunk at the front of untrusted bytes. 0, *ret_reply and its size;
 * -EAGAIN: incomplete; -EBADMSG, -E2BIG, -ELOOP: not msgpack, or too large to be an answer;
 * -ENOMEM.
 */
int forward_reply_parse(const uint8_t *bytes, size_t available_bytes, const char *chunk_id,
			enum forward_reply *ret_reply, size_t *ret_reply_bytes);
