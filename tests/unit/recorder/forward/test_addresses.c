/* SPDX-License-Identifier: GPL-2.0-only */
/* A collector whose name has two addresses, at one of which something answers that is of no use. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "recorder/forward/forward_peer.h"
#include "recorder/net/listener.h"
#include "recorder/net/name_server.h"

UNIT_TEST_ALONE;

#define PATIENCE_NS (30 * NS_PER_MS)
#define LONG_NS	    (3600 * NS_PER_S) /* no test waits for it */

enum {
	ADDRESSES = 2
};

static const struct forward_credentials credentials = { .shared_key = "secret",
							.user = "",
							.password = "" };
static const struct forward_payload payload = {
	.tag = "test", .chunk_id = "chunk", .bytes = "\x92\xc0\x80", .size_bytes = 3, .entries = 1
};

struct scene {
	struct listener listeners[ADDRESSES];
	struct forward_url url;
	struct waiter waiter;
	struct forward_peer_options options;
	struct forward_peer *peer;
	struct failure failure;
};

static struct scene the_scene;

/* One host with two ports serves as well. */
static int answer_name(const char *port, const struct addrinfo *hints,
		       struct addrinfo **ret_addresses)
{
	struct addrinfo **end = ret_addresses;
	char text[16];
	int r = 0;

	(void)port;
	for (size_t i = 0; r == 0 && i < ADDRESSES; i++) {
		(void)snprintf(text, sizeof(text), "%d", the_scene.listeners[i].port);
		r = read_address("127.0.0.1", text, hints, end);
		if (r == 0)
			end = &(*end)->ai_next;
	}
	return r;
}

static int set_up(void **state)
{
	const char *problem;

	*state = &the_scene;
	the_scene = (struct scene){ .listeners = { { .fd = -1 }, { .fd = -1 } } };
	for (size_t i = 0; i < ADDRESSES; i++)
		if (listener_open("tcp://127.0.0.1:0", &the_scene.listeners[i]) < 0)
			return -1;
	if (forward_url_parse("tcp://two.example:1", &the_scene.url, &problem) < 0 ||
	    waiter_init(&the_scene.waiter) < 0)
		return -1;
	the_scene.options = (struct forward_peer_options){ .url = &the_scene.url,
							   .client_name = "us",
							   .waiter = &the_scene.waiter,
							   .wants_ack = true,
							   .ack_timeout_ns = LONG_NS };
	return 0;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	forward_peer_free(scene->peer);
	for (size_t i = 0; i < ADDRESSES; i++)
		listener_close(&scene->listeners[i]);
	waiter_deinit(&scene->waiter);
	return 0;
}

static void make_peer(struct scene *scene)
{
	scene->peer = forward_peer_new(&scene->options);
	assert_non_null(scene->peer);
}

/* The other end of the one connection there is, which came to that address. */
static int accept_at(struct scene *scene, size_t address)
{
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct pollfd fd = { .fd = scene->listeners[i].fd, .events = POLLIN };

		assert_int_equal(poll(&fd, 1, 0), i == address);
	}
	return accept4(scene->listeners[address].fd, NULL, NULL, SOCK_CLOEXEC);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(forward_peer_tries_next_address_after_hang_up)
{
	struct scene *scene = *state;

	make_peer(scene);
	for (size_t i = 0; i < 2 * ADDRESSES; i++) {
		assert_int_equal(forward_peer_open(scene->peer, &scene->failure), 0);
		(void)close(accept_at(scene, i % ADDRESSES));
		assert_true(forward_peer_send(scene->peer, &payload, &scene->failure) < 0);
	}
}

FIXTURE_TEST(forward_peer_tries_next_address_after_ack_timeout)
{
	struct scene *scene = *state;

	scene->options.ack_timeout_ns = PATIENCE_NS;
	make_peer(scene);
	for (size_t i = 0; i < 2 * ADDRESSES; i++) {
		int fd;

		assert_int_equal(forward_peer_open(scene->peer, &scene->failure), 0);
		fd = accept_at(scene, i % ADDRESSES);
		assert_true(forward_peer_send(scene->peer, &payload, &scene->failure) < 0);
		assert_int_equal(scene->failure.kind, FAILURE_SILENT);
		(void)close(fd);
	}
}

FIXTURE_TEST(forward_peer_tries_next_address_after_missing_handshake)
{
	struct scene *scene = *state;

	scene->options.ack_timeout_ns = PATIENCE_NS;
	scene->options.credentials = &credentials;
	make_peer(scene);
	for (size_t i = 0; i < 2 * ADDRESSES; i++) {
		assert_true(forward_peer_open(scene->peer, &scene->failure) < 0);
		assert_int_equal(scene->failure.kind, FAILURE_NO_HELLO);
		(void)close(accept_at(scene, i % ADDRESSES));
	}
}

FIXTURE_TEST(forward_peer_keeps_address_that_works)
{
	static const char ack[] = "\x81\xa3"
				  "ack\xa5"
				  "chunk";
	struct scene *scene = *state;

	make_peer(scene);
	for (size_t i = 0; i < 2 * ADDRESSES; i++) {
		int fd;

		assert_int_equal(forward_peer_open(scene->peer, &scene->failure), 0);
		fd = accept_at(scene, 0);
		assert_int_equal(send(fd, ack, sizeof(ack) - 1, MSG_NOSIGNAL), sizeof(ack) - 1);
		assert_int_equal(forward_peer_send(scene->peer, &payload, &scene->failure), 0);
		(void)close(fd);
		forward_peer_close(scene->peer);
	}
}

FIXTURE_TEST(forward_peer_skips_address_without_listener)
{
	struct scene *scene = *state;

	make_peer(scene);
	listener_close(&scene->listeners[0]);
	for (size_t i = 0; i < 2 * ADDRESSES; i++) {
		assert_int_equal(forward_peer_open(scene->peer, &scene->failure), 0);
		(void)close(accept_at(scene, 1));
		assert_true(forward_peer_send(scene->peer, &payload, &scene->failure) < 0);
	}
}
