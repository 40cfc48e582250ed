/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/signals.h"
#include "failing_memory.h"
#include "recorder/forward/secret.h"

UNIT_TEST_ALONE;

#define VARIABLE "CORRELATOR_TEST_SECRET"

/* Instead of libc's: how often the secret was wiped out. */
static unsigned int wiped;

/* Under a name of ours: a compiler believes that the other one only writes. */
void wipe(void *bytes, size_t size_bytes) __asm__("explicit_bzero");

void wipe(void *bytes, size_t size_bytes)
{
	volatile char *each = bytes;
	char start[6] = "";

	for (size_t i = 0; i < size_bytes; i++) {
		if (i < sizeof(start))
			start[i] = each[i];
		each[i] = 0;
	}
	wiped += memcmp(start, "secret", sizeof(start)) == 0;
}

/* As a compiler calls it that looks after sizes. */
void __explicit_bzero_chk(void *bytes, size_t size_bytes, size_t room_bytes);

void __explicit_bzero_chk(void *bytes, size_t size_bytes, size_t room_bytes)
{
	assert_true(size_bytes <= room_bytes);
	wipe(bytes, size_bytes);
}

static char path[] = "/tmp/test_secret.XXXXXX";

static int setup(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	return fd < 0 ? -1 : close(fd);
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

/* Of that file's content. */
static int read_bytes(const void *bytes, size_t size_bytes, char **ret_secret)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	assert_int_equal(write(fd, bytes, size_bytes), size_bytes);
	assert_int_equal(close(fd), 0);
	return secret_read(path, VARIABLE, ret_secret);
}

static void expect_read(const char *text, const char *expected)
{
	_cleanup_(secret_freep) char *secret = NULL;

	assert_int_equal(read_bytes(text, strlen(text), &secret), 0);
	assert_string_equal(secret, expected);
}

TEST(secret_read_strips_one_trailing_newline)
{
	expect_read("secret", "secret");
	expect_read("secret\n", "secret");
	/* Of its own, it is part of the secret. */
	expect_read("secret\n\n", "secret\n");
	expect_read(" two words\t", " two words\t");
}

TEST(secret_read_rejects_invalid_content_and_path)
{
	char text[SECRET_BYTES_MAX + 3];
	char *secret = NULL;

	memset(text, 'x', sizeof(text));
	assert_int_equal(read_bytes("", 0, &secret), -EINVAL);
	assert_int_equal(read_bytes("\n", 1, &secret), -EINVAL);
	assert_int_equal(read_bytes("nul\0nul", 7, &secret), -EINVAL);
	assert_int_equal(read_bytes(text, SECRET_BYTES_MAX + 1, &secret), -EINVAL);
	assert_int_equal(read_bytes(text, SECRET_BYTES_MAX + 3, &secret), -EINVAL);
	assert_int_equal(secret_read("/nonexistent/secret", VARIABLE, &secret), -ENOENT);
	assert_int_equal(secret_read("/", VARIABLE, &secret), -EISDIR);
	assert_null(secret);
	/* The longest, with its newline. */
	text[SECRET_BYTES_MAX] = '\n';
	assert_int_equal(read_bytes(text, SECRET_BYTES_MAX + 1, &secret), 0);
	assert_int_equal(strlen(secret), SECRET_BYTES_MAX);
	secret_free(secret);
}

/* A pending signal ends the wait, though signals are blocked. */
TEST(secret_read_waits_for_pipe_until_signal)
{
	_cleanup_(secret_freep) char *secret = NULL;
	char *none = NULL;
	int status, fd;
	bool is_typed;
	pid_t writer;

	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	writer = fork();
	if (writer == 0) {
		/* Waits for the reader. */
		fd = open(path, O_WRONLY | O_CLOEXEC);
		_exit(write(fd, "sec", 3) != 3 || write(fd, "ret\n", 4) != 4);
	}
	assert_int_equal(secret_read(path, VARIABLE, &secret), 0);
	assert_string_equal(secret, "secret");
	assert_int_equal(waitpid(writer, &status, 0), writer);
	assert_int_equal(status, 0);
	fd = signals_catch();
	assert_int_equal(raise(SIGTERM), 0);
	assert_int_equal(secret_read(path, VARIABLE, &none), -EINTR);
	assert_int_equal(signals_read(fd, &is_typed), SIGTERM);
	(void)close(fd);
	assert_int_equal(unlink(path), 0);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(close(fd), 0);
}

/* Neither a command of ours nor /proc/PID/environ has it afterwards. */
TEST(secret_read_erases_environment_variable)
{
	static char entry[] = VARIABLE "=from there";
	_cleanup_(secret_freep) char *secret = NULL;
	char *none = entry;

	assert_int_equal(putenv(entry), 0);
	assert_int_equal(secret_read(NULL, VARIABLE, &secret), 0);
	assert_string_equal(secret, "from there");
	assert_null(getenv(VARIABLE));
	assert_string_equal(entry, VARIABLE "=");
	assert_int_equal(secret_read(NULL, VARIABLE, &none), 0);
	assert_null(none);
	assert_int_equal(setenv(VARIABLE, "", 1), 0);
	assert_int_equal(secret_read(NULL, VARIABLE, &none), -EINVAL);
	assert_null(getenv(VARIABLE));
}

TEST(secret_read_prefers_file_and_still_erases_environment)
{
	assert_int_equal(setenv(VARIABLE, "from there", 1), 0);
	expect_read("from the file", "from the file");
	assert_null(getenv(VARIABLE));
}

/* What is said while it is read. */
static void read_and_listen(mode_t mode, char ret_said[static 256])
{
	int saved = dup(STDERR_FILENO), fds[2];
	ssize_t got;

	assert_int_equal(pipe2(fds, O_NONBLOCK | O_CLOEXEC), 0);
	assert_true(dup2(fds[1], STDERR_FILENO) >= 0);
	assert_int_equal(chmod(path, mode), 0);
	expect_read("secret", "secret");
	got = read(fds[0], ret_said, 255);
	ret_said[got > 0 ? got : 0] = '\0';
	assert_true(dup2(saved, STDERR_FILENO) >= 0);
	(void)close(saved);
	(void)close(fds[0]);
	(void)close(fds[1]);
}

TEST(secret_read_warns_of_world_readable_file)
{
	char said[256];

	read_and_listen(0644, said);
	assert_non_null(strstr(said, path));
	read_and_listen(0640, said);
	assert_string_equal(said, "");
	read_and_listen(0600, said);
	assert_string_equal(said, "");
}

/* Neither what was read nor what was kept. */
TEST(secret_is_wiped_from_memory)
{
	char *secret = NULL;

	wiped = 0;
	assert_int_equal(read_bytes("secret", 6, &secret), 0);
	assert_int_equal(wiped, 1);
	secret_free(secret);
	assert_int_equal(wiped, 2);
	secret_free(NULL);
}

TEST(secret_read_fails_and_wipes_without_memory)
{
	char *secret = NULL;

	assert_int_equal(setenv(VARIABLE, "secret", 1), 0);
	wiped = 0;
	memory_fails_once_after(0);
	assert_int_equal(secret_read(NULL, VARIABLE, &secret), -ENOMEM);
	assert_int_equal(memory_failures(), 1);
	memory_never_fails();
	assert_null(secret);
	assert_int_equal(wiped, 1);
	assert_null(getenv(VARIABLE));
}

TEST_GROUP(setup, teardown)
