/* SPDX-License-Identifier: GPL-2.0-only */
/* What is said of a collector that does not keep to the protocol, by what it says. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "base/random.h"
#include "base/thread.h"
#include "failing_memory.h"
#include "recorder/forward/forward_peer.h"
#include "recorder/net/listener.h"

UNIT_TEST_ALONE;

#define PATIENCE_NS (30 * NS_PER_MS)
#define LONG_NS	    (3600 * NS_PER_S) /* no test waits for it */
#define TEXT(words) (words), sizeof(words) - 1
#define HELLO                           \
	"\x92\xa4HELO\x81\xa5nonce\xa4" \
	"1234"
/* printf %032dthem1234secret 0 | sha512sum */
#define KNOWN_DIGEST                                                       \
	"13ee0bd9ce2c1741e019c087c6f17e62da60fd57155f93924300663002f666ec" \
	"49d7af8431ff61041ce724c442d368d3d113b964ded26c23e4821bfd4efc91dc"
#define PONG "\x95\xa4PONG\xc3\xa0\xa4them\xd9\x80" KNOWN_DIGEST
#define ACK        \
	"\x81\xa3" \
	"ack\xa5"  \
	"chunk"

static char folder[] = "/tmp/test_forward_peer.XXXXXX";

static const struct forward_credentials credentials = { .shared_key = "secret",
							.user = "",
							.password = "" };
static const struct forward_payload payload = {
	.tag = "test", .chunk_id = "chunk", .bytes = "\x92\xc0\x80", .size_bytes = 3, .entries = 1
};

/* One that listens, says its words to whoever comes, and then hears it out, or hangs up. */
struct scene {
	struct listener listener;
	struct forward_url url;
	struct waiter waiter;
	struct forward_peer_options options;
	struct forward_peer *peer;
	struct failure failure;
	const char *words;
	size_t words_bytes;
	bool hangs_up;
	bool listens_first; /* to something */
	unsigned int pause_us; /* between two bytes */
	pthread_t thread;
};

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static int set_up(void **state)
{
	static struct scene scene;
	char text[64];
	const char *problem;

	scene = (struct scene){ .listener.fd = -1 };
	*state = &scene;
	(void)snprintf(text, sizeof(text), "unix:%s/socket", folder);
	if (listener_open(text, &scene.listener) < 0 ||
	    forward_url_parse(text, &scene.url, &problem) < 0 || waiter_init(&scene.waiter) < 0)
		return -1;
	scene.options = (struct forward_peer_options){ .url = &scene.url,
						       .client_name = "us",
						       .waiter = &scene.waiter,
						       .wants_ack = true,
						       .ack_timeout_ns = LONG_NS };
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	forward_peer_free(scene->peer);
	listener_close(&scene->listener);
	waiter_deinit(&scene->waiter);
	return 0;
}

/* Instead of ours: a salt of which it is known what is answered. */
int random_bytes(void *ret_bytes, size_t size_bytes)
{
	memset(ret_bytes, 0, size_bytes);
	return 0;
}

