/* SPDX-License-Identifier: GPL-2.0-only */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"
#include <openssl/evp.h>

#include "failing_memory.h"
#include "recorder/forward/forward_handshake.h"

UNIT_TEST_ALONE;

/*
 * Digests by another implementation, Python's hashlib.sha512, over the parts in the order of the
 * protocol: salt.name.nonce.key, and auth.user.password.
 */
static const char salt[] = "00112233445566778899aabbccddeeff";
static const char client_name[] = "client.example";
static const char client_digest[] =
	"ad39d07e966066090972e60be9208f96955eb1a98a0b6212d1264b3bf2e92394"
	"03a0c72f51f001ddf79177c1ae0480895172deed7263b9a413c18446c565b33c";
static const char server_digest[] =
	"819e09aafeb91afcc8686185ba6001143215facba28f6fb88e97f4b695a829a3"
	"d18c145c8fb4615b016c010428b72fd9d43fcd3d5bb4465fda02b54d7654157a";
static const char password_digest[] =
	"ef9a0f82d1992767fb78c1e11a9a0dccdd7bfb3e3355efb113c7f2645ddb71d7"
	"c8befc29b0c8df7bc1b4f96d56f2db777d59c3aaccbe76c39842ee633b5c0cc6";

#define NONCE "\xf0\xf1\xf2\xf3\xf4\xf5\xf6\xf7\xf8\xf9\xfa\xfb\xfc\xfd\xfe\xff"
#define AUTH  "\x00salt\xff"
/* As Fluent Bit says it: str of any bytes, no keepalive; and as Fluentd does: bin. */
#define HELLO_OF_FLUENT_BIT                          \
	"\x92\xa4HELO\x82\xa5nonce\xb0" NONCE "\xa4" \
	"auth\xa6" AUTH
#define HELLO_OF_FLUENTD                                 \
	"\x92\xa4HELO\x83\xa5nonce\xc4\x10" NONCE "\xa4" \
	"auth\xc4\x06" AUTH "\xa9keepalive\xc2"

#define TEXT(literal) (literal), sizeof(literal) - 1

static const struct forward_credentials credentials = { .shared_key = "topsecret",
							.user = "alice",
							.password = "wonder" };

static struct forward_hello hello_of(const char *bytes, size_t size)
{
	struct forward_hello hello;
	size_t value_bytes = 0;

	for (size_t cut = 0; cut < size; cut++)
		assert_int_equal(
			forward_hello_parse((const uint8_t *)bytes, cut, &hello, &value_bytes),
			-EAGAIN);
	assert_int_equal(forward_hello_parse((const uint8_t *)bytes, size, &hello, &value_bytes),
			 0);
	assert_int_equal(value_bytes, size);
	assert_int_equal(hello.nonce_bytes, 16);
	assert_memory_equal(hello.nonce, NONCE, 16);
	assert_int_equal(hello.auth_bytes, 6);
	assert_memory_equal(hello.auth, AUTH, 6);
	return hello;
}

TEST(forward_hello_parses_fluent_bit_and_fluentd_forms)
{
	assert_true(hello_of(TEXT(HELLO_OF_FLUENT_BIT)).is_kept_alive);
	assert_false(hello_of(TEXT(HELLO_OF_FLUENTD)).is_kept_alive);
}

/* Nonce and salt are optional, and nil is none. */
TEST(forward_hello_defaults_missing_fields_to_empty)
{
	static const char *const hellos[] = { "\x92\xa4HELO\x80",
					      "\x92\xa4HELO\x82\xa5nonce\xc0\xa4"
					      "auth\xc0" };

	for (size_t i = 0; i < 2; i++) {
		struct forward_hello hello = { .nonce_bytes = 9, .auth_bytes = 9 };
		size_t size;

		assert_int_equal(forward_hello_parse((const uint8_t *)hellos[i], strlen(hellos[i]),
						     &hello, &size),
				 0);
		assert_int_equal(hello.nonce_bytes, 0);
		assert_int_equal(hello.auth_bytes, 0);
		assert_true(hello.is_kept_alive);
	}
}

