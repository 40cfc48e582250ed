/* SPDX-License-Identifier: GPL-2.0-only */
/* TLS with a peer in the same thread, one step of each after the other. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"
#include <openssl/err.h>
#include <openssl/ssl.h>

#include "ears.h"
#include "failing_memory.h"
#include "recorder/forward/tls.h"

enum {
	NAME_BYTES = 64,
	LARGE_BYTES = 4 * 1024 * 1024, /* more than a socket takes at once */
};

static char folder[] = "/tmp/test_tls_stream.XXXXXX";
static char key_path[NAME_BYTES], certificate_path[NAME_BYTES];

struct scene {
	int fds[2]; /* ours, the peer's */
	SSL_CTX *peer_context;
	SSL *peer;
	struct forward_url url;
	struct tls_options options;
	struct tls_context *context;
	struct tls_stream *stream;
	struct failure failure;
	short events;
};

/* A self-signed certificate with that subject; more: further arguments of openssl(1). */
static int make_certificate(const char *name, const char *more)
{
	char line[512];

	(void)snprintf(line, sizeof(line),
		       "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes "
		       "-subj /CN=%s %s -days 2 -keyout %s -out %s 2>/dev/null",
		       name, more, key_path, certificate_path);
	return system(line);
}

static int make_good_certificate(void)
{
	return make_certificate("collector.test", "-addext subjectAltName=IP:127.0.0.1,"
						  "DNS:collector.test,DNS:*.wild.test,"
						  "DNS:part*.test");
}

static int make_folder(void **state)
{
	(void)state;
	/* As main has it: OpenSSL writes by write(2). */
	(void)signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(key_path, sizeof(key_path), "%s/key", folder);
	(void)snprintf(certificate_path, sizeof(certificate_path), "%s/certificate", folder);
	return make_good_certificate();
}

static int remove_folder(void **state)
{
	(void)state;
	return unlink(key_path) || unlink(certificate_path) || rmdir(folder);
}

static int set_up(void **state)
{
	static struct scene scene;

	scene = (struct scene){ .options.ca_path = certificate_path, .url.host = "collector.test" };
	*state = &scene;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, scene.fds) < 0)
		return -1;
	scene.peer_context = SSL_CTX_new(TLS_server_method());
	return SSL_CTX_use_certificate_file(scene.peer_context, certificate_path,
					    SSL_FILETYPE_PEM) != 1 ||
	       SSL_CTX_use_PrivateKey_file(scene.peer_context, key_path, SSL_FILETYPE_PEM) != 1;
}

static void close_peer(struct scene *scene)
{
	SSL_free(scene->peer);
	scene->peer = NULL;
	cleanup_fd(&scene->fds[1]);
	scene->fds[1] = -1;
}

static int tear_down(void **state)
{
	struct scene *scene = *state;

	memory_never_fails();
	close_peer(scene);
	tls_stream_free(scene->stream);
	tls_context_free(scene->context);
	SSL_CTX_free(scene->peer_context);
	(void)close(scene->fds[0]);
	ERR_clear_error();
	return 0;
}

static void start(struct scene *scene)
{
	scene->peer = SSL_new(scene->peer_context);
	(void)SSL_set_fd(scene->peer, scene->fds[1]);
	assert_int_equal(tls_context_new(&scene->options, &scene->context), 0);
	assert_int_equal(tls_stream_new(scene->context, scene->fds[0], &scene->url, &scene->stream,
					&scene->failure),
			 0);
}

/* What our side says of it in the end; the peer's errors are left where they are. */
static int shake_hands(struct scene *scene)
{
	int r;

	start(scene);
	for (;;) {
		r = tls_stream_handshake(scene->stream, &scene->events, &scene->failure);
		(void)SSL_accept(scene->peer);
		if (r != -EAGAIN)
			return r;
		assert_int_equal(scene->events, POLLIN);
	}
}

static void make_friends(struct scene *scene)
{
	assert_int_equal(shake_hands(scene), 0);
	assert_true(SSL_is_init_finished(scene->peer));
}

static ssize_t read_ours(struct scene *scene)
{
	static uint8_t bytes[16384];

	return tls_stream_read(scene->stream, bytes, sizeof(bytes), &scene->events,
			       &scene->failure);
}

