/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/forward_handshake.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>

#include "base/random.h"
#include "base/text.h"
#include "recorder/forward/wire_value.h"

enum {
	DIGEST_BYTES = 64, /* SHA-512 */
	DIGEST_TEXT_BYTES = 2 * DIGEST_BYTES + 1,
	DIGEST_PARTS = 4,
};

struct part {
	const void *bytes;
	size_t size_bytes;
};

static struct part text_part(const char *text)
{
	return (struct part){ text, strlen(text) };
}

/* Digest of the concatenated parts; the last may be empty. */
static int digest(const struct part parts[static DIGEST_PARTS],
		  char ret_text[static DIGEST_TEXT_BYTES])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t bytes[DIGEST_BYTES];
	int is_done = context && EVP_DigestInit_ex(context, EVP_sha512(), NULL);

	for (size_t i = 0; i < DIGEST_PARTS && is_done; i++)
		is_done = EVP_DigestUpdate(context, parts[i].bytes, parts[i].size_bytes);
	is_done = is_done && EVP_DigestFinal_ex(context, bytes, NULL);
	EVP_MD_CTX_free(context);
	if (!is_done)
		return -ENOMEM;
	text_hex(bytes, sizeof(bytes), ret_text);
	return 0;
}

static int digest_key(const struct forward_hello *hello, const char *shared_key, const char *salt,
		      struct part host_name, char ret_text[static DIGEST_TEXT_BYTES])
{
	const struct part parts[DIGEST_PARTS] = { text_part(salt),
						  host_name,
						  { hello->nonce, hello->nonce_bytes },
						  text_part(shared_key) };

	return digest(parts, ret_text);
}

static int digest_password(const struct forward_hello *hello,
			   const struct forward_credentials *credentials,
			   char ret_text[static DIGEST_TEXT_BYTES])
{
	const struct part parts[DIGEST_PARTS] = { { hello->auth, hello->auth_bytes },
						  text_part(credentials->user),
						  text_part(credentials->password),
						  text_part("") };

	/*
	 * Collectors offer a salt even if they know no users: only send a digest if a user is set.
	 */
	if (credentials->user[0])
		return digest(parts, ret_text);
	ret_text[0] = '\0';
	return 0;
}

/* An optional field of the HELO, bounded. */
static int copy_field(const msgpack_object *map, const char *name, uint8_t *ret_bytes,
		      size_t *ret_size_bytes)
{
	const msgpack_object *value = wire_value_field(map, name);
	const char *bytes = "";
	size_t size_bytes = 0;

	if (value && value->type != MSGPACK_OBJECT_NIL &&
	    !wire_value_as_bytes(value, &bytes, &size_bytes))
		return -EBADMSG;
	if (size_bytes > FORWARD_HELLO_PART_BYTES_MAX)
		return -E2BIG;
	memcpy(ret_bytes, bytes, size_bytes);
	*ret_size_bytes = size_bytes;
	return 0;
}

static int read_hello(const msgpack_object *value, struct forward_hello *ret_hello)
{
	struct forward_hello hello = { .is_kept_alive = true };
	const msgpack_object *options, *keepalive;
	int r;

	if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size < 2 ||
	    !wire_value_is(&value->via.array.ptr[0], "HELO"))
		return -EBADMSG;
	options = &value->via.array.ptr[1];
	if (options->type != MSGPACK_OBJECT_MAP)
		return -EBADMSG;
	r = copy_field(options, "nonce", hello.nonce, &hello.nonce_bytes);
	if (r == 0)
		r = copy_field(options, "auth", hello.auth, &hello.auth_bytes);
	if (r < 0)
		return r;
	keepalive = wire_value_field(options, "keepalive");
	if (keepalive && keepalive->type == MSGPACK_OBJECT_BOOLEAN)
		hello.is_kept_alive = keepalive->via.boolean;
	*ret_hello = hello;
	return 0;
}

int forward_hello_parse(const uint8_t *bytes, size_t available_bytes,
			struct forward_hello *ret_hello, size_t *ret_value_bytes)
{
	msgpack_unpacked unpacked;
	size_t value_bytes;
	int r = wire_value_decode(bytes, available_bytes, &unpacked, &value_bytes);

	if (r < 0)
		return r;
	r = read_hello(&unpacked.data, ret_hello);
	msgpack_unpacked_destroy(&unpacked);
	if (r == 0)
		*ret_value_bytes = value_bytes;
	return r;
}

