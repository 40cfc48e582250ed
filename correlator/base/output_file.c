/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"

enum {
	FILE_MODE = 0600,
	TRIES = 8, /* while another process keeps creating and removing the file */
};

bool output_file_is_standard(const char *path)
{
	return strcmp(path, "-") == 0 || strcmp(path, "/dev/stdout") == 0;
}

static int refuse_link(const char *path, int fd)
{
	char target[PATH_MAX] = "";
	ssize_t size = readlinkat(fd, "", target, sizeof(target) - 1);

	if (strncmp(target, "/proc/self/fd/", strlen("/proc/self/fd/")) == 0)
		return log_error(EPERM,
				 "%s is a link, and links are not followed: standard "
				 "output is -",
				 path);
	return log_error(EPERM,
			 "%s is a link to %s, and links are not followed: name the file itself",
			 path, size > 0 ? target : "?");
}

/* Returns 0, or -EPERM, logged: the file is not ours alone. */
static int expect_own(const char *path, int fd, const struct stat *status)
{
	if (S_ISLNK(status->st_mode))
		return refuse_link(path, fd);
	if (!S_ISREG(status->st_mode) && !S_ISFIFO(status->st_mode))
		return 0;
	if (status->st_uid != geteuid())
		return log_error(EPERM,
				 "%s belongs to uid %u, and we run as uid %u: remove it, or name "
				 "another file",
				 path, status->st_uid, geteuid());
	if (status->st_mode & (S_IRWXG | S_IRWXO))
		return log_error(EPERM,
				 "%s has mode %04o, others may read or write it: chmod 600 %s, or "
				 "name another file",
				 path, status->st_mode & 07777, path);
	if (S_ISREG(status->st_mode) && status->st_nlink > 1)
		return log_error(EPERM,
				 "%s has another name, too (%lu in all): remove it, or name "
				 "another file",
				 path, (unsigned long)status->st_nlink);
	return 0;
}

/* Reopens the inspected file itself: the path may refer to another one already. */
static int open_again(int path_fd, int flags)
{
	char again[64];
	int fd;

	(void)snprintf(again, sizeof(again), "/proc/self/fd/%d", path_fd);
	fd = open(again, flags);
	return fd < 0 ? -errno : fd;
}

/* Inspects the file at path. Returns an O_PATH descriptor, owned by the caller; -EPERM, logged: the
 * file is not ours alone; -errno of open(2). */
static int look(const char *path)
{
	_cleanup_fd_ int path_fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;
	int r;

	if (path_fd < 0 || fstat(path_fd, &status) < 0)
		return -errno;
	r = expect_own(path, path_fd, &status);
	return r < 0 ? r : TAKE_FD(path_fd);
}

static int open_there(const char *path, int flags)
{
	_cleanup_fd_ int path_fd = look(path);
	int r = path_fd;

	if (r == -EPERM || r == -ENOENT)
		return r;
	if (r >= 0)
		r = open_again(path_fd, flags);
	return r < 0 && r != -ENXIO ? log_error_errno(r, "cannot write %s", path) : r;
}

int output_file_look(const char *path)
{
	_cleanup_fd_ int path_fd = look(path);

	return path_fd == -EPERM ? path_fd : 0;
}

int output_file_open(const char *path, int flags)
{
	int fd, r = -ENOENT;

	flags |= O_WRONLY | O_CLOEXEC | O_NOCTTY;
	for (int i = 0; i < TRIES && r == -ENOENT; i++) {
		r = open_there(path, flags & ~O_CREAT);
		if (r != -ENOENT || !(flags & O_CREAT))
			return r;
		fd = open(path, flags | O_EXCL | O_NOFOLLOW, FILE_MODE);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return log_error_errno(errno, "cannot create %s", path);
	}
	return log_error_errno(EBUSY, "cannot create %s", path);
}

int output_file_begin(const char *path, mode_t mode, struct output_file *ret_file)
{
	_cleanup_free_ char *kept_path = strdup(path), *beside = NULL;
	_cleanup_fd_ int fd = -1;
	FILE *file = NULL;

	if (asprintf(&beside, "%s.XXXXXX", path) < 0) {
		beside = NULL;
		return -ENOMEM;
	}
	if (!kept_path)
		return -ENOMEM;
	fd = mkostemp(beside, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fchmod(fd, mode) == 0)
		file = fdopen(fd, "w");
	if (!file) {
		int r = -errno;

		(void)unlink(beside);
		return r;
	}
	(void)TAKE_FD(fd);
	*ret_file = (struct output_file){ file, TAKE_PTR(kept_path), TAKE_PTR(beside) };
	return 0;
}

int output_file_end(struct output_file *file, int result)
{
	bool has_failed = ferror(file->file);
	int r = result;

	if (fclose(file->file) != 0 && r == 0)
		r = -errno;
	if (has_failed && r == 0)
		r = -EIO;
	if (r == 0 && rename(file->beside, file->path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(file->beside);
	free(file->path);
	free(file->beside);
	return r;
}
