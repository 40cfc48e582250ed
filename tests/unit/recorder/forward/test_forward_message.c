/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "recorder/forward/forward_message.h"

static const char chunk_id[] = "p8n9gmxTQVC8/nh2wlKKeQ==";

static size_t build(const struct forward_payload *payload, uint8_t *ret_bytes, size_t capacity)
{
	struct forward_message message;
	size_t size = 0;

	forward_message_build(&message, payload);
	for (size_t i = 0; i < FORWARD_MESSAGE_PARTS; i++) {
		assert_true(message.parts[i].iov_len <= capacity - size);
		memcpy(ret_bytes + size, message.parts[i].iov_base, message.parts[i].iov_len);
		size += message.parts[i].iov_len;
	}
	return size;
}

static void expect(const struct forward_payload *payload, const void *expected, size_t size)
{
	uint8_t bytes[512];

	assert_int_equal(build(payload, bytes, sizeof(bytes)), size);
	assert_memory_equal(bytes, expected, size);
}

TEST(forward_message_is_packed_forward_with_bin)
{
	static const char with_ack[] = "\x93\xa3tag\xc4\x04\x01\x02\x03\x04"
				       "\x82\xa4size\x02\xa5"
				       "chunk\xb8p8n9gmxTQVC8/nh2wlKKeQ==";
	static const char compressed[] = "\x93\xa3tag\xc4\x04\x01\x02\x03\x04"
					 "\x82\xa4size\xcd\x01\x00\xaa"
					 "compressed\xa4gzip";
	struct forward_payload payload = { .tag = "tag",
					   .chunk_id = chunk_id,
					   .bytes = "\1\2\3\4",
					   .size_bytes = 4,
					   .entries = 2 };

	expect(&payload, with_ack, sizeof(with_ack) - 1);
	payload.chunk_id = NULL;
	payload.is_gzip = true;
	payload.entries = 256;
	expect(&payload, compressed, sizeof(compressed) - 1);
}

TEST(forward_message_fits_largest_fields)
{
	char tag[FORWARD_TAG_BYTES_MAX + 1] = "", id[FORWARD_CHUNK_ID_BYTES_MAX + 1] = "";
	const struct forward_payload payload = { .tag = tag,
						 .chunk_id = id,
						 .bytes = "",
						 .size_bytes = UINT32_MAX,
						 .entries = UINT32_MAX,
						 .is_gzip = true };
	struct forward_message message;

	memset(tag, 't', sizeof(tag) - 1);
	memset(id, 'i', sizeof(id) - 1);
	forward_message_build(&message, &payload);
	assert_int_equal(message.parts[0].iov_len, 1 + 2 + FORWARD_TAG_BYTES_MAX + 5);
	assert_memory_equal((char *)message.parts[0].iov_base + message.parts[0].iov_len - 5,
			    "\xc6\xff\xff\xff\xff", 5);
	assert_true(message.parts[2].iov_len <= sizeof(message.tail));
}

/* Of a copy of exactly that size, so that the sanitizer sees a read beyond it. */
static int parse(const void *bytes, size_t size, enum forward_reply *ret_reply, size_t *ret_size)
{
	uint8_t *copy = malloc(size + 1);
	int r;

	assert_non_null(copy);
	memcpy(copy + 1, bytes, size);
	r = forward_reply_parse(copy + 1, size, chunk_id, ret_reply, ret_size);
	free(copy);
	return r;
}

#define TEXT(literal) (literal), sizeof(literal) - 1

TEST(forward_reply_is_classified_once_complete)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum forward_reply reply;
	} cases[] = {
		{ TEXT("\x81\xa3"
		       "ack\xb8p8n9gmxTQVC8/nh2wlKKeQ=="),
		  FORWARD_REPLY_ACK },
		/* A key as bin, text as bin, something beside it. */
		{ TEXT("\x82\xa1x\x91\x01\xc4\x03"
		       "ack\xc4\x18p8n9gmxTQVC8/nh2wlKKeQ=="),
		  FORWARD_REPLY_ACK },
		{ TEXT("\x81\xa3"
		       "ack\xb8p8n9gmxTQVC8/nh2wlKKeR=="),
		  FORWARD_REPLY_WRONG_ACK },
		{ TEXT("\x81\xa3"
		       "ack\xb7p8n9gmxTQVC8/nh2wlKKeQ="),
		  FORWARD_REPLY_WRONG_ACK },
		{ TEXT("\x81\xa3"
		       "ack\xc0"),
		  FORWARD_REPLY_WRONG_ACK },
		{ TEXT("\x80"), FORWARD_REPLY_REFUSAL },
		{ TEXT("\x81\x01\x02"), FORWARD_REPLY_REFUSAL },
		{ TEXT("\x92\xa4HELO\x81\xa5nonce\xa2\xff\x00"), FORWARD_REPLY_HELLO },
		{ TEXT("\x90"), FORWARD_REPLY_OTHER },
		{ TEXT("\xc0"), FORWARD_REPLY_OTHER },
		{ TEXT("\x91\xa4PONG"), FORWARD_REPLY_OTHER },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum forward_reply reply;
		size_t size = 0;

		for (size_t cut = 0; cut < cases[i].size; cut++)
			assert_int_equal(parse(cases[i].bytes, cut, &reply, &size), -EAGAIN);
		assert_int_equal(size, 0);
		assert_int_equal(parse(cases[i].bytes, cases[i].size, &reply, &size), 0);
		assert_int_equal(size, cases[i].size);
		assert_int_equal(reply, cases[i].reply);
	}
}

TEST(forward_reply_rejects_endless_value_early)
{
	enum forward_reply reply;
	size_t size;

	assert_int_equal(parse("\xdb\x7f\xff\xff\xff", 5, &reply, &size), -E2BIG);
	assert_int_equal(parse("\xdd\x7f\xff\xff\xff", 5, &reply, &size), -E2BIG);
	assert_int_equal(parse("\x91\x91\x91\x91\x91", 5, &reply, &size), -ELOOP);
	assert_int_equal(parse("\xc1", 1, &reply, &size), -EBADMSG);
}