static void raise_error_of_others(void)
{
	ERR_raise(ERR_LIB_SSL, SSL_R_WRONG_VERSION_NUMBER);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

TEST(tls_stream_verifies_certificate_against_requested_name)
{
	static const struct {
		const char *host, *server_name, *told; /* told: to the peer, whom we want */
		bool is_unverified, holds;
	} cases[] = {
		{ "collector.test", NULL, "collector.test", false, true },
		{ "other.test", NULL, "other.test", false, false },
		{ "other.test", "collector.test", "collector.test", false, true },
		{ "collector.test", "other.test", "other.test", false, false },
		{ "other.test", NULL, "other.test", true, true },
		{ "any.wild.test", NULL, "any.wild.test", false, true },
		{ "part1.test", NULL, "part1.test", false, false },
		{ "127.0.0.1", NULL, NULL, false, true },
		{ "127.0.0.1%lo", NULL, NULL, false, true },
		{ "127.0.0.2", NULL, NULL, false, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene *scene;
		void *each;
		const char *told;

		assert_int_equal(set_up(&each), 0);
		scene = each;
		scene->options.server_name = cases[i].server_name;
		scene->options.is_unverified = cases[i].is_unverified;
		(void)strcpy(scene->url.host, cases[i].host);
		assert_int_equal(shake_hands(scene), cases[i].holds ? 0 : -EPROTO);
		assert_int_equal(scene->failure.kind, cases[i].holds ? FAILURE_NONE : FAILURE_TLS);
		if (!cases[i].holds)
			assert_non_null(strstr(scene->failure.text, cases[i].server_name
									    ? cases[i].server_name
									    : cases[i].host));
		told = SSL_get_servername(scene->peer, TLSEXT_NAMETYPE_host_name);
		assert_int_equal(told != NULL, cases[i].told != NULL);
		if (told)
			assert_string_equal(told, cases[i].told);
		assert_int_equal(tear_down(&each), 0);
	}
}

/* An authority has checked the names in subjectAltName. */
TEST(tls_stream_does_not_match_host_against_subject)
{
	struct scene *scene;
	void *each;

	assert_int_equal(make_certificate("collector.test", ""), 0);
	assert_int_equal(set_up(&each), 0);
	scene = each;
	assert_int_equal(shake_hands(scene), -EPROTO);
	assert_int_equal(scene->failure.kind, FAILURE_TLS);
	assert_non_null(strstr(scene->failure.text, "subjectAltName"));
	assert_int_equal(tear_down(&each), 0);
	assert_int_equal(make_good_certificate(), 0);
}

/* OpenSSL keeps one queue of errors for each thread. */
FIXTURE_TEST(tls_stream_ignores_foreign_openssl_errors)
{
	const char *foreign =
		ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, SSL_R_WRONG_VERSION_NUMBER));
	struct scene *scene = *state;
	struct tls_options options = { .ca_path = key_path };
	struct tls_context *context = NULL;
	struct ears ears;
	char said[512];

	raise_error_of_others();
	ears = ears_open();
	assert_int_equal(tls_context_new(&options, &context), -EINVAL);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, key_path));
	assert_null(strstr(said, foreign));
	assert_null(strstr(said, "no reason given"));
	start(scene);
	raise_error_of_others();
	assert_int_equal(tls_stream_handshake(scene->stream, &scene->events, &scene->failure),
			 -EAGAIN);
	while (!SSL_is_init_finished(scene->peer)) {
		(void)SSL_accept(scene->peer);
		(void)tls_stream_handshake(scene->stream, &scene->events, &scene->failure);
	}
	raise_error_of_others();
	assert_int_equal(read_ours(scene), -EAGAIN);
	assert_int_equal(scene->events, POLLIN);
	do {
		raise_error_of_others();
		scene->events = 0;
	} while (tls_stream_write(scene->stream, said, sizeof(said), &scene->events,
				  &scene->failure) > 0);
	assert_int_equal(scene->events, POLLOUT);
	assert_int_equal(scene->failure.kind, FAILURE_NONE);
}

