/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/proc_file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"

enum {
	PATH_BYTES = 128,
	FIRST_BUFFER_BYTES = 4096,
	FIRST_IDS = 64,
};

DEFINE_CLEANUP(DIR *, closedir);

/* A process that is gone shows as a missing file, or, when the file is open, as ESRCH. */
static int error_of(int error)
{
	return error == ENOENT ? -ESRCH : -error;
}

static int open_file(pid_t pid, const char *name)
{
	char path[PATH_BYTES];
	int length = snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int fd;

	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? error_of(errno) : fd;
}

/* Reads until the buffer is full or the file ends. */
static ssize_t read_full(int fd, char *buffer, size_t buffer_bytes)
{
	size_t used = 0;

	while (used < buffer_bytes) {
		ssize_t got = read(fd, buffer + used, buffer_bytes - used);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return error_of(errno);
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

ssize_t proc_file_read_head(pid_t pid, const char *name, char *buffer, size_t buffer_bytes)
{
	_cleanup_fd_ int fd = open_file(pid, name);
	ssize_t got;

	if (fd < 0)
		return fd;
	got = read_full(fd, buffer, buffer_bytes - 1);
	if (got >= 0)
		buffer[got] = '\0';
	return got;
}

int proc_file_read(pid_t pid, const char *name, size_t limit_bytes, char **ret_text,
		   size_t *ret_size_bytes)
{
	_cleanup_fd_ int fd = open_file(pid, name);
	_cleanup_free_ char *text = NULL;
	size_t capacity = FIRST_BUFFER_BYTES;
	size_t used = 0;

	if (fd < 0)
		return fd;
	for (;;) {
		char *grown = realloc(text, capacity);
		ssize_t got;

		if (!grown)
			return -ENOMEM;
		text = grown;
		got = read_full(fd, text + used, capacity - used - 1);
		if (got < 0)
			return (int)got;
		used += (size_t)got;
		if (used > limit_bytes)
			return -E2BIG;
		if (used < capacity - 1)
			break;
		capacity *= 2;
	}
	text[used] = '\0';
	*ret_text = TAKE_PTR(text);
	*ret_size_bytes = used;
	return 0;
}

static pid_t id_of_name(const char *name)
{
	char *end;
	long long id;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	/* A name beyond strtoll's range exceeds any pid, too. */
	id = strtoll(name, &end, 10);
	return *end || id > INT_MAX ? 0 : (pid_t)id;
}

int proc_file_list_ids(const char *path, pid_t **ret_ids, size_t *ret_count)
{
	_cleanup_(closedirp) DIR *directory = opendir(path);
	_cleanup_free_ pid_t *ids = NULL;
	size_t capacity = FIRST_IDS;
	size_t count = 0;
	struct dirent *entry;

	if (!directory)
		return error_of(errno);
	ids = malloc(capacity * sizeof(*ids));
	if (!ids)
		return -ENOMEM;
	while ((errno = 0, entry = readdir(directory))) {
		pid_t id = id_of_name(entry->d_name);
		pid_t *grown;

		if (id <= 0)
			continue;
		if (count == capacity) {
			grown = reallocarray(ids, capacity * 2, sizeof(*ids));
			if (!grown)
				return -ENOMEM;
			ids = grown;
			capacity *= 2;
		}
		ids[count++] = id;
	}
	if (errno)
		return error_of(errno);
	*ret_ids = TAKE_PTR(ids);
	*ret_count = count;
	return 0;
}
