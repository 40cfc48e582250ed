/* SPDX-License-Identifier: GPL-2.0-only */
/* A connection, and peers at the other end of a real socket that do what they should not. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"
#include <openssl/ssl.h>

#include "base/clock.h"
#include "base/thread.h"
#include "failing_memory.h"
#include "recorder/forward/connection.h"
#include "recorder/net/listener.h"
#include "recorder/net/name_server.h"
#include "recorder/net/stopper.h"

UNIT_TEST_ALONE;

enum {
	LARGE_BYTES = 16 * 1024 * 1024, /* more than a socket takes at once */
	/* More than it takes at all, where it takes little at once. What a sanitizer watches of it
	 * at each try to send must not take longer than a peer may stall. */
	HUGE_BYTES = 8 * 1024 * 1024,
	SEND_BUFFER_BYTES = 64 * 1024,
	NAME_BYTES = 64,
};

#define STALL_NS (100 * NS_PER_MS)
#define LONG_NS	 (3600 * NS_PER_S) /* no test waits for it */

static char folder[] = "/tmp/test_connection.XXXXXX";
static char key_path[NAME_BYTES], certificate_path[NAME_BYTES], socket_path[NAME_BYTES];

/* What each test has: a place where a peer listens, and who connects to it. */
struct fixture {
	struct listener listener;
	struct forward_url url;
	struct waiter waiter;
	struct resolver *resolver;
	struct tls_context *tls;
	struct connection_options options;
	struct failure failure;
};

static int make_folder(void **state)
{
	char line[512];

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(key_path, sizeof(key_path), "%s/key", folder);
	(void)snprintf(certificate_path, sizeof(certificate_path), "%s/certificate", folder);
	(void)snprintf(socket_path, sizeof(socket_path), "%s/socket", folder);
	(void)snprintf(line, sizeof(line),
		       "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
		       "-subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 -days 2 "
		       "-keyout %s -out %s 2>/dev/null",
		       key_path, certificate_path);
	return system(line);
}

static int remove_folder(void **state)
{
	(void)state;
	return unlink(key_path) || unlink(certificate_path) || rmdir(folder);
}

static int set_up(void **state, const char *scheme)
{
	static struct fixture fixture;
	char text[NAME_BYTES + 8];
	const char *problem;

	fixture = (struct fixture){ .listener.fd = -1 };
	*state = &fixture;
	(void)snprintf(text, sizeof(text), "unix:%s", socket_path);
	if (listener_open(strcmp(scheme, "unix") == 0 ? text : "tcp://127.0.0.1:0",
			  &fixture.listener) < 0)
		return -1;
	if (fixture.listener.port)
		(void)snprintf(text, sizeof(text), "%s://127.0.0.1:%d", scheme,
			       fixture.listener.port);
	if (forward_url_parse(text, &fixture.url, &problem) < 0 || waiter_init(&fixture.waiter) < 0)
		return -1;
	fixture.resolver = resolver_new(fixture.url.host, fixture.url.port);
	fixture.options = (struct connection_options){ .url = &fixture.url,
						       .resolver = fixture.resolver,
						       .waiter = &fixture.waiter,
						       .stall_ns = STALL_NS };
	return fixture.resolver ? 0 : -1;
}

static int set_up_tcp(void **state)
{
	return set_up(state, "tcp");
}

static int set_up_unix(void **state)
{
	return set_up(state, "unix");
}

static int set_up_tls(void **state)
{
	return set_up(state, "tls");
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	listener_close(&fixture->listener);
	resolver_free(fixture->resolver);
	tls_context_free(fixture->tls);
	waiter_deinit(&fixture->waiter);
	return 0;
}