static void *speak(void *user)
{
	struct scene *scene = user;
	uint8_t bytes[4096];
	struct pollfd fd = { .fd = scene->listener.fd, .events = POLLIN };
	size_t piece_bytes = scene->pause_us ? 1 : scene->words_bytes;
	int peer;

	(void)poll(&fd, 1, -1);
	peer = accept4(scene->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	if (scene->listens_first)
		(void)!recv(peer, bytes, sizeof(bytes), 0);
	for (size_t at = 0; at < scene->words_bytes; at += piece_bytes) {
		(void)!send(peer, scene->words + at, piece_bytes, MSG_NOSIGNAL);
		(void)usleep(scene->pause_us);
	}
	if (scene->hangs_up)
		(void)shutdown(peer, SHUT_WR);
	while (recv(peer, bytes, sizeof(bytes), 0) > 0)
		continue;
	(void)close(peer);
	return NULL;
}

static int open_peer(struct scene *scene)
{
	scene->failure = (struct failure){ 0 };
	scene->peer = forward_peer_new(&scene->options);
	assert_non_null(scene->peer);
	assert_int_equal(thread_start(&scene->thread, speak, scene), 0);
	return forward_peer_open(scene->peer, &scene->failure);
}

static void close_peer(struct scene *scene)
{
	forward_peer_free(TAKE_PTR(scene->peer));
	assert_int_equal(pthread_join(scene->thread, NULL), 0);
}

static void expect_failure(struct scene *scene, enum failure_kind kind, const char *says)
{
	assert_int_equal(scene->failure.kind, kind);
	assert_non_null(strstr(scene->failure.text, says));
	/* Nothing more is said to it. */
	assert_int_equal(forward_peer_fd(scene->peer), -1);
	assert_false(forward_peer_check(scene->peer));
}

/* What the other side says, and what is made of it. */
struct answer {
	const char *words;
	size_t words_bytes;
	bool hangs_up;
	enum failure_kind kind;
	const char *says;
};

static void let_answer(struct scene *scene, const struct answer *answer)
{
	bool is_awaited = answer->kind == FAILURE_NO_HELLO || answer->kind == FAILURE_SILENT;

	scene->options.ack_timeout_ns = is_awaited ? PATIENCE_NS : LONG_NS;
	scene->words = answer->words;
	scene->words_bytes = answer->words_bytes;
	scene->hangs_up = answer->hangs_up;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(forward_peer_reports_cause_of_failed_handshake)
{
	static const struct answer cases[] = {
		{ TEXT(""), true, FAILURE_CONNECT, "before the handshake" },
		{ TEXT(""), false, FAILURE_NO_HELLO, "no handshake within 0.0 s" },
		{ TEXT("HTTP/1.1"), false, FAILURE_GARBAGE, "not the handshake" },
		{ TEXT(HELLO), true, FAILURE_KEY_REFUSED, "wrong shared key?" },
		{ TEXT(HELLO), false, FAILURE_NO_HELLO, "the handshake within 0.0 s" },
		{ TEXT(HELLO "HTTP"), false, FAILURE_GARBAGE, "not the handshake" },
		{ TEXT(HELLO "\x95\xa4PONG\xc2\xa3no!\xa0\xa0"), false, FAILURE_KEY_REFUSED,
		  "password: no!" },
		{ TEXT(HELLO "\x95\xa4PONG\xc2\xa0\xa0\xa0"), false, FAILURE_KEY_REFUSED,
		  "no reason given" },
		{ TEXT(HELLO "\x95\xa4PONG\xc3\xa0\xa1h\xa1x"), false, FAILURE_IMPOSTOR,
		  "does not know the shared key" },
	};
	struct scene *scene = *state;

	scene->options.credentials = &credentials;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		let_answer(scene, &cases[i]);
		assert_true(open_peer(scene) < 0);
		expect_failure(scene, cases[i].kind, cases[i].says);
		close_peer(scene);
	}
}

FIXTURE_TEST(forward_peer_fails_on_any_reply_but_ack)
{
	static const struct answer cases[] = {
		{ TEXT(""), true, FAILURE_CLOSED, "" },
		{ TEXT(""), false, FAILURE_SILENT, "within 0.0 s" },
		{ TEXT("\x81\xa3"
		       "ack\xa5"
		       "other"),
		  false, FAILURE_WRONG_ACK, "" },
		{ TEXT("\x80"), false, FAILURE_REFUSED, "" },
		{ TEXT("\x80"), true, FAILURE_REFUSED, "" },
		{ TEXT(HELLO), false, FAILURE_KEY_WANTED, "--shared-key-file" },
		{ TEXT("\x15\x03"), false, FAILURE_GARBAGE, "tls://" },
		{ TEXT("\x15\x03\x01"), false, FAILURE_GARBAGE, "tls://" },
		{ TEXT("\x15\x04"), false, FAILURE_GARBAGE, "Fluent Forward" },
		{ TEXT("\x16\x03"), false, FAILURE_GARBAGE, "Fluent Forward" },
		{ TEXT("\x15"), false, FAILURE_GARBAGE, "Fluent Forward" },
		{ TEXT("\x81\xa3"
		       "ack"),
		  true, FAILURE_GARBAGE, "Fluent Forward" },
	};
	struct scene *scene = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		let_answer(scene, &cases[i]);
		scene->listens_first = true;
		assert_int_equal(open_peer(scene), 0);
		assert_true(forward_peer_check(scene->peer));
		assert_true(forward_peer_send(scene->peer, &payload, &scene->failure) < 0);
		expect_failure(scene, cases[i].kind, cases[i].says);
		close_peer(scene);
	}
}

