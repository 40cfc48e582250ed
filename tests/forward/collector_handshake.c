/* SPDX-License-Identifier: GPL-2.0-only */
#include "forward/collector_handshake.h"

#include <stdio.h>
#include <string.h>

#include <openssl/sha.h>

enum {
	NONCE_BYTES = 16,
	HEX_BYTES = 2 * SHA512_DIGEST_LENGTH,
};

static const char nonce[NONCE_BYTES + 1] = "0123456789abcdef";
static const char host[] = "collector";

static void put_text(msgpack_packer *packer, const char *text)
{
	msgpack_pack_str_with_body(packer, text, strlen(text));
}

void collector_hello(bool is_kept_alive, msgpack_sbuffer *bytes)
{
	msgpack_packer packer;

	msgpack_packer_init(&packer, bytes, msgpack_sbuffer_write);
	msgpack_pack_array(&packer, 2);
	put_text(&packer, "HELO");
	msgpack_pack_map(&packer, 3);
	put_text(&packer, "keepalive");
	(void)(is_kept_alive ? msgpack_pack_true(&packer) : msgpack_pack_false(&packer));
	put_text(&packer, "nonce");
	msgpack_pack_bin_with_body(&packer, nonce, NONCE_BYTES);
	put_text(&packer, "auth");
	put_text(&packer, "");
}

/* Of salt, name, nonce and key. */
static void digest_hex(const msgpack_object_str *salt, const char *name, size_t name_bytes,
		       const char *key, char ret_hex[static HEX_BYTES + 1])
{
	unsigned char digest[SHA512_DIGEST_LENGTH];
	char all[1024];
	int size = snprintf(all, sizeof(all), "%.*s%.*s%s%s", (int)salt->size, salt->ptr,
			    (int)name_bytes, name, nonce, key);

	(void)SHA512((const unsigned char *)all, (size_t)size, digest);
	for (size_t i = 0; i < sizeof(digest); i++)
		(void)snprintf(ret_hex + 2 * i, 3, "%02x", digest[i]);
}

bool collector_pong(const msgpack_object_array *ping, const char *key, msgpack_sbuffer *bytes)
{
	const msgpack_object *part = ping->ptr;
	msgpack_packer packer;
	char hex[HEX_BYTES + 1];

	for (uint32_t i = 0; i < ping->size; i++)
		if (part[i].type != MSGPACK_OBJECT_STR)
			return false;
	if (ping->size != 6 || part[3].via.str.size != HEX_BYTES)
		return false;
	digest_hex(&part[2].via.str, part[1].via.str.ptr, part[1].via.str.size, key, hex);
	if (memcmp(part[3].via.str.ptr, hex, HEX_BYTES) != 0)
		return false;
	digest_hex(&part[2].via.str, host, strlen(host), key, hex);
	msgpack_packer_init(&packer, bytes, msgpack_sbuffer_write);
	msgpack_pack_array(&packer, 5);
	put_text(&packer, "PONG");
	msgpack_pack_true(&packer);
	put_text(&packer, "");
	put_text(&packer, host);
	put_text(&packer, hex);
	return true;
}