/* The other end of what was just connected. */
static int accept_peer(const struct fixture *fixture)
{
	struct pollfd fd = { .fd = fixture->listener.fd, .events = POLLIN };
	int peer;

	(void)poll(&fd, 1, -1);
	peer = accept4(fixture->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
	return peer;
}

static struct connection *connect_to_peer(struct fixture *fixture, int *ret_peer)
{
	struct connection *connection = NULL;

	assert_int_equal(connection_open(&fixture->options, &connection, &fixture->failure), 0);
	*ret_peer = accept_peer(fixture);
	return connection;
}

static void say(int fd, const char *words)
{
	assert_int_equal(send(fd, words, strlen(words), MSG_NOSIGNAL), strlen(words));
}

static void expect_input(const struct connection *connection, const char *words)
{
	size_t size_bytes;
	const uint8_t *input = connection_input(connection, &size_bytes);

	assert_int_equal(size_bytes, strlen(words));
	assert_memory_equal(input, words, size_bytes);
}

static int write_huge(struct fixture *fixture, struct connection *connection)
{
	const int buffer_bytes = SEND_BUFFER_BYTES;
	_cleanup_free_ uint8_t *bytes = calloc(1, HUGE_BYTES);

	assert_non_null(bytes);
	assert_int_equal(setsockopt(connection_fd(connection), SOL_SOCKET, SO_SNDBUF, &buffer_bytes,
				    sizeof(buffer_bytes)),
			 0);
	return connection_write(connection, &(struct iovec){ bytes, HUGE_BYTES }, 1,
				&fixture->failure);
}

static void reset(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	assert_int_equal(close(fd), 0);
}

/* A peer that reads until the end, in a thread. */
struct taker {
	int fd;
	pthread_t thread;
	size_t piece_bytes;
	unsigned int pause_us; /* after each piece */
	size_t size_bytes;
	bool is_same; /* byte i is i % 251 */
};

static void *take(void *user)
{
	struct taker *taker = user;
	uint8_t bytes[64 * 1024];
	ssize_t got;

	taker->is_same = true;
	while ((got = recv(taker->fd, bytes, taker->piece_bytes, 0)) > 0) {
		for (ssize_t i = 0; i < got; i++)
			taker->is_same &= bytes[i] == (taker->size_bytes + (size_t)i) % 251;
		taker->size_bytes += (size_t)got;
		if (taker->pause_us)
			(void)usleep(taker->pause_us);
	}
	return NULL;
}

static void start_taker(struct taker *taker, int fd, size_t piece_bytes, unsigned int pause_us)
{
	*taker = (struct taker){ .fd = fd, .piece_bytes = piece_bytes, .pause_us = pause_us };
	assert_int_equal(thread_start(&taker->thread, take, taker), 0);
}

static void end_taker(struct taker *taker)
{
	assert_int_equal(pthread_join(taker->thread, NULL), 0);
	assert_int_equal(close(taker->fd), 0);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up_tcp, tear_down)

/* Far more than the socket takes at once: each part goes out in many pieces, in order. */
FIXTURE_TEST(connection_writes_large_parts_whole_and_in_order)
{
	const size_t sizes[CONNECTION_PARTS_MAX] = { 3, 0, LARGE_BYTES + 1, 7 };
	struct iovec parts[CONNECTION_PARTS_MAX];
	struct fixture *fixture = *state;
	struct connection *connection;
	struct taker taker;
	_cleanup_free_ uint8_t *bytes = malloc(2 * LARGE_BYTES);
	size_t at = 0;
	int peer;

	fixture->options.stall_ns = LONG_NS;
	for (size_t i = 0; i < 2 * LARGE_BYTES; i++)
		bytes[i] = (uint8_t)(i % 251);
	for (size_t i = 0; i < CONNECTION_PARTS_MAX; i++) {
		parts[i] = (struct iovec){ bytes + at, sizes[i] };
		at += sizes[i];
	}
	connection = connect_to_peer(fixture, &peer);
	start_taker(&taker, peer, 10007, 0);
	assert_int_equal(
		connection_write(connection, parts, CONNECTION_PARTS_MAX, &fixture->failure), 0);
	connection_close(connection);
	end_taker(&taker);
	assert_int_equal(taker.size_bytes, at);
	assert_true(taker.is_same);
}

FIXTURE_TEST(connection_write_of_empty_parts_succeeds)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	const struct iovec none[2] = { 0 };
	int peer;

	connection = connect_to_peer(fixture, &peer);
	assert_int_equal(connection_write(connection, none, 2, &fixture->failure), 0);
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

FIXTURE_TEST(connection_write_times_out_on_stalled_peer)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	uint64_t start_ns = clock_monotonic_ns();
	int peer;

	connection = connect_to_peer(fixture, &peer);
	assert_int_equal(write_huge(fixture, connection), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() >= start_ns + STALL_NS);
	assert_int_equal(fixture->failure.kind, FAILURE_STALLED);
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

/* 4 KiB in each ms at most: 2 s for all of it, and it may take 1 s. */
FIXTURE_TEST(connection_write_times_out_on_slow_peer)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	struct taker taker;
	int peer;

	fixture->options.stall_ns = STALL_NS / 2;
	connection = connect_to_peer(fixture, &peer);
	start_taker(&taker, peer, 4 * 1024, 1000);
	assert_int_equal(write_huge(fixture, connection), -ETIMEDOUT);
	assert_int_equal(fixture->failure.kind, FAILURE_STALLED);
	connection_close(connection);
	end_taker(&taker);
	assert_true(taker.size_bytes > 0);
}

