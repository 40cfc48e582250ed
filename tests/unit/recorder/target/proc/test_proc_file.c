/* SPDX-License-Identifier: GPL-2.0-only */
/* Files of a process, and by a path that leads out of its folder any other. */
#include "recorder/target/proc/proc_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "failing_memory.h"

UNIT_TEST_ALONE;

enum {
	NOBODY = 0x7ffffffe
};

/* Whatever is opened here is not for a program that another thread starts meanwhile. */
int open(const char *path, int flags, ...)
{
	mode_t mode = 0;
	va_list more;

	assert_true(flags & O_CLOEXEC);
	va_start(more, flags);
	if (flags & O_CREAT)
		mode = va_arg(more, mode_t);
	va_end(more);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

struct bench {
	char folder[40];
	char name[80]; /* of the file, as from a process's folder */
	char path[64];
};

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	(void)snprintf(bench->folder, sizeof(bench->folder), "/tmp/test_proc_file-XXXXXX");
	assert_non_null(mkdtemp(bench->folder));
	(void)snprintf(bench->path, sizeof(bench->path), "%s/file", bench->folder);
	(void)snprintf(bench->name, sizeof(bench->name), "../..%s", bench->path);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;
	char command[64];

	(void)snprintf(command, sizeof(command), "rm -r %s", bench->folder);
	assert_int_equal(system(command), 0);
	free(bench);
	return 0;
}

static char byte_at(size_t at)
{
	return (char)('a' + at % 23);
}

static void write_bytes(const struct bench *bench, size_t count)
{
	FILE *file = fopen(bench->path, "we");

	assert_non_null(file);
	for (size_t i = 0; i < count; i++)
		(void)fputc(byte_at(i), file);
	assert_int_equal(fclose(file), 0);
}

#define WITH_FOLDER(test) TEST_WITH(test, set_up, tear_down)

WITH_FOLDER(proc_file_head_is_cut_to_buffer_size)
{
	struct bench *bench = *state;
	char buffer[8];

	write_bytes(bench, 7);
	for (size_t room = 1; room <= sizeof(buffer); room++) {
		memset(buffer, 'x', sizeof(buffer));
		assert_int_equal(proc_file_read_head(getpid(), bench->name, buffer, room),
				 room - 1);
		assert_int_equal(strlen(buffer), room - 1);
		assert_memory_equal(buffer, "abcdefg", room - 1);
	}
	write_bytes(bench, 3);
	assert_int_equal(proc_file_read_head(getpid(), bench->name, buffer, sizeof(buffer)), 3);
	assert_string_equal(buffer, "abc");
}

WITH_FOLDER(proc_file_is_read_whole_up_to_its_limit)
{
	static const size_t sizes[] = { 0, 1, 4094, 4095, 4096, 8190, 8191, 8192, 20000, 70000 };
	struct bench *bench = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		_cleanup_free_ char *text = NULL;
		_cleanup_free_ char *none = NULL;
		size_t size_bytes = 0, size = sizes[i];

		write_bytes(bench, size);
		assert_int_equal(proc_file_read(getpid(), bench->name, size, &text, &size_bytes),
				 0);
		assert_int_equal(size_bytes, size);
		for (size_t at = 0; at < size; at++)
			assert_int_equal(text[at], byte_at(at));
		assert_int_equal(text[size], '\0');
		if (size == 0)
			continue;
		assert_int_equal(
			proc_file_read(getpid(), bench->name, size - 1, &none, &size_bytes),
			-E2BIG);
		assert_null(none);
	}
}

TEST(proc_file_returns_error_for_missing_process_or_file)
{
	char *text = NULL, buffer[8], name[200];
	size_t size_bytes;
	pid_t *ids = NULL;

	assert_int_equal(proc_file_read(NOBODY, "stat", 100, &text, &size_bytes), -ESRCH);
	assert_int_equal(proc_file_read(getpid(), "no", 100, &text, &size_bytes), -ESRCH);
	assert_int_equal(proc_file_read_head(NOBODY, "stat", buffer, 8), -ESRCH);
	assert_int_equal(proc_file_read_head(getpid(), "task", buffer, 8), -EISDIR);
	assert_int_equal(proc_file_read(getpid(), "task", 8, &text, &size_bytes), -EISDIR);
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(proc_file_read_head(getpid(), name, buffer, 8), -ENAMETOOLONG);
	assert_null(text);
	assert_int_equal(proc_file_list_ids("/proc/2147483646/task", &ids, &size_bytes), -ESRCH);
	assert_int_equal(proc_file_list_ids("/proc/self/stat", &ids, &size_bytes), -ENOTDIR);
	assert_null(ids);
}

TEST(proc_file_reads_through_descriptor_zero)
{
	int saved = dup(STDIN_FILENO);
	char buffer[8];

	(void)close(STDIN_FILENO);
	assert_true(proc_file_read_head(getpid(), "comm", buffer, sizeof(buffer)) > 0);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	(void)close(saved);
}

static void make_entry(const struct bench *bench, const char *name)
{
	char path[128];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", bench->folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

WITH_FOLDER(proc_file_ids_are_names_that_are_valid_pids)
{
	static const char *const names[] = {
		"1",   "2147483647", "2147483648", "99999999999999999999", "0", "-3",
		"12a", "a12",	     "+7"
	};
	struct bench *bench = *state;
	_cleanup_free_ pid_t *ids = NULL;
	size_t count;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		make_entry(bench, names[i]);
	assert_int_equal(proc_file_list_ids(bench->folder, &ids, &count), 0);
	assert_int_equal(count, 2);
	assert_true((ids[0] == 1 && ids[1] == 2147483647) || (ids[1] == 1 && ids[0] == 2147483647));
}

WITH_FOLDER(proc_file_lists_any_number_of_ids)
{
	struct bench *bench = *state;
	char name[16];

	for (size_t made = 0; made <= 130; made++) {
		_cleanup_free_ pid_t *ids = NULL;
		size_t count, sum = 0;

		if (made > 0) {
			(void)snprintf(name, sizeof(name), "%zu", made);
			make_entry(bench, name);
		}
		/* As something that went before may leave it. */
		errno = ERANGE;
		assert_int_equal(proc_file_list_ids(bench->folder, &ids, &count), 0);
		assert_non_null(ids);
		assert_int_equal(count, made);
		for (size_t i = 0; i < count; i++)
			sum += (size_t)ids[i];
		assert_int_equal(sum, made * (made + 1) / 2);
	}
}

WITH_FOLDER(proc_file_returns_enomem_and_keeps_result)
{
	struct bench *bench = *state;
	char *text = NULL, name[16];
	size_t size_bytes = 77, count = 77, failures = 0;
	pid_t *ids = NULL;

	/* Both grow on the way. */
	write_bytes(bench, 20000);
	assert_each_allocation_can_fail(
		proc_file_read(getpid(), bench->name, 20000, &text, &size_bytes),
		(failures++, assert_int_equal(size_bytes, 77), assert_null(text)));
	assert_int_equal(size_bytes, 20000);
	assert_non_null(text);
	assert_true(failures > 1);
	free(text);
	for (int i = 1; i <= 130; i++) {
		(void)snprintf(name, sizeof(name), "%d", i);
		make_entry(bench, name);
	}
	failures = 0;
	assert_each_allocation_can_fail(
		proc_file_list_ids(bench->folder, &ids, &count),
		(failures++, assert_int_equal(count, 77), assert_null(ids)));
	assert_int_equal(count, 130);
	assert_non_null(ids);
	assert_true(failures > 1);
	free(ids);
}