/* Longer than a name can be: it is our fault, not the peer's. */
FIXTURE_TEST(tls_context_warns_of_world_readable_key)
{
	static const mode_t modes[] = { 0644, 0640 };
	struct tls_options options = { .certificate_path = certificate_path, .key_path = key_path };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct tls_context *context = NULL;
		struct ears ears;
		char said[512];

		assert_int_equal(chmod(key_path, modes[i]), 0);
		ears = ears_open();
		assert_int_equal(tls_context_new(&options, &context), 0);
		ears_close(&ears, said, sizeof(said));
		tls_context_free(context);
		if (modes[i] & S_IROTH)
			assert_non_null(strstr(said, "everybody can read our private key in "));
		else
			assert_string_equal(said, "");
	}
}

FIXTURE_TEST(tls_context_logs_unusable_file_and_its_purpose)
{
	struct tls_options options = { .ca_path = "/dev/null" };
	struct tls_context *context = NULL;
	struct ears ears = ears_open();
	char said[512];

	assert_int_equal(tls_context_new(&options, &context), -EINVAL);
	ears_close(&ears, said, sizeof(said));
	assert_null(context);
	assert_non_null(strstr(said, "cannot use /dev/null as certificates of authorities: "));
}

FIXTURE_TEST(tls_stream_reports_overlong_server_name)
{
	struct scene *scene = *state;
	char name[300] = "";

	memset(name, 'x', sizeof(name) - 1);
	scene->options.server_name = name;
	assert_int_equal(tls_context_new(&scene->options, &scene->context), 0);
	raise_error_of_others();
	assert_int_equal(tls_stream_new(scene->context, scene->fds[0], &scene->url, &scene->stream,
					&scene->failure),
			 -ENOMEM);
	assert_null(scene->stream);
	assert_int_equal(scene->failure.kind, FAILURE_INTERNAL);
	assert_null(strstr(scene->failure.text, "wrong version number"));
}

FIXTURE_TEST(tls_creation_fails_without_memory)
{
	struct scene *scene = *state;
	size_t failures = 0;

	scene->options.server_name = "collector.test";
	assert_each_allocation_can_fail(tls_context_new(&scene->options, &scene->context),
					(failures++, assert_null(scene->context)));
	assert_true(failures > 1);
	memory_fails_once_after(0);
	assert_int_equal(tls_stream_new(scene->context, scene->fds[0], &scene->url, &scene->stream,
					&scene->failure),
			 -ENOMEM);
	assert_null(scene->stream);
	assert_int_equal(scene->failure.kind, FAILURE_INTERNAL);
}

/* What it takes is said at once, and the rest may have moved by the next time. */
FIXTURE_TEST(tls_stream_resumes_partial_write_from_moved_buffer)
{
	struct scene *scene = *state;
	_cleanup_free_ uint8_t *copies = malloc(2 * (size_t)LARGE_BYTES);
	size_t sent_bytes = 0, taken_bytes = 0, moves = 0;
	uint8_t taken[16384];

	for (size_t i = 0; i < 2 * LARGE_BYTES; i++)
		copies[i] = (uint8_t)(i % LARGE_BYTES % 251);
	make_friends(scene);
	assert_int_equal(
		tls_stream_write(scene->stream, copies, 1, &scene->events, &scene->failure), 1);
	sent_bytes = 1;
	while (sent_bytes < LARGE_BYTES) {
		const uint8_t *rest = copies + moves % 2 * LARGE_BYTES + sent_bytes;
		ssize_t sent = tls_stream_write(scene->stream, rest, LARGE_BYTES - sent_bytes,
						&scene->events, &scene->failure);
		int got;

		assert_true(sent < LARGE_BYTES);
		if (sent > 0) {
			sent_bytes += (size_t)sent;
			continue;
		}
		assert_int_equal(sent, -EAGAIN);
		assert_int_equal(scene->events, POLLOUT);
		assert_true(sent_bytes > 0);
		moves++;
		while ((got = SSL_read(scene->peer, taken, sizeof(taken))) > 0)
			for (int i = 0; i < got; i++)
				assert_int_equal(taken[i], taken_bytes++ % 251);
	}
	assert_true(moves > 0);
}