FIXTURE_TEST(connection_keeps_last_input_of_closed_peer)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	int peer;

	connection = connect_to_peer(fixture, &peer);
	say(peer, "no");
	assert_int_equal(close(peer), 0);
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 2);
	expect_input(connection, "no");
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 0);
	assert_int_equal(connection_read_now(connection, &fixture->failure), 0);
	assert_int_equal(write_huge(fixture, connection), -EPIPE);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	expect_input(connection, "no");
	connection_close(connection);
}

TEST_WITH(connection_reads_pending_input_when_write_fails, set_up_unix, tear_down)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	int peer;

	connection = connect_to_peer(fixture, &peer);
	say(peer, "no");
	assert_int_equal(close(peer), 0);
	assert_int_equal(write_huge(fixture, connection), -EPIPE);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	expect_input(connection, "no");
	connection_close(connection);
}

FIXTURE_TEST(connection_treats_reset_as_end)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	int peer;

	connection = connect_to_peer(fixture, &peer);
	reset(peer);
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 0);
	connection_close(connection);
	connection = connect_to_peer(fixture, &peer);
	reset(peer);
	assert_int_equal(write_huge(fixture, connection), -EPIPE);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	connection_close(connection);
}

FIXTURE_TEST(connection_write_stops_when_peer_sends_early)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	int peer;

	fixture->options.stall_ns = LONG_NS;
	connection = connect_to_peer(fixture, &peer);
	say(peer, "!");
	assert_int_equal(write_huge(fixture, connection), -EPROTO);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	expect_input(connection, "!");
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

FIXTURE_TEST(connection_write_fails_if_peer_shuts_down_sending)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	int peer;

	fixture->options.stall_ns = LONG_NS;
	connection = connect_to_peer(fixture, &peer);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	assert_int_equal(write_huge(fixture, connection), -EPIPE);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