static bool digest_equals(const msgpack_object *value, const char *expected)
{
	const char *bytes;
	size_t size_bytes;

	return wire_value_as_bytes(value, &bytes, &size_bytes) && size_bytes == strlen(expected) &&
	       CRYPTO_memcmp(bytes, expected, size_bytes) == 0;
}

/*
 * Checks ["PONG", ok, reason, server_hostname, digest]; ok comes first: a refusal may leave the
 * rest empty.
 */
static int check_pong(const msgpack_object *value, const struct forward_hello *hello,
		      const struct forward_credentials *credentials, const char *client_name,
		      const char *salt, char ret_reason[static FORWARD_REASON_BYTES])
{
	char expected[DIGEST_TEXT_BYTES];
	const msgpack_object *parts;
	struct part host_name;
	const char *reason = "";
	size_t reason_bytes = 0;
	int r;

	if (value->type != MSGPACK_OBJECT_ARRAY || value->via.array.size < 5)
		return -EBADMSG;
	parts = value->via.array.ptr;
	if (!wire_value_is(&parts[0], "PONG") || parts[1].type != MSGPACK_OBJECT_BOOLEAN)
		return -EBADMSG;
	if (!parts[1].via.boolean) {
		(void)wire_value_as_bytes(&parts[2], &reason, &reason_bytes);
		(void)text_escape(reason, reason_bytes, 0, ret_reason, FORWARD_REASON_BYTES);
		return -EACCES;
	}
	if (!wire_value_as_bytes(&parts[3], (const char **)&host_name.bytes, &host_name.size_bytes))
		return -EBADMSG;
	/*
	 * The digests differ in this name alone: under our name, anybody could return our own
	 * digest.
	 */
	if (wire_value_is(&parts[3], client_name))
		return -EKEYREJECTED;
	r = digest_key(hello, credentials->shared_key, salt, host_name, expected);
	if (r < 0)
		return r;
	return digest_equals(&parts[4], expected) ? 0 : -EKEYREJECTED;
}

int forward_pong_parse(const uint8_t *bytes, size_t available_bytes,
		       const struct forward_hello *hello,
		       const struct forward_credentials *credentials, const char *client_name,
		       const char *salt, char ret_reason[static FORWARD_REASON_BYTES],
		       size_t *ret_value_bytes)
{
	msgpack_unpacked unpacked;
	size_t value_bytes;
	int r = wire_value_decode(bytes, available_bytes, &unpacked, &value_bytes);

	if (r < 0)
		return r;
	r = check_pong(&unpacked.data, hello, credentials, client_name, salt, ret_reason);
	msgpack_unpacked_destroy(&unpacked);
	if (r == 0)
		*ret_value_bytes = value_bytes;
	return r;
}

int forward_salt_make(char ret_salt[static FORWARD_SALT_BYTES])
{
	uint8_t bytes[(FORWARD_SALT_BYTES - 1) / 2];
	int r = random_bytes(bytes, sizeof(bytes));

	if (r < 0)
		return r;
	text_hex(bytes, sizeof(bytes), ret_salt);
	return 0;
}

int forward_ping_encode(const struct forward_hello *hello,
			const struct forward_credentials *credentials, const char *client_name,
			const char *salt, uint8_t ret_bytes[static FORWARD_PING_BYTES_MAX],
			size_t *ret_size_bytes)
{
	char key_digest[DIGEST_TEXT_BYTES], password_digest[DIGEST_TEXT_BYTES];
	const char *parts[] = { "PING",	    client_name,       salt,
				key_digest, credentials->user, password_digest };
	const size_t part_count = sizeof(parts) / sizeof(parts[0]);
	msgpack_sbuffer buffer;
	msgpack_packer packer;
	int r = digest_key(hello, credentials->shared_key, salt, text_part(client_name),
			   key_digest);

	if (r == 0)
		r = digest_password(hello, credentials, password_digest);
	if (r < 0)
		return r;
	msgpack_sbuffer_init(&buffer);
	msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
	r = msgpack_pack_array(&packer, part_count);
	for (size_t i = 0; i < part_count && r == 0; i++)
		r = msgpack_pack_str_with_body(&packer, parts[i], strlen(parts[i]));
	if (r < 0)
		r = -ENOMEM;
	else if (buffer.size > FORWARD_PING_BYTES_MAX)
		r = -E2BIG;
	if (r == 0) {
		memcpy(ret_bytes, buffer.data, buffer.size);
		*ret_size_bytes = buffer.size;
	}
	msgpack_sbuffer_destroy(&buffer);
	return r;
}
