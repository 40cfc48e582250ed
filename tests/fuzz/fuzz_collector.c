/* SPDX-License-Identifier: GPL-2.0-only */
/* What a collector says: an answer to a chunk, a HELO, a PONG. */
#include "fuzz.h"
#include "recorder/forward/forward_handshake.h"
#include "recorder/forward/forward_message.h"

#include <errno.h>

static const char chunk_id[] = "AAAAAAAAAAAAAAAAAAAAAA==";
static const char salt[] = "00112233445566778899aabbccddeeff";
static const struct forward_credentials credentials = { .shared_key = "key",
							.user = "user",
							.password = "password" };

static int parse(uint8_t what, const uint8_t *bytes, size_t size_bytes, size_t *ret_value_bytes)
{
	struct forward_hello hello = { .nonce_bytes = 0 };
	char reason[FORWARD_REASON_BYTES] = "";
	enum forward_reply reply;
	int r;

	if (what % 3 == 0)
		return forward_reply_parse(bytes, size_bytes, chunk_id, &reply, ret_value_bytes);
	if (what % 3 == 1) {
		r = forward_hello_parse(bytes, size_bytes, &hello, ret_value_bytes);
		FUZZ_REQUIRE(hello.nonce_bytes <= sizeof(hello.nonce));
		FUZZ_REQUIRE(hello.auth_bytes <= sizeof(hello.auth));
		return r;
	}
	r = forward_pong_parse(bytes, size_bytes, &hello, &credentials, "us", salt, reason,
			       ret_value_bytes);
	FUZZ_REQUIRE(memchr(reason, '\0', sizeof(reason)));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	uint8_t what = fuzz_take_u8(&input);
	size_t value_bytes = 0, again_bytes = 0;
	int r = parse(what, input.data, input.size_bytes, &value_bytes);

	/* What comes after a value is nothing to it, and nothing can be missing. */
	if (r == 0) {
		FUZZ_REQUIRE(value_bytes > 0 && value_bytes <= input.size_bytes);
		FUZZ_REQUIRE(parse(what, input.data, value_bytes, &again_bytes) == 0);
		FUZZ_REQUIRE(again_bytes == value_bytes);
		FUZZ_REQUIRE(parse(what, input.data, value_bytes - 1, &again_bytes) == -EAGAIN);
	}
	/* A connection's input holds what is not complete yet. */
	FUZZ_REQUIRE(r != -EAGAIN || input.size_bytes <= 4096);
	return 0;
}