FIXTURE_TEST(connection_bounds_input_of_endless_peer)
{
	static char words[3 * CONNECTION_INPUT_BYTES];
	struct fixture *fixture = *state;
	struct connection *connection;
	size_t size_bytes;
	int peer, r;

	fixture->options.stall_ns = LONG_NS;
	memset(words, 'x', sizeof(words) - 1);
	connection = connect_to_peer(fixture, &peer);
	say(peer, words);
	do
		r = connection_read(connection, UINT64_MAX, &fixture->failure);
	while (r > 0);
	assert_int_equal(r, -ENOBUFS);
	assert_int_equal(connection_read_now(connection, &fixture->failure), -ENOBUFS);
	assert_int_equal(write_huge(fixture, connection), -EPROTO);
	(void)connection_input(connection, &size_bytes);
	assert_int_equal(size_bytes, CONNECTION_INPUT_BYTES);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	/* What was understood makes room. */
	connection_consume(connection, CONNECTION_INPUT_BYTES - 1);
	expect_input(connection, "x");
	assert_true(connection_read(connection, UINT64_MAX, &fixture->failure) > 0);
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

FIXTURE_TEST(connection_read_times_out_at_deadline)
{
	struct fixture *fixture = *state;
	uint64_t deadline_ns = clock_monotonic_ns() + STALL_NS;
	struct pollfd fd = { .events = POLLIN };
	struct connection *connection;
	int peer;

	connection = connect_to_peer(fixture, &peer);
	assert_int_equal(connection_read_now(connection, &fixture->failure), -EAGAIN);
	assert_int_equal(connection_read(connection, deadline_ns, &fixture->failure), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() >= deadline_ns);
	/* There is something to read by then: it is read. */
	say(peer, "yes");
	fd.fd = connection_fd(connection);
	assert_int_equal(poll(&fd, 1, -1), 1);
	assert_int_equal(connection_read(connection, 1, &fixture->failure), 3);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

FIXTURE_TEST(connection_read_and_write_end_on_stop)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	struct stopper stopper;
	int peer;

	fixture->options.stall_ns = LONG_NS;
	connection = connect_to_peer(fixture, &peer);
	start_stopper(&stopper, &fixture->waiter, 1);
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), -ECANCELED);
	end_stopper(&stopper);
	assert_int_equal(fixture->failure.kind, FAILURE_CANCELLED);
	fixture->failure = (struct failure){ 0 };
	assert_int_equal(write_huge(fixture, connection), -ECANCELED);
	assert_int_equal(fixture->failure.kind, FAILURE_CANCELLED);
	connection_close(connection);
	assert_int_equal(close(peer), 0);
}

/* A dead peer is noticed by the kernel, too; and a chunk's end is not held back. */
FIXTURE_TEST(connection_sets_tcp_timeout_keepalive_and_nodelay)
{
	static const struct {
		uint64_t stall_ns;
		int timeout_ms;
	} cases[] = { { 70 * NS_PER_S, 70000 }, { UINT64_MAX, INT_MAX } };
	static const int options[][2] = { { IPPROTO_TCP, TCP_NODELAY },
					  { SOL_SOCKET, SO_KEEPALIVE } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < 2; i++) {
		struct connection *connection;
		int peer, value = 0;
		socklen_t size = sizeof(value);

		fixture->options.stall_ns = cases[i].stall_ns;
		connection = connect_to_peer(fixture, &peer);
		for (size_t j = 0; j < 2; j++) {
			assert_int_equal(getsockopt(connection_fd(connection), options[j][0],
						    options[j][1], &value, &size),
					 0);
			assert_int_equal(value, 1);
		}
		assert_int_equal(getsockopt(connection_fd(connection), IPPROTO_TCP,
					    TCP_USER_TIMEOUT, &value, &size),
				 0);
		assert_int_equal(value, cases[i].timeout_ms);
		assert_int_equal(fcntl(connection_fd(connection), F_GETFD), FD_CLOEXEC);
		connection_close(connection);
		assert_int_equal(close(peer), 0);
	}
}

/* As a listener is whose owner does not accept: it answers no more. */
FIXTURE_TEST(connection_open_ends_on_stop)
{
	enum {
		CLIENTS_MAX = 64
	};
	struct fixture *fixture = *state;
	struct connection *connection = NULL;
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int clients[CLIENTS_MAX], count = 0, error = 0;

	assert_int_equal(listen(fixture->listener.fd, 0), 0);
	assert_int_equal(getsockname(fixture->listener.fd, (struct sockaddr *)&address, &size), 0);
	while (!error && count < CLIENTS_MAX) {
		struct pollfd fd = { .events = POLLOUT };

		clients[count] =
			socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)connect(clients[count], (struct sockaddr *)&address, size);
		fd.fd = clients[count++];
		error = poll(&fd, 1, 0) == 0;
	}
	assert_true(error);
	waiter_stop(&fixture->waiter, 1);
	assert_int_equal(connection_open(&fixture->options, &connection, &fixture->failure),
			 -ECANCELED);
	assert_null(connection);
	assert_int_equal(fixture->failure.kind, FAILURE_CANCELLED);
	while (count)
		assert_int_equal(close(clients[--count]), 0);
}

/* No name is known, or nobody answers. */
static atomic_bool is_name_server_silent;
static sem_t may_answer;

