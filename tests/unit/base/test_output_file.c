/* SPDX-License-Identifier: GPL-2.0-only */
/* As root: what belongs to another user is in it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/output_file.h"
#include "ears.h"
#include "failing_memory.h"

enum {
	STRANGER = 12345, /* a user */
};

static char folder[] = "/tmp/test_output_file.XXXXXX";
static char path[sizeof(folder) + 16], other[sizeof(folder) + 16];

static int setup(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/test_output_file.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/out", folder);
	(void)snprintf(other, sizeof(other), "%s/other", folder);
	return 0;
}

/* Fails if anything else is left there. */
static int teardown(void **state)
{
	(void)state;
	(void)unlink(path);
	(void)unlink(other);
	return rmdir(folder);
}

static void put(const char *name, mode_t mode)
{
	int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(write(fd, "old", 3), 3);
	assert_int_equal(close(fd), 0);
}

static void expect_mode(const char *name, mode_t mode)
{
	struct stat status;

	assert_int_equal(lstat(name, &status), 0);
	assert_int_equal(status.st_mode, mode);
}

static void expect_taken(const char *name, int flags)
{
	int fd;

	assert_int_equal(output_file_look(name), 0);
	fd = output_file_open(name, flags);
	assert_true(fd >= 0);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & O_ACCMODE, O_WRONLY);
	assert_int_equal(close(fd), 0);
}

/* Its reason is said, and nothing is changed. */
static void expect_refused(const char *name, const char *reason)
{
	char said[1024];
	struct ears ears = ears_open();

	assert_int_equal(output_file_look(name), -EPERM);
	assert_int_equal(output_file_open(name, O_CREAT | O_NONBLOCK), -EPERM);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, name));
	assert_non_null(strstr(said, reason));
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(output_file_is_created_with_mode_0600)
{
	assert_int_equal(output_file_look(path), 0);
	assert_int_equal(output_file_open(path, 0), -ENOENT);
	expect_taken(path, O_CREAT);
	expect_mode(path, S_IFREG | 0600);
	expect_taken(path, O_CREAT);
	expect_taken(path, 0);
}

FIXTURE_TEST(output_file_rejects_symbolic_links)
{
	assert_int_equal(symlink(other, path), 0);
	expect_refused(path, "is a link to ");
	assert_int_equal(access(other, F_OK), -1);
	put(other, 0600);
	expect_refused(path, other);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/proc/self/fd/1", path), 0);
	expect_refused(path, "standard output is -");
}

FIXTURE_TEST(output_file_rejects_files_accessible_to_others)
{
	static const mode_t modes[] = { 0640, 0620, 0604, 0602, 0666 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		put(path, modes[i]);
		expect_refused(path, "chmod 600");
	}
	put(path, 0600);
	expect_taken(path, 0);
	assert_int_equal(chown(path, STRANGER, (gid_t)-1), 0);
	expect_refused(path, "belongs to uid 12345");
}

FIXTURE_TEST(output_file_rejects_hard_linked_files)
{
	put(path, 0600);
	assert_int_equal(link(path, other), 0);
	expect_refused(path, "another name");
	assert_int_equal(unlink(other), 0);
	expect_taken(path, 0);
}

FIXTURE_TEST(output_file_checks_pipes_like_files_and_accepts_devices)
{
	int reader;

	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(output_file_open(path, O_NONBLOCK), -ENXIO);
	reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	expect_taken(path, O_NONBLOCK);
	assert_int_equal(close(reader), 0);
	assert_int_equal(chmod(path, 0622), 0);
	expect_refused(path, "chmod 600");
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(chown(path, STRANGER, (gid_t)-1), 0);
	expect_refused(path, "belongs to uid 12345");
	expect_taken("/dev/null", 0);
}

FIXTURE_TEST(output_file_open_failure_is_logged_with_path)
{
	char said[512];
	struct ears ears = ears_open();

	assert_int_equal(output_file_open(folder, O_CREAT), -EISDIR);
	assert_int_equal(output_file_open("/proc/nothing/out", O_CREAT), -ENOENT);
	assert_int_equal(output_file_look("/proc/nothing/out"), 0);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, folder));
	assert_non_null(strstr(said, strerror(EISDIR)));
	assert_non_null(strstr(said, "/proc/nothing/out"));
}

static void write_new(const char *content, mode_t mode, int result)
{
	struct output_file file;

	assert_int_equal(output_file_begin(path, mode, &file), 0);
	assert_true(fputs(content, file.file) >= 0);
	assert_int_equal(output_file_end(&file, result), result);
}

static void expect_content(const char *name, const char *expected)
{
	char content[64] = "";
	FILE *file = fopen(name, "re");

	assert_non_null(file);
	(void)fread(content, 1, sizeof(content) - 1, file);
	assert_int_equal(fclose(file), 0);
	assert_string_equal(content, expected);
}

/* Also of a link, which is replaced, and leads nowhere then. */
FIXTURE_TEST(output_file_replaces_target_atomically)
{
	mode_t mask = umask(077);

	write_new("new", 0644, 0);
	(void)umask(mask);
	expect_content(path, "new");
	expect_mode(path, S_IFREG | 0644);
	write_new("newer", 0600, -EIO);
	expect_content(path, "new");
	assert_int_equal(unlink(path), 0);
	put(other, 0600);
	assert_int_equal(symlink(other, path), 0);
	write_new("new", 0600, 0);
	expect_mode(path, S_IFREG | 0600);
	expect_content(other, "old");
}

FIXTURE_TEST(output_file_failure_leaves_no_temporary_file)
{
	struct output_file file;

	put(path, 0600);
	memory_fails_once_after(0);
	assert_int_equal(output_file_begin(path, 0600, &file), -ENOMEM);
	memory_never_fails();
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
	assert_int_equal(output_file_begin("/proc/nothing/out", 0600, &file), -ENOENT);
	/* Its place is a folder's by then. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(output_file_begin(path, 0600, &file), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(output_file_end(&file, 0), -EISDIR);
	assert_int_equal(rmdir(path), 0);
}
