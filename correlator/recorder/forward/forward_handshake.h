/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The handshake of the Fluent Forward protocol v1: the collector sends HELO, we answer PING with
 * digests of the shared key and the password, it answers PONG with a digest of its own. Pure except
 * for the digests (OpenSSL); wire_value.h bounds untrusted bytes.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	/* Fluent Bit reads the PING with a single read of 1 KiB. */
	FORWARD_PING_BYTES_MAX = 1023,
	/* Text, not bytes: Fluent Bit accepts no bin here. 16 random bytes in hexadecimal. */
	FORWARD_SALT_BYTES = 33, /* with the NUL */
	FORWARD_HELLO_PART_BYTES_MAX = 256,
	FORWARD_REASON_BYTES = 200,
	FORWARD_CREDENTIAL_BYTES_MAX = 256, /* per credential, without the NUL */
};

/*
 * client_name, below: the name that we send. It must differ from the collector's own name; the
 * host's name would not, on the same machine: a stranger could then pass with our own digest.
 */

/* Borrowed; user and password are "" if not configured. */
struct forward_credentials {
	const char *shared_key;
	const char *user;
	const char *password;
};

struct forward_hello {
	uint8_t nonce[FORWARD_HELLO_PART_BYTES_MAX];
	size_t nonce_bytes;
	uint8_t auth[FORWARD_HELLO_PART_BYTES_MAX]; /* salt for the password */
	size_t auth_bytes;
	bool is_kept_alive; /* false: the collector closes after each chunk */
};

/*
 * The parsers read one value at the front of untrusted bytes: 0 and its size; -EAGAIN: incomplete;
 * -EBADMSG, -E2BIG, -ELOOP: another value, or too large; -ENOMEM.
 */
int forward_hello_parse(const uint8_t *bytes, size_t available_bytes,
			struct forward_hello *ret_hello, size_t *ret_value_bytes);
/*
 * Also -EACCES: the collector refuses, ret_reason is its own text, escaped; and -EKEYREJECTED: the
 * digest does not prove knowledge of the key.
 */
int forward_pong_parse(const uint8_t *bytes, size_t available_bytes,
		       const struct forward_hello *hello,
		       const struct forward_credentials *credentials, const char *client_name,
		       const char *salt, char ret_reason[static FORWARD_REASON_BYTES],
		       size_t *ret_value_bytes);

/* Draws a new salt: 0 or -EIO (no randomness). */
int forward_salt_make(char ret_salt[static FORWARD_SALT_BYTES]);

/* Encodes the PING: 0; -E2BIG: the names are too long; -ENOMEM. */
int forward_ping_encode(const struct forward_hello *hello,
			const struct forward_credentials *credentials, const char *client_name,
			const char *salt, uint8_t ret_bytes[static FORWARD_PING_BYTES_MAX],
			size_t *ret_size_bytes);