static int answer_name(const char *port, const struct addrinfo *hints,
		       struct addrinfo **ret_addresses)
{
	(void)port;
	(void)hints;
	(void)ret_addresses;
	while (is_name_server_silent && sem_wait(&may_answer) < 0)
		continue;
	return EAI_NONAME;
}

FIXTURE_TEST(connection_open_names_unresolved_host)
{
	struct fixture *fixture = *state;
	struct connection *connection = NULL;
	struct resolver *resolver = resolver_new("collector.test", "24224");
	struct forward_url url;
	const char *problem;

	assert_int_equal(forward_url_parse("tcp://collector.test:24224", &url, &problem), 0);
	fixture->options.resolver = resolver;
	fixture->options.url = &url;
	assert_int_equal(connection_open(&fixture->options, &connection, &fixture->failure),
			 -EHOSTUNREACH);
	assert_int_equal(fixture->failure.kind, FAILURE_RESOLVE);
	assert_non_null(strstr(fixture->failure.text, "collector.test"));
	assert_non_null(strstr(fixture->failure.text, gai_strerror(EAI_NONAME)));
	is_name_server_silent = true;
	waiter_stop(&fixture->waiter, 1);
	fixture->failure = (struct failure){ 0 };
	assert_int_equal(connection_open(&fixture->options, &connection, &fixture->failure),
			 -ECANCELED);
	assert_int_equal(fixture->failure.kind, FAILURE_CANCELLED);
	assert_non_null(strstr(fixture->failure.text, "collector.test"));
	is_name_server_silent = false;
	assert_int_equal(sem_post(&may_answer), 0);
	resolver_free(resolver);
}

/* Where a descriptor may be 0. */
FIXTURE_TEST(connection_works_with_stdin_closed)
{
	struct fixture *fixture = *state;
	struct connection *connection;
	int saved = dup(STDIN_FILENO), peer;

	assert_true(saved >= 0);
	assert_int_equal(close(STDIN_FILENO), 0);
	connection = connect_to_peer(fixture, &peer);
	assert_int_equal(connection_fd(connection), 0);
	say(peer, "yes");
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 3);
	expect_input(connection, "yes");
	connection_consume(connection, 1);
	expect_input(connection, "es");
	connection_close(connection);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(close(peer), 0);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
}

TEST_WITH(connection_open_fails_without_memory, set_up_unix, tear_down)
{
	struct fixture *fixture = *state;
	struct connection *connection = NULL;

	memory_fails_after(0);
	assert_int_equal(connection_open(&fixture->options, &connection, &fixture->failure),
			 -ENOMEM);
	memory_never_fails();
	assert_null(connection);
	assert_int_equal(fixture->failure.kind, FAILURE_INTERNAL);
}

FIXTURE_TEST(connection_open_fails_without_listener)
{
	struct fixture *fixture = *state;
	struct connection *connection = NULL;

	listener_close(&fixture->listener);
	assert_true(connection_open(&fixture->options, &connection, &fixture->failure) < 0);
	assert_null(connection);
	assert_int_equal(fixture->failure.kind, FAILURE_CONNECT);
	connection_close(connection);
}

static void use_tls(struct fixture *fixture, bool trusts)
{
	const struct tls_options options = { .ca_path = trusts ? certificate_path : NULL };

	assert_int_equal(tls_context_new(&options, &fixture->tls), 0);
	fixture->options.tls = fixture->tls;
}

/* A peer of tls://, in a thread: the handshake needs both. */
struct tls_peer {
	struct fixture *fixture;
	enum {
		PEER_TLS, /* says "hello" by TLS, and reads until the end */
		PEER_RESET, /* the same, and ends without goodbye once it has read something */
		PEER_PLAIN, /* says something in plain text */
		PEER_CLOSE,
		PEER_SLOW, /* begins an answer when it is too late, and waits for the end */
	} kind;
	pthread_t thread;
	size_t read_bytes;
};

