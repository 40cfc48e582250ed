/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

#include "recorder/net/listener.h"

static char folder[] = "/tmp/test_listener.XXXXXX";
static char path[sizeof(folder) + 8];
static char address[sizeof(path) + 8];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	(void)snprintf(address, sizeof(address), "unix:%s", path);
	return 0;
}

/* Fails if anything is left there. */
static int teardown(void **state)
{
	(void)state;
	return rmdir(folder);
}

/* 0, or the errno of connect(2). */
static int try_to_connect(const struct sockaddr *to, socklen_t size_bytes)
{
	int fd = socket(to->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	int error = connect(fd, to, size_bytes) < 0 ? errno : 0;

	assert_int_equal(close(fd), 0);
	return error;
}

static struct sockaddr_un own_address(void)
{
	struct sockaddr_un own = { .sun_family = AF_UNIX };

	(void)strcpy(own.sun_path, path);
	return own;
}

TEST(listener_socket_is_private_and_removed_on_close)
{
	struct sockaddr_un own = own_address();
	struct listener listener;
	struct stat status;

	assert_int_equal(listener_open(address, &listener), 0);
	assert_int_equal(listener.port, 0);
	assert_string_equal(listener.path, path);
	assert_int_equal(stat(path, &status), 0);
	assert_true(S_ISSOCK(status.st_mode));
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_true(fcntl(listener.fd, F_GETFD) & FD_CLOEXEC);
	/* It does not wait for anybody. */
	assert_int_equal(accept(listener.fd, NULL, NULL), -1);
	assert_int_equal(errno, EAGAIN);
	assert_int_equal(try_to_connect((struct sockaddr *)&own, sizeof(own)), 0);
	listener_close(&listener);
	assert_int_equal(access(path, F_OK), -1);
}

TEST(listener_accepts_one_letter_path)
{
	struct listener listener;

	assert_int_equal(chdir(folder), 0);
	assert_int_equal(listener_open("unix:s", &listener), 0);
	assert_int_equal(access("s", F_OK), 0);
	listener_close(&listener);
	assert_int_equal(access("s", F_OK), -1);
	assert_int_equal(chdir("/"), 0);
}

TEST(listener_replaces_stale_socket)
{
	struct sockaddr_un own = own_address();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct listener listener;

	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(try_to_connect((struct sockaddr *)&own, sizeof(own)), ECONNREFUSED);
	assert_int_equal(listener_open(address, &listener), 0);
	assert_int_equal(try_to_connect((struct sockaddr *)&own, sizeof(own)), 0);
	listener_close(&listener);
}

TEST(listener_leaves_socket_in_use_and_other_files_alone)
{
	struct sockaddr_un own = own_address();
	struct listener listener, second;
	int fd;

	assert_int_equal(listener_open(address, &listener), 0);
	/* Whatever another call failed by. */
	errno = ECONNREFUSED;
	assert_int_equal(listener_open(address, &second), -EADDRINUSE);
	assert_int_equal(try_to_connect((struct sockaddr *)&own, sizeof(own)), 0);
	listener_close(&listener);
	/* Of another kind, and in use. */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&own, sizeof(own)), 0);
	assert_int_equal(listener_open(address, &listener), -EADDRINUSE);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(listener_open(address, &listener), -EADDRINUSE);
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(path), 0);
}

TEST(listener_binds_port_on_loopback_interface)
{
	static const char *const texts[] = { "tcp://127.0.0.1:0", "tcp://localhost:0" };
	struct listener listener, second;
	char text[32];

	for (size_t i = 0; i < 2; i++) {
		struct sockaddr_in bound;
		socklen_t size_bytes = sizeof(bound);

		assert_int_equal(listener_open(texts[i], &listener), 0);
		assert_true(listener.port > 0);
		assert_string_equal(listener.path, "");
		assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&bound, &size_bytes),
				 0);
		assert_int_equal(bound.sin_addr.s_addr, htonl(INADDR_LOOPBACK));
		assert_int_equal(ntohs(bound.sin_port), listener.port);
		assert_int_equal(try_to_connect((struct sockaddr *)&bound, size_bytes), 0);
		(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%d", listener.port);
		assert_int_equal(listener_open(text, &second), -EADDRINUSE);
		listener_close(&listener);
	}
	assert_int_equal(listener_open("tcp://[::1]:0", &listener), 0);
	assert_true(listener.port > 0);
	listener_close(&listener);
}