FIXTURE_TEST(tls_stream_truncates_sizes_beyond_int_max)
{
	struct scene *scene = *state;
	uint8_t *bytes = calloc(1, LARGE_BYTES);

	make_friends(scene);
	assert_int_equal(SSL_write(scene->peer, "hello", 5), 5);
	assert_int_equal(tls_stream_read(scene->stream, bytes, (size_t)INT_MAX + 6, &scene->events,
					 &scene->failure),
			 5);
	assert_memory_equal(bytes, "hello", 5);
	assert_true(tls_stream_write(scene->stream, bytes, (size_t)INT_MAX + 6, &scene->events,
				     &scene->failure) > 0);
	assert_int_equal(scene->failure.kind, FAILURE_NONE);
	free(bytes);
}

/* With a goodbye or without: the protocol above knows what is missing. */
TEST(tls_stream_reads_end_with_or_without_close_notify)
{
	for (int has_manners = 0; has_manners < 2; has_manners++) {
		struct scene *scene;
		void *each;

		assert_int_equal(set_up(&each), 0);
		scene = each;
		make_friends(scene);
		assert_int_equal(SSL_write(scene->peer, "bye", 3), 3);
		if (has_manners)
			(void)SSL_shutdown(scene->peer);
		close_peer(scene);
		assert_int_equal(read_ours(scene), 3);
		assert_int_equal(read_ours(scene), 0);
		assert_int_equal(
			tls_stream_write(scene->stream, "x", 1, &scene->events, &scene->failure),
			-EPIPE);
		assert_int_equal(scene->failure.kind, FAILURE_NONE);
		assert_int_equal(tear_down(&each), 0);
	}
}

FIXTURE_TEST(tls_stream_reports_plain_text_after_handshake)
{
	struct scene *scene = *state;

	make_friends(scene);
	assert_int_equal(send(scene->fds[1], "no more secrets", 15, 0), 15);
	assert_int_equal(read_ours(scene), -EPROTO);
	assert_int_equal(scene->failure.kind, FAILURE_TLS);
	assert_null(strstr(scene->failure.text, "no reason given"));
}

FIXTURE_TEST(tls_stream_reports_required_client_certificate)
{
	struct scene *scene = *state;

	SSL_CTX_set_verify(scene->peer_context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
			   NULL);
	assert_int_equal(shake_hands(scene), 0);
	assert_int_equal(read_ours(scene), -EPROTO);
	assert_int_equal(scene->failure.kind, FAILURE_TLS);
	assert_non_null(strstr(scene->failure.text, "certificate required"));
}

FIXTURE_TEST(tls_stream_reports_handshake_failure_of_peer)
{
	struct scene *scene = *state;

	SSL_CTX_free(scene->peer_context);
	scene->peer_context = SSL_CTX_new(TLS_server_method()); /* without a certificate */
	assert_int_equal(shake_hands(scene), -EPROTO);
	assert_int_equal(scene->failure.kind, FAILURE_TLS);
	assert_non_null(strstr(scene->failure.text, "handshake failure"));
}

FIXTURE_TEST(tls_stream_reports_peer_leaving_during_handshake)
{
	struct scene *scene = *state;

	start(scene);
	assert_int_equal(tls_stream_handshake(scene->stream, &scene->events, &scene->failure),
			 -EAGAIN);
	assert_int_equal(shutdown(scene->fds[1], SHUT_WR), 0);
	assert_int_equal(tls_stream_handshake(scene->stream, &scene->events, &scene->failure),
			 -ECONNRESET);
	assert_int_equal(scene->failure.kind, FAILURE_TLS);
}

FIXTURE_TEST(tls_stream_sends_close_notify_only_after_handshake)
{
	struct scene *scene = *state;
	uint8_t byte;

	start(scene);
	tls_stream_say_goodbye(scene->stream);
	assert_int_equal(recv(scene->fds[1], &byte, 1, 0), -1);
	while (!SSL_is_init_finished(scene->peer)) {
		(void)tls_stream_handshake(scene->stream, &scene->events, &scene->failure);
		(void)SSL_accept(scene->peer);
	}
	tls_stream_say_goodbye(scene->stream);
	ERR_clear_error();
	assert_int_equal(SSL_get_error(scene->peer, SSL_read(scene->peer, &byte, 1)),
			 SSL_ERROR_ZERO_RETURN);
	tls_stream_free(NULL);
	tls_context_free(NULL);
}

TEST_GROUP(make_folder, remove_folder)