static void speak_tls(struct tls_peer *peer, int fd)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());
	SSL *ssl;
	uint8_t bytes[16384];
	int got;

	(void)SSL_CTX_use_certificate_file(context, certificate_path, SSL_FILETYPE_PEM);
	(void)SSL_CTX_use_PrivateKey_file(context, key_path, SSL_FILETYPE_PEM);
	ssl = SSL_new(context);
	(void)SSL_set_fd(ssl, fd);
	if (SSL_accept(ssl) == 1 && SSL_write(ssl, "hello", 5) == 5) {
		while ((got = SSL_read(ssl, bytes, sizeof(bytes))) > 0 && peer->kind == PEER_TLS)
			peer->read_bytes += (size_t)got;
		if (peer->kind == PEER_TLS)
			(void)SSL_shutdown(ssl);
	}
	SSL_free(ssl);
	SSL_CTX_free(context);
}

static _Atomic uint64_t clock_leap_ns;

/* Instead of libc's: a clock that can be put forward. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	int r = (int)syscall(SYS_clock_gettime, clock, ret_time);

	if (clock == CLOCK_MONOTONIC)
		ret_time->tv_sec += (time_t)(clock_leap_ns / NS_PER_S);
	return r;
}

/* The hello shows that the handshake's time is running. */
static void answer_late(int fd)
{
	uint8_t bytes[4096];

	(void)!recv(fd, bytes, sizeof(bytes), 0);
	clock_leap_ns = 60 * NS_PER_S;
	(void)!send(fd, "\x16", 1, MSG_NOSIGNAL);
	while (recv(fd, bytes, sizeof(bytes), 0) > 0)
		continue;
}

static void *run_tls_peer(void *user)
{
	static const char plain[] = "220 mail.example ready\r\n";
	struct tls_peer *peer = user;
	struct pollfd listening = { .fd = peer->fixture->listener.fd, .events = POLLIN };
	int fd;

	(void)poll(&listening, 1, -1);
	fd = accept4(peer->fixture->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	if (peer->kind == PEER_TLS || peer->kind == PEER_RESET)
		speak_tls(peer, fd);
	else if (peer->kind == PEER_PLAIN)
		(void)!send(fd, plain, sizeof(plain) - 1, MSG_NOSIGNAL);
	if (peer->kind == PEER_SLOW)
		answer_late(fd);
	/* The hello of TLS is read first: with bytes unread, a close would be a reset. */
	if (peer->kind == PEER_PLAIN || peer->kind == PEER_CLOSE)
		(void)!recv(fd, (uint8_t[4096]){ 0 }, 4096, 0);
	if (peer->kind == PEER_RESET)
		reset(fd);
	else
		(void)close(fd);
	return NULL;
}

static int open_to(struct tls_peer *peer, struct connection **ret_connection)
{
	assert_int_equal(thread_start(&peer->thread, run_tls_peer, peer), 0);
	return connection_open(&peer->fixture->options, ret_connection, &peer->fixture->failure);
}

TEST_WITH(connection_carries_data_both_ways_over_tls, set_up_tls, tear_down)
{
	struct fixture *fixture = *state;
	struct tls_peer peer = { .fixture = fixture, .kind = PEER_TLS };
	struct connection *connection = NULL;
	_cleanup_free_ uint8_t *bytes = calloc(1, 3 * 1024 * 1024);
	const struct iovec parts[] = { { bytes, 1 }, { bytes, 3 * 1024 * 1024 }, { bytes, 5 } };

	fixture->options.stall_ns = LONG_NS;
	use_tls(fixture, true);
	assert_int_equal(open_to(&peer, &connection), 0);
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 5);
	expect_input(connection, "hello");
	assert_int_equal(connection_read_now(connection, &fixture->failure), -EAGAIN);
	assert_int_equal(connection_write(connection, parts, 3, &fixture->failure), 0);
	connection_close(connection);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	assert_int_equal(peer.read_bytes, 3 * 1024 * 1024 + 6);
}