TEST(forward_hello_rejects_invalid_and_oversized_messages)
{
	static const struct {
		const char *bytes;
		size_t size;
		int error;
	} cases[] = {
		{ TEXT("\x81\xa3"
		       "ack\xa1x"),
		  -EBADMSG },
		{ TEXT("\x91\xa4HELO"), -EBADMSG },
		{ TEXT("\x92\xa4HELO\xc0"), -EBADMSG },
		{ TEXT("\x92\xa4HELA\x80"), -EBADMSG },
		{ TEXT("\x92\xa4HELO\x81\xa5nonce\x01"), -EBADMSG },
		{ TEXT("\x92\xa4HELO\x81\xa4"
		       "auth\x01"),
		  -EBADMSG },
		{ TEXT("\x92\xa4HELO\x81\xa5nonce\xdb\x00\x10\x00\x00"), -E2BIG },
		{ TEXT("HTTP/1.1 400 Bad Request"), -EBADMSG },
	};
	uint8_t large[600] = "\x92\xa4HELO\x81\xa5nonce\xda\x01\x01";
	struct forward_hello largest;
	size_t size;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct forward_hello hello;

		assert_int_equal(forward_hello_parse((const uint8_t *)cases[i].bytes, cases[i].size,
						     &hello, &size),
				 cases[i].error);
	}
	/* A nonce of 257 bytes. */
	assert_int_equal(forward_hello_parse(large, sizeof(large), &(struct forward_hello){ 0 },
					     &(size_t){ 0 }),
			 -E2BIG);
	/* And of 256, which is whole. */
	large[15] = 0;
	assert_int_equal(forward_hello_parse(large, sizeof(large), &largest, &size), 0);
	assert_int_equal(largest.nonce_bytes, FORWARD_HELLO_PART_BYTES_MAX);
}

TEST(forward_ping_has_six_fields_and_both_digests)
{
	struct forward_hello hello = hello_of(TEXT(HELLO_OF_FLUENTD));
	struct forward_credentials no_user = credentials;
	uint8_t ping[FORWARD_PING_BYTES_MAX];
	char expected[1024];
	size_t size;

	assert_int_equal(forward_ping_encode(&hello, &credentials, client_name, salt, ping, &size),
			 0);
	(void)snprintf(expected, sizeof(expected),
		       "\x96\xa4PING\xae%s\xd9\x20%s\xd9\x80%s\xa5"
		       "alice\xd9\x80%s",
		       client_name, salt, client_digest, password_digest);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(ping, expected, size);
	no_user.user = no_user.password = "";
	assert_int_equal(forward_ping_encode(&hello, &no_user, client_name, salt, ping, &size), 0);
	(void)snprintf(expected, sizeof(expected), "\x96\xa4PING\xae%s\xd9\x20%s\xd9\x80%s\xa0\xa0",
		       client_name, salt, client_digest);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(ping, expected, size);
}

TEST(forward_ping_rejects_size_beyond_one_receiver_read)
{
	struct forward_hello hello = hello_of(TEXT(HELLO_OF_FLUENTD));
	struct forward_credentials long_user = credentials;
	char user[FORWARD_PING_BYTES_MAX + 1] = "";
	uint8_t ping[FORWARD_PING_BYTES_MAX];
	size_t size, largest = 0;
	int r = 0;

	long_user.user = user;
	for (size_t length = 0; length < FORWARD_PING_BYTES_MAX && r == 0; length++) {
		memset(user, 'u', length);
		r = forward_ping_encode(&hello, &long_user, client_name, salt, ping, &size);
		largest = r == 0 ? size : largest;
	}
	assert_int_equal(r, -E2BIG);
	assert_int_equal(largest, FORWARD_PING_BYTES_MAX);
}

/* OpenSSL's: there may be none. */
static bool has_no_digests;

EVP_MD_CTX *EVP_MD_CTX_new(void)
{
	EVP_MD_CTX *(*real)(void);

	if (has_no_digests)
		return NULL;
	*(void **)&real = dlsym(RTLD_NEXT, "EVP_MD_CTX_new");
	return real();
}

