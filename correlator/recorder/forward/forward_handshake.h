/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The handshake of the Fluent Forward protocol v1: the collector says HELO, we answer PING with
 * digests of the shared key and the password, it answers PONG with a digest of its own. Pure but
 * for the digests (OpenSSL); untrusted bytes are bounded by wire_value.h.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Fluent Bit reads the PING with one read of 1 KiB. */
	FORWARD_PING_BYTES_MAX = 1023,
	/* Text, not bytes: Fluent Bit takes no bin here. 16 random bytes in hexadecimal. */
	FORWARD_SALT_BYTES = 33, /* with the NUL */
	FORWARD_HELLO_PART_BYTES_MAX = 256,
	FORWARD_REASON_BYTES = 200,
	FORWARD_CREDENTIAL_BYTES_MAX = 256, /* of each credential, without the NUL */
};

/*
 * client_name, below: what we call ourselves. It must not be the collector's own name, which on one
 * machine the host's name would be: a stranger could then pass with our own digest.
 */

/* The caller's; user and password "" where none are configured. */
struct forward_credentials {
	const char *shared_key;
	const char *user;
	const char *password;
};

struct forward_hello {
	uint8_t nonce[FORWARD_HELLO_PART_BYTES_MAX];
	size_t nonce_bytes;
	uint8_t auth[FORWARD_HELLO_PART_BYTES_MAX]; /* the password's salt */
	size_t auth_bytes;
	bool is_kept_alive; /* false: the collector closes after each chunk */
};

/* Each reads one value at the front of untrusted bytes: 0 and its size; -EAGAIN: not complete;
 * -EBADMSG, -E2BIG, -ELOOP: something else, or too much of it; -ENOMEM. */
int forward_hello_parse(const uint8_t *bytes, size_t available_bytes,
			struct forward_hello *ret_hello, size_t *ret_value_bytes);
/* The last two also -EACCES: it refuses, ret_reason says why in its own words, escaped; and
 * -EKEYREJECTED: the digest is not that of somebody who knows the key. */
int forward_pong_parse(const uint8_t *bytes, size_t available_bytes,
		       const struct forward_hello *hello,
		       const struct forward_credentials *credentials, const char *client_name,
		       const char *salt, char ret_reason[static FORWARD_REASON_BYTES],
		       size_t *ret_value_bytes);

/* A new salt: 0 or -EIO (no randomness). */
int forward_salt_make(char ret_salt[static FORWARD_SALT_BYTES]);

/* Encodes the PING: 0; -E2BIG: the names are too long for it; -ENOMEM. */
int forward_ping_encode(const struct forward_hello *hello,
			const struct forward_credentials *credentials, const char *client_name,
			const char *salt, uint8_t ret_bytes[static FORWARD_PING_BYTES_MAX],
			size_t *ret_size_bytes);