TEST_WITH(connection_treats_reset_as_end_over_tls, set_up_tls, tear_down)
{
	struct fixture *fixture = *state;
	struct tls_peer peer = { .fixture = fixture, .kind = PEER_RESET };
	struct connection *connection = NULL;

	/* As main has it: OpenSSL says goodbye by write(2). */
	(void)signal(SIGPIPE, SIG_IGN);
	fixture->options.stall_ns = LONG_NS;
	use_tls(fixture, true);
	assert_int_equal(open_to(&peer, &connection), 0);
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 5);
	assert_int_equal(
		connection_write(connection, &(struct iovec){ "x", 1 }, 1, &fixture->failure), 0);
	assert_int_equal(connection_read(connection, UINT64_MAX, &fixture->failure), 0);
	assert_int_equal(fixture->failure.kind, FAILURE_NONE);
	connection_close(connection);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
}

TEST_WITH(connection_refuses_untrusted_certificate, set_up_tls, tear_down)
{
	struct fixture *fixture = *state;
	struct tls_peer peer = { .fixture = fixture, .kind = PEER_TLS };
	struct connection *connection = NULL;

	use_tls(fixture, false);
	assert_true(open_to(&peer, &connection) < 0);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	assert_null(connection);
	assert_int_equal(fixture->failure.kind, FAILURE_TLS);
	assert_non_null(strstr(fixture->failure.text, "does not hold for 127.0.0.1"));
}

TEST_WITH(connection_distinguishes_plain_text_from_closed_handshake, set_up_tls, tear_down)
{
	struct fixture *fixture = *state;
	struct tls_peer peer = { .fixture = fixture, .kind = PEER_PLAIN };
	struct connection *connection = NULL;

	use_tls(fixture, true);
	assert_true(open_to(&peer, &connection) < 0);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	assert_int_equal(fixture->failure.kind, FAILURE_TLS);
	assert_string_equal(fixture->failure.text, "it does not speak TLS: use tcp://");
	peer.kind = PEER_CLOSE;
	fixture->failure = (struct failure){ 0 };
	assert_true(open_to(&peer, &connection) < 0);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	assert_int_equal(fixture->failure.kind, FAILURE_TLS);
	assert_string_equal(fixture->failure.text, "the connection ended in the TLS handshake");
	assert_null(connection);
}

TEST_WITH(connection_tls_handshake_times_out, set_up_tls, tear_down)
{
	struct fixture *fixture = *state;
	struct tls_peer peer = { .fixture = fixture, .kind = PEER_SLOW };
	struct connection *connection = NULL;

	use_tls(fixture, true);
	assert_int_equal(open_to(&peer, &connection), -ETIMEDOUT);
	assert_int_equal(pthread_join(peer.thread, NULL), 0);
	clock_leap_ns = 0;
	assert_null(connection);
	assert_int_equal(fixture->failure.kind, FAILURE_TLS);
	assert_non_null(strstr(fixture->failure.text, "TLS handshake within 10 s"));
}

/* Nobody even accepts: the kernel does, and nothing comes. */
TEST_WITH(connection_tls_handshake_ends_on_stop, set_up_tls, tear_down)
{
	struct fixture *fixture = *state;
	struct connection *connection = NULL;
	struct stopper stopper;

	use_tls(fixture, true);
	start_stopper(&stopper, &fixture->waiter, clock_monotonic_ns() + STALL_NS);
	assert_int_equal(connection_open(&fixture->options, &connection, &fixture->failure),
			 -ECANCELED);
	end_stopper(&stopper);
	assert_null(connection);
	assert_int_equal(fixture->failure.kind, FAILURE_CANCELLED);
}

TEST_ALSO(connection_writes_large_parts_whole_and_in_order, 1, set_up_unix, tear_down)
TEST_ALSO(connection_write_times_out_on_stalled_peer, 1, set_up_unix, tear_down)
TEST_ALSO(connection_keeps_last_input_of_closed_peer, 1, set_up_unix, tear_down)
TEST_ALSO(connection_write_stops_when_peer_sends_early, 1, set_up_unix, tear_down)
TEST_ALSO(connection_write_fails_if_peer_shuts_down_sending, 1, set_up_unix, tear_down)
TEST_ALSO(connection_works_with_stdin_closed, 1, set_up_unix, tear_down)
TEST_ALSO(connection_open_fails_without_listener, 1, set_up_unix, tear_down)

TEST_GROUP(make_folder, remove_folder)