TEST(forward_ping_encode_fails_without_memory)
{
	struct forward_hello hello = hello_of(TEXT(HELLO_OF_FLUENTD));
	uint8_t ping[FORWARD_PING_BYTES_MAX];
	size_t size = 77, failures = 0;

	has_no_digests = true;
	assert_int_equal(forward_ping_encode(&hello, &credentials, client_name, salt, ping, &size),
			 -ENOMEM);
	has_no_digests = false;
	assert_int_equal(size, 77);
	assert_each_allocation_can_fail(
		forward_ping_encode(&hello, &credentials, client_name, salt, ping, &size),
		(failures++, assert_int_equal(size, 77)));
	assert_true(failures > 0);
	assert_true(size > 77);
}

static int pong(const char *bytes, size_t size, char reason[static FORWARD_REASON_BYTES])
{
	struct forward_hello hello = hello_of(TEXT(HELLO_OF_FLUENTD));
	size_t value_bytes;

	return forward_pong_parse((const uint8_t *)bytes, size, &hello, &credentials, client_name,
				  salt, reason, &value_bytes);
}

TEST(forward_pong_requires_digest_of_shared_key)
{
	char reason[FORWARD_REASON_BYTES], bytes[512];
	int size = snprintf(bytes, sizeof(bytes),
			    "\x95\xa4PONG\xc3\xa0\xaeserver.example\xd9\x80%s", server_digest);

	for (size_t cut = 0; cut < (size_t)size; cut++)
		assert_int_equal(pong(bytes, cut, reason), -EAGAIN);
	assert_int_equal(pong(bytes, (size_t)size, reason), 0);
	has_no_digests = true;
	assert_int_equal(pong(bytes, (size_t)size, reason), -ENOMEM);
	has_no_digests = false;
	/* Any other digest, in its first and in its last character; a shorter one; none. */
	bytes[size - 1] = 'b';
	assert_int_equal(pong(bytes, (size_t)size, reason), -EKEYREJECTED);
	bytes[size - 1] = 'a';
	bytes[size - 128] ^= 1;
	assert_int_equal(pong(bytes, (size_t)size, reason), -EKEYREJECTED);
	assert_int_equal(pong(TEXT("\x95\xa4PONG\xc3\xa0\xa1h\xa0"), reason), -EKEYREJECTED);
	assert_int_equal(pong(TEXT("\x95\xa4PONG\xc3\xa0\xa1h\xc0"), reason), -EKEYREJECTED);
	assert_int_equal(pong(TEXT("\x95\xa4PONG\xc3\xa0\xc0\xc0"), reason), -EBADMSG);
}

TEST(forward_pong_rejects_our_own_digest)
{
	char reason[FORWARD_REASON_BYTES], bytes[512];
	int size = snprintf(bytes, sizeof(bytes), "\x95\xa4PONG\xc3\xa0\xae%s\xd9\x80%s",
			    client_name, client_digest);

	assert_int_equal(pong(bytes, (size_t)size, reason), -EKEYREJECTED);
}

TEST(forward_pong_escapes_reason_of_refusal)
{
	char reason[FORWARD_REASON_BYTES];

	assert_int_equal(pong(TEXT("\x95\xa4PONG\xc2\xb3shared_key mismatch\xa0\xa0"), reason),
			 -EACCES);
	assert_string_equal(reason, "shared_key mismatch");
	assert_int_equal(pong(TEXT("\x95\xa4PONG\xc2\xa5\x1b[2J\n\xa0\xa0"), reason), -EACCES);
	assert_string_equal(reason, "\\x1b[2J\\x0a");
	assert_int_equal(pong(TEXT("\x95\xa4PONG\xc2\xc0\xc0\xc0"), reason), -EACCES);
	assert_string_equal(reason, "");
	assert_int_equal(pong(TEXT("\x92\xa4PONG\xc2"), reason), -EBADMSG);
	assert_int_equal(pong(TEXT("\x91\xa4PONG"), reason), -EBADMSG);
}

TEST(forward_salts_are_hex_and_distinct)
{
	char one[FORWARD_SALT_BYTES], other[FORWARD_SALT_BYTES];

	assert_int_equal(forward_salt_make(one), 0);
	assert_int_equal(forward_salt_make(other), 0);
	assert_int_equal(strspn(one, "0123456789abcdef"), FORWARD_SALT_BYTES - 1);
	assert_string_not_equal(one, other);
}