/* After a restart, whatever is left of connections to the one before. */
TEST(listener_rebinds_port_at_once_after_close)
{
	struct listener listener;
	struct sockaddr_in bound;
	socklen_t size_bytes = sizeof(bound);
	char text[32], byte;
	int client, peer;

	assert_int_equal(listener_open("tcp://127.0.0.1:0", &listener), 0);
	assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&bound, &size_bytes), 0);
	client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(client, (struct sockaddr *)&bound, size_bytes), 0);
	peer = accept4(listener.fd, NULL, NULL, SOCK_CLOEXEC);
	assert_true(peer >= 0);
	/* Who closes first waits for stragglers. */
	assert_int_equal(close(peer), 0);
	assert_int_equal(read(client, &byte, 1), 0);
	assert_int_equal(close(client), 0);
	(void)snprintf(text, sizeof(text), "tcp://127.0.0.1:%d", listener.port);
	listener_close(&listener);
	assert_int_equal(listener_open(text, &listener), 0);
	listener_close(&listener);
}

/* Where a descriptor may be 0; and nobody inherits it. */
TEST(listener_works_with_stdin_closed)
{
	const char *const texts[] = { address, "tcp://127.0.0.1:0" };
	int saved = dup(STDIN_FILENO);
	struct listener listener;

	assert_true(saved >= 0);
	assert_int_equal(close(STDIN_FILENO), 0);
	for (size_t i = 0; i < 2; i++) {
		/* A second time over what the first one left behind. */
		for (int round = 0; round < 2; round++) {
			assert_int_equal(listener_open(texts[i], &listener), 0);
			assert_int_equal(listener.fd, 0);
			assert_int_equal(fcntl(listener.fd, F_GETFD), FD_CLOEXEC);
			assert_true(fcntl(listener.fd, F_GETFL) & O_NONBLOCK);
			if (round == 0)
				assert_int_equal(close(listener.fd), 0);
			else
				listener_close(&listener);
			assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
		}
	}
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
}

TEST(listener_rejects_invalid_address)
{
	static const char *const texts[] = {
		"",
		"/run/socket",
		"unix:",
		"tcp://",
		"tcp://127.0.0.1",
		"tcp://127.0.0.1:",
		"tcp://127.0.0.1:-1",
		"tcp://127.0.0.1:65536",
		"tcp://127.0.0.1:1x",
		"tcp://0.0.0.0:1",
		"tcp://[::]:1",
		"tcp://192.0.2.1:1",
		"tcp://localhost.example:1",
		"http://127.0.0.1:1",
	};
	char text[5 + sizeof(((struct sockaddr_un *)0)->sun_path) + 1] = "unix:/";
	struct listener listener;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(listener_open(texts[i], &listener), -EINVAL);
	/* One character more than fits. */
	memset(text + 6, 'x', sizeof(text) - 7);
	assert_int_equal(listener_open(text, &listener), -EINVAL);
	assert_int_equal(listener_open("unix:/nonexistent/socket", &listener), -ENOENT);
}

/* Not on all of the machine's addresses. */
TEST(listener_binds_ipv6_to_loopback_only)
{
	struct sockaddr_in6 bound;
	socklen_t size = sizeof(bound);
	struct listener listener;
	int r = listener_open("tcp://[::1]:0", &listener);

	if (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL)
		skip();
	assert_int_equal(r, 0);
	assert_int_equal(getsockname(listener.fd, (struct sockaddr *)&bound, &size), 0);
	assert_memory_equal(&bound.sin6_addr, &in6addr_loopback, sizeof(in6addr_loopback));
	listener_close(&listener);
}

TEST_GROUP(setup, teardown)