/* Each byte in time, and all of them not: that it is no ack in the end is not waited for. */
FIXTURE_TEST(forward_peer_times_out_on_endless_reply)
{
	static const char words[] = "\xd9\x30" /* a text of 48 bytes */
				    "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx";
	struct scene *scene = *state;

	scene->words = words;
	scene->words_bytes = sizeof(words) - 1;
	scene->pause_us = 5000;
	scene->listens_first = true;
	scene->options.ack_timeout_ns = PATIENCE_NS;
	assert_int_equal(open_peer(scene), 0);
	assert_true(forward_peer_send(scene->peer, &payload, &scene->failure) < 0);
	expect_failure(scene, FAILURE_SILENT, "");
	close_peer(scene);
}

FIXTURE_TEST(forward_peer_consumes_one_ack_per_chunk)
{
	struct scene *scene = *state;
	struct pollfd fd = { .events = POLLIN };

	scene->words = ACK ACK;
	scene->words_bytes = 2 * (sizeof(ACK) - 1);
	scene->listens_first = true;
	scene->hangs_up = true;
	assert_int_equal(open_peer(scene), 0);
	assert_int_equal(forward_peer_open(scene->peer, &scene->failure), 0);
	assert_int_equal(forward_peer_send(scene->peer, &payload, &scene->failure), 0);
	assert_true(forward_peer_fd(scene->peer) >= 0);
	assert_int_equal(forward_peer_send(scene->peer, &payload, &scene->failure), 0);
	assert_int_equal(scene->failure.kind, FAILURE_NONE);
	fd.fd = forward_peer_fd(scene->peer);
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_false(forward_peer_check(scene->peer));
	assert_int_equal(forward_peer_fd(scene->peer), -1);
	close_peer(scene);
}

/* As Fluentd, where nobody told it to keep them. */
FIXTURE_TEST(forward_peer_disconnects_after_chunk_without_keepalive)
{
#define HELLO_THAT(keeps)               \
	"\x92\xa4HELO\x82\xa5nonce\xa4" \
	"1234"                          \
	"\xa9keepalive" keeps
	static const char *const words[] = { HELLO_THAT("\xc2") PONG ACK,
					     HELLO_THAT("\xc3") PONG ACK };
	struct scene *scene = *state;

	scene->options.credentials = &credentials;
	for (int keeps = 0; keeps < 2; keeps++) {
		scene->words = words[keeps];
		scene->words_bytes = strlen(words[keeps]);
		assert_int_equal(open_peer(scene), 0);
		assert_int_equal(forward_peer_send(scene->peer, &payload, &scene->failure), 0);
		assert_int_equal(forward_peer_fd(scene->peer) >= 0, keeps);
		close_peer(scene);
	}
}

/* What nobody asked for is no ack of what comes next. */
FIXTURE_TEST(forward_peer_disconnects_on_unsolicited_input)
{
	struct scene *scene = *state;
	struct pollfd fd = { .events = POLLIN };

	scene->words = ACK;
	scene->words_bytes = sizeof(ACK) - 1;
	assert_int_equal(open_peer(scene), 0);
	fd.fd = forward_peer_fd(scene->peer);
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_false(forward_peer_check(scene->peer));
	assert_int_equal(forward_peer_fd(scene->peer), -1);
	close_peer(scene);
}

FIXTURE_TEST(forward_peer_fails_without_memory)
{
	struct scene *scene = *state;
	size_t failures = 0;

	assert_each_allocation_can_fail(
		(scene->peer = forward_peer_new(&scene->options)) ? 0 : -ENOMEM, failures++);
	assert_true(failures > 1);
	memory_fails_once_after(0);
	assert_int_equal(forward_peer_open(scene->peer, &scene->failure), -ENOMEM);
	memory_never_fails();
	expect_failure(scene, FAILURE_INTERNAL, "memory");
	forward_peer_free(NULL);
}

TEST_GROUP(make_folder, remove_folder)
