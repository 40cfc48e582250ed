/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

enum {
	FILE_MODE = 0600
};

struct sink {
	int fd;
	bool owns_fd;
	bool must_empty; /* before the first write: what there was is to be replaced */
	int failure; /* 0, or the -errno of the write that failed */
	char *name;
};

static void sink_free(struct sink *sink)
{
	if (sink->owns_fd && sink->fd >= 0)
		(void)close(sink->fd);
	free(sink->name);
	free(sink);
}
DEFINE_CLEANUP(struct sink *, sink_free);

static bool is_stdout(const char *path)
{
	return strcmp(path, "-") == 0;
}

/*
 * Alone, because the bytes of two recorders would be mixed; the kernel lets go of it with the last
 * descriptor, also when we are killed. Those that append to a file (`>> log`) may do it together:
 * each write is whole entries.
 */
static int lock_output(const struct sink *sink, const struct stat *status)
{
	int flags = fcntl(sink->fd, F_GETFL);
	int operation = flags >= 0 && (flags & O_APPEND) ? LOCK_SH : LOCK_EX;

	if (!S_ISREG(status->st_mode) && !S_ISFIFO(status->st_mode))
		return 0;
	if (!flock(sink->fd, operation | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return log_error(EWOULDBLOCK,
				 "%s: another recorder is writing to it; give each a file of its "
				 "own with -o FILE",
				 sink->name);
	log_warning("cannot lock %s (%s): two recorders that write to it would not be noticed",
		    sink->name, strerror(errno));
	return 0;
}

static int look_at_output(const struct sink *sink, struct stat *ret_status)
{
	if (fstat(sink->fd, ret_status) < 0)
		return log_error_errno(errno, "cannot look at %s", sink->name);
	return 0;
}

static int open_stdout(struct sink *sink)
{
	struct stat status;
	int r;

	if (isatty(STDOUT_FILENO))
		return log_error(ENOTTY,
				 "records are binary and are not written to a terminal: name a "
				 "file with -o FILE, or pipe them into another program");
	sink->fd = STDOUT_FILENO;
	r = look_at_output(sink, &status);
	return r < 0 ? r : lock_output(sink, &status);
}

static int open_file(struct sink *sink, int flags, bool overwrites)
{
	struct stat status;
	int r;

	sink->fd = open(sink->name, O_WRONLY | O_CLOEXEC | O_NOCTTY | flags, FILE_MODE);
	if (sink->fd < 0)
		return log_error_errno(errno, "cannot create %s", sink->name);
	sink->owns_fd = true;
	r = look_at_output(sink, &status);
	if (r == 0)
		r = lock_output(sink, &status);
	/* Whoever had the lock may have written meanwhile. */
	if (r == 0)
		r = look_at_output(sink, &status);
	if (r < 0)
		return r;
	sink->must_empty = S_ISREG(status.st_mode) && status.st_size > 0;
	if (sink->must_empty && !overwrites)
		return log_error(EEXIST,
				 "%s is there already, and not empty: name another file with -o "
				 "FILE, or overwrite it with --force",
				 sink->name);
	return 0;
}

static int sink_new(const char *path, struct sink **ret_sink)
{
	_cleanup_(sink_freep) struct sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return log_error_errno(ENOMEM, "cannot open %s", path);
	sink->fd = -1;
	sink->name = strdup(is_stdout(path) ? "standard output" : path);
	if (!sink->name)
		return log_error_errno(ENOMEM, "cannot open %s", path);
	*ret_sink = TAKE_PTR(sink);
	return 0;
}

int sink_check(const char *path, bool overwrites)
{
	_cleanup_(sink_freep) struct sink *sink = NULL;
	struct stat status;

	/* A pipe's reader would take this for its writer, that came and went. */
	if (is_stdout(path) || stat(path, &status) < 0 || !S_ISREG(status.st_mode))
		return 0;
	return sink_new(path, &sink) < 0 ? -ENOMEM : open_file(sink, 0, overwrites);
}

int sink_open(const char *path, bool overwrites, struct sink **ret_sink)
{
	_cleanup_(sink_freep) struct sink *sink = NULL;
	int r = sink_new(path, &sink);

	if (r == 0)
		r = is_stdout(path) ? open_stdout(sink) : open_file(sink, O_CREAT, overwrites);
	if (r < 0)
		return r;
	*ret_sink = TAKE_PTR(sink);
	return 0;
}

/* Standard output may have been made non-blocking by whoever shares it. */
static int wait_writable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLOUT };

	if (poll(&poll_fd, 1, -1) < 0 && errno != EINTR)
		return -errno;
	return 0;
}

/* Adds what was written to *written_bytes, also when a later write fails. */
static int write_all(int fd, const uint8_t *bytes, size_t size_bytes, size_t *written_bytes)
{
	while (*written_bytes < size_bytes) {
		ssize_t wrote = write(fd, bytes + *written_bytes, size_bytes - *written_bytes);
		int r = 0;

		if (wrote > 0)
			*written_bytes += (size_t)wrote;
		else if (wrote == 0)
			return -EIO;
		else if (errno == EAGAIN)
			r = wait_writable(fd);
		else if (errno != EINTR)
			r = -errno;
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Cuts what a failed write left of an entry. Only a regular file that ends where this write
 * stopped: of a file that somebody else appends to (`>> log`), nothing may be cut.
 */
static void cut_partial_tail(const struct sink *sink, size_t partial_bytes)
{
	off_t end = lseek(sink->fd, 0, SEEK_CUR);
	struct stat status;

	if (partial_bytes == 0 || end < (off_t)partial_bytes || fstat(sink->fd, &status) < 0 ||
	    !S_ISREG(status.st_mode) || status.st_size != end)
		return;
	end -= (off_t)partial_bytes;
	if (ftruncate(sink->fd, end) < 0 || lseek(sink->fd, end, SEEK_SET) < 0)
		log_warning("%s ends in a partial record: %s", sink->name, strerror(errno));
}

int sink_write(struct sink *sink, const void *bytes, size_t size_bytes)
{
	size_t written_bytes = 0;
	int r;

	if (sink->failure < 0)
		return sink->failure;
	if (sink->must_empty && ftruncate(sink->fd, 0) < 0) {
		sink->failure = -errno;
		return log_error_errno(errno, "cannot empty %s", sink->name);
	}
	sink->must_empty = false;
	r = write_all(sink->fd, bytes, size_bytes, &written_bytes);
	if (r == 0)
		return 0;
	sink->failure = r;
	if (r == -EPIPE)
		return r;
	cut_partial_tail(sink, written_bytes);
	return log_error_errno(r, "cannot write records to %s", sink->name);
}

int sink_close(struct sink *sink)
{
	_cleanup_(sink_freep) struct sink *owned = sink;

	if (!owned)
		return 0;
	if (!owned->owns_fd) {
		/* Whoever started us has it open, too: the lock would stay. */
		(void)flock(owned->fd, LOCK_UN);
		return 0;
	}
	if (close(TAKE_FD(owned->fd)) < 0 && errno != EINTR)
		return log_error_errno(errno, "cannot finish writing %s", owned->name);
	return 0;
}
