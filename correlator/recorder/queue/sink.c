/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/rights.h"
#include "base/signals.h"
#include "record/check.h"
#include "record/entry_scan.h"
#include "recorder/queue/segment.h"

enum {
	/* A writable pipe accepts at least this much: a page (pipe_poll(), fs/pipe.c, v6.18). */
	PIPE_WRITE_BYTES = 4096,
	GROWTH_PART = 8,
};

#define RETRY_NS NS_PER_S

struct sink {
	int fd;
	bool owns_fd;
	bool is_stream; /* a pipe or socket: has a reader, who may be slow */
	bool is_over; /* that reader is gone */
	bool must_empty; /* truncate the file before the first write */
	int failure; /* result of the last write: 0 or -errno */
	uint64_t failures;
	uint64_t retry_ns; /* CLOCK_MONOTONIC: earliest retry of a failed write */
	uint8_t *buffer; /* NULL = nothing waits */
	size_t begin; /* offset in buffer of the first entry not completely written */
	size_t waiting_bytes; /* entries in buffer from begin on */
	size_t part_bytes; /* of the entry at begin, already written */
	uint64_t waiting_records; /* records in waiting_bytes */
	uint64_t written_records;
	struct gap gap;
	uint64_t dropped_records; /* since the start */
	const char *lost_reason; /* static; of the latest drop */
	char *name;
	/* With a limit: */
	struct sink_file file; /* except path, which is name */
	unsigned int files; /* begun after the first */
	uint64_t file_bytes; /* written to the current file */
	uint64_t head_bytes; /* of file_bytes, the head */
	uint64_t most_bytes; /* the largest write to the current file */
	bool is_unchecked; /* the last entries of the file have no check yet */
};

static void sink_free(struct sink *sink)
{
	if (sink->owns_fd)
		cleanup_fd(&sink->fd);
	free(sink->buffer);
	free(sink->name);
	free(sink);
}
DEFINE_CLEANUP(struct sink *, sink_free);

/*
 * Locks exclusively, because the bytes of two recorders would be mixed. The kernel releases the
 * lock with the last descriptor, also when we are killed. Writers that append to a file (`>> log`)
 * share the lock: each write is whole entries.
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

static int look_at_output(struct sink *sink, struct stat *ret_status)
{
	if (fstat(sink->fd, ret_status) < 0)
		return log_error_errno(errno, "cannot look at %s", sink->name);
	sink->is_stream =
		S_ISFIFO(ret_status->st_mode) || S_ISSOCK(ret_status->st_mode) || isatty(sink->fd);
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

static bool is_named_pipe(const char *path)
{
	struct stat status;

	return lstat(path, &status) == 0 && S_ISFIFO(status.st_mode);
}

/* A blocking open(2) would wait for the reader of a named pipe despite any signal (they are
 * blocked), and no event signals a reader: polls instead. */
static int open_patiently(const struct sink *sink, int flags)
{
	const int look_ms = 50;
	bool is_said = false;
	int fd;

	for (;;) {
		fd = output_file_open(sink->name, flags | O_NONBLOCK);
		if (fd == -ENXIO && !is_named_pipe(sink->name))
			return log_error_errno(fd, "cannot write %s", sink->name);
		if (fd != -ENXIO)
			return fd;
		if (signals_are_pending())
			return -EINTR;
		if (!is_said)
			log_info("waiting for a reader of %s", sink->name);
		is_said = true;
		(void)poll(NULL, 0, look_ms);
	}
}

static int open_file(struct sink *sink, int flags, bool overwrites)
{
	struct stat status;
	int r;

	r = open_patiently(sink, flags);
	if (r < 0)
		return r;
	sink->fd = r;
	sink->owns_fd = true;
	r = look_at_output(sink, &status);
	if (r == 0)
		r = lock_output(sink, &status);
	/* The previous lock holder may have written before it released the lock. */
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

static int sink_new(const struct sink_file *file, struct sink **ret_sink)
{
	_cleanup_(sink_freep) struct sink *sink = calloc(1, sizeof(*sink));

	if (!sink)
		return log_error_errno(ENOMEM, "cannot open %s", file->path);
	sink->fd = -1;
	sink->file = *file;
	sink->name = strdup(output_file_is_standard(file->path) ? "standard output" : file->path);
	if (!sink->name)
		return log_error_errno(ENOMEM, "cannot open %s", file->path);
	*ret_sink = TAKE_PTR(sink);
	return 0;
}

static int name_kept(const char *path, char ret_path[static PATH_MAX])
{
	return snprintf(ret_path, PATH_MAX, "%s.1", path) < PATH_MAX ? 0 : -ENAMETOOLONG;
}

/* Checks that a limit, if there is one, applies to a file, and that PATH.1 can be used. */
static int check_limit(const struct sink_file *file)
{
	char kept_path[PATH_MAX];
	struct stat status;
	bool is_there = lstat(file->path, &status) == 0;

	if (!file->bytes_max)
		return 0;
	if (output_file_is_standard(file->path) || (is_there && !S_ISREG(status.st_mode)))
		return log_error(EINVAL, "--output-max needs a regular file, which %s is not",
				 file->path);
	if (name_kept(file->path, kept_path) < 0)
		return log_error_errno(ENAMETOOLONG, "cannot write %s", file->path);
	if (!file->overwrites && lstat(kept_path, &status) == 0)
		return log_error(EEXIST,
				 "%s is there already, and would be replaced when %s is full: name "
				 "another file with -o FILE, or overwrite it with --force",
				 kept_path, file->path);
	return 0;
}

int sink_check(const struct sink_file *file)
{
	_cleanup_(sink_freep) struct sink *sink = NULL;
	struct stat status;
	int r = check_limit(file);

	if (r < 0 || output_file_is_standard(file->path))
		return r;
	r = output_file_look(file->path);
	/* The reader of a pipe would take this open and close for its writer's. */
	if (r < 0 || lstat(file->path, &status) < 0 || !S_ISREG(status.st_mode))
		return r;
	r = sink_new(file, &sink);
	if (r == 0)
		r = open_file(sink, 0, file->overwrites);
	return r == -ENOENT ? 0 : r;
}

int sink_open(const struct sink_file *file, struct sink **ret_sink)
{
	_cleanup_(sink_freep) struct sink *sink = NULL;
	int r = check_limit(file);

	if (r == 0)
		r = sink_new(file, &sink);
	if (r == 0)
		r = output_file_is_standard(file->path)
			    ? open_stdout(sink)
			    : open_file(sink, O_CREAT, file->overwrites);
	if (r < 0)
		return r;
	*ret_sink = TAKE_PTR(sink);
	return 0;
}

/* Writes only what a stream accepts without waiting for its reader; elsewhere, everything. */
static ssize_t write_some(const struct sink *sink, const uint8_t *bytes, size_t size_bytes)
{
	struct pollfd poll_fd = { .fd = sink->fd, .events = POLLOUT };

	if (!sink->is_stream)
		return write(sink->fd, bytes, size_bytes);
	if (poll(&poll_fd, 1, 0) == 0) {
		errno = EAGAIN;
		return -1;
	}
	return write(sink->fd, bytes,
		     size_bytes < PIPE_WRITE_BYTES ? size_bytes : PIPE_WRITE_BYTES);
}

/* Adds the bytes written to *written_bytes, also when a later write fails. 0: all bytes, or all
 * that could be written without waiting. */
static int write_all(const struct sink *sink, const uint8_t *bytes, size_t size_bytes,
		     size_t *written_bytes)
{
	while (*written_bytes < size_bytes) {
		ssize_t wrote =
			write_some(sink, bytes + *written_bytes, size_bytes - *written_bytes);

		if (wrote > 0)
			*written_bytes += (size_t)wrote;
		else if (wrote == 0)
			return -EIO;
		else if (errno == EAGAIN)
			return 0;
		else if (errno != EINTR)
			return -errno;
	}
	return 0;
}

/*
 * Cuts off what a failed write left of an entry: true if it did. Only if the file ends where this
 * write stopped: a file that somebody else appends to (`>> log`) must not be cut, and an output
 * other than a regular file has no size.
 */
static bool cut_partial_tail(const struct sink *sink, size_t partial_bytes)
{
	off_t end = lseek(sink->fd, 0, SEEK_CUR);
	struct stat status;

	if (partial_bytes == 0 || end < (off_t)partial_bytes || fstat(sink->fd, &status) < 0 ||
	    status.st_size != end)
		return false;
	end -= (off_t)partial_bytes;
	return ftruncate(sink->fd, end) == 0 && lseek(sink->fd, end, SEEK_SET) >= 0;
}

static bool is_reader_gone(int error)
{
	return error == -EPIPE || error == -ECONNRESET;
}

static const char *drop_reason(const struct sink *sink)
{
	if (sink->failure == -ENOSPC || sink->failure == -EDQUOT)
		return "disk full";
	return sink->failure < 0 ? "file not writable" : "reader too slow";
}

/* Logs once when writing starts to fail, and once when it works again. */
static void note_result(struct sink *sink, int r)
{
	int before = sink->failure;

	sink->failure = r;
	if (r == 0 && before < 0)
		log_info("records are written to %s again", sink->name);
	if (r == 0)
		return;
	sink->failures++;
	sink->retry_ns = clock_monotonic_ns() + RETRY_NS;
	if (before == 0)
		(void)log_error(r,
				"cannot write records to %s: %s; they wait in memory, at most %d "
				"KiB, and it is tried again",
				sink->name, strerror(-r), SINK_WAITING_BYTES / 1024);
}

/* Renames the file to PATH.1, unless PATH is no longer this file. */
static int move_away(const struct sink *sink)
{
	char kept_path[PATH_MAX];
	struct stat ours, there;

	if (fstat(sink->fd, &ours) < 0 || name_kept(sink->name, kept_path) < 0)
		return -EIO;
	if (lstat(sink->name, &there) < 0 || there.st_ino != ours.st_ino ||
	    there.st_dev != ours.st_dev)
		return 0;
	return rename(sink->name, kept_path) < 0 ? -errno : 0;
}

/* Returns the descriptor of a new, locked file with its head, owned by the caller; or -errno, and
 * no file is left. */
static int make_file(struct sink *sink)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY;
	_cleanup_fd_ int fd = open(sink->name, flags, 0600);
	size_t size_bytes = 0, wrote_bytes = 0;
	const uint8_t *head;
	int r;

	if (fd < 0)
		return -errno;
	head = sink->file.head(sink->file.user, &size_bytes);
	/* The file is new: nobody else has it open. Where locks do not work, lock_output() logged
	 * it. */
	(void)flock(fd, LOCK_EX | LOCK_NB);
	r = head ? write_all(&(struct sink){ .fd = fd }, head, size_bytes, &wrote_bytes) : 0;
	if (r < 0) {
		(void)unlink(sink->name);
		return r;
	}
	sink->file_bytes = sink->head_bytes = wrote_bytes;
	sink->most_bytes = 0;
	return TAKE_FD(fd);
}

static int begin_anew(struct sink *sink)
{
	RIGHTS_OF_CALLER;
	int r = move_away(sink), fd;

	if (r < 0)
		return r;
	fd = make_file(sink);
	if (fd < 0)
		return fd;
	if (close(sink->fd) < 0 && errno != EINTR)
		(void)log_error_errno(errno, "cannot finish writing %s.1", sink->name);
	sink->fd = fd;
	sink->files++;
	return 0;
}

/* True if more_bytes do not fit in this file, and it has entries besides its head. */
static bool is_full(const struct sink *sink, size_t more_bytes)
{
	return sink->file.bytes_max && sink->file_bytes > sink->head_bytes &&
	       sink->file_bytes + more_bytes > sink->file.bytes_max / 2;
}

/* True if a write as large as the largest one so far, or as room / GROWTH_PART if that is more,
 * would have to continue in the next file, but would fit if it began there. */
static bool is_nearly_full(const struct sink *sink)
{
	const uint64_t room = sink->file.bytes_max / 2, part = room / GROWTH_PART;
	const uint64_t likely_bytes = sink->most_bytes > part ? sink->most_bytes : part;

	return likely_bytes <= room && is_full(sink, likely_bytes);
}

/* The end of the bytes that must be in one file: those covered by the next check, and the check. */
static size_t span_end(const struct sink *sink, const uint8_t *bytes, size_t size_bytes,
		       size_t from)
{
	size_t end;

	if (!sink->file.bytes_max)
		return size_bytes;
	end = from + check_find(bytes + from, size_bytes - from) + CHECK_BYTES;
	return end < size_bytes ? end : size_bytes;
}

/* Like try_write(), but only up to the next check. */
static int write_span(struct sink *sink, const uint8_t *bytes, size_t size_bytes,
		      size_t *written_bytes)
{
	const size_t before_bytes = *written_bytes;
	const size_t end = span_end(sink, bytes, size_bytes, before_bytes);
	int r = 0;

	if (!sink->is_unchecked && is_full(sink, end - before_bytes))
		r = begin_anew(sink);
	if (r == 0)
		r = write_all(sink, bytes, end, written_bytes);
	sink->file_bytes += *written_bytes - before_bytes;
	if (*written_bytes > before_bytes)
		sink->is_unchecked = *written_bytes < end;
	return r;
}

/* bytes: the waiting entries; *written_bytes of the first are already written. */
static int try_write(struct sink *sink, const uint8_t *bytes, size_t size_bytes,
		     size_t *written_bytes)
{
	size_t last_bytes;
	int r;

	if (sink->must_empty && ftruncate(sink->fd, 0) < 0)
		return -errno;
	sink->must_empty = false;
	do {
		last_bytes = *written_bytes;
		r = write_span(sink, bytes, size_bytes, written_bytes);
	} while (r == 0 && *written_bytes > last_bytes && *written_bytes < size_bytes);
	if (*written_bytes > sink->most_bytes)
		sink->most_bytes = *written_bytes;
	return r;
}

/* Removes completely written entries from the buffer. */
static void settle(struct sink *sink, size_t written_bytes)
{
	uint64_t records = sink->waiting_records;
	struct segment whole = { .size_bytes = written_bytes };

	if (written_bytes < sink->waiting_bytes) {
		segment_count(&whole, sink->buffer + sink->begin, written_bytes);
		records = whole.entries;
	}
	sink->written_records += records;
	sink->waiting_records -= records;
	sink->begin += whole.size_bytes;
	sink->waiting_bytes -= whole.size_bytes;
	sink->part_bytes = written_bytes - whole.size_bytes;
	if (sink->waiting_bytes)
		return;
	free(TAKE_PTR(sink->buffer));
	sink->begin = 0;
}

/* Discards the buffer: nobody is there to read it. */
static void end(struct sink *sink)
{
	sink->is_over = true;
	sink->begin = sink->waiting_bytes = sink->part_bytes = 0;
	free(TAKE_PTR(sink->buffer));
}

static void flush(struct sink *sink)
{
	size_t written_bytes = sink->part_bytes;
	int r = try_write(sink, sink->buffer + sink->begin, sink->waiting_bytes, &written_bytes);

	settle(sink, written_bytes);
	if (is_reader_gone(r)) {
		end(sink);
		return;
	}
	if (r < 0 && cut_partial_tail(sink, sink->part_bytes)) {
		sink->file_bytes -= sink->part_bytes;
		sink->part_bytes = 0;
	}
	note_result(sink, r);
}

void sink_flush(struct sink *sink)
{
	if (sink->is_over || !sink->waiting_bytes)
		return;
	if (sink->failure == 0 || clock_monotonic_ns() >= sink->retry_ns)
		flush(sink);
}

/* Appends entries to the buffer. */
static int add(struct sink *sink, const uint8_t *entries, size_t size_bytes, size_t records)
{
	size_t wanted_bytes = sink->waiting_bytes + size_bytes;
	uint8_t *buffer;

	if (sink->waiting_bytes && wanted_bytes > SINK_WAITING_BYTES)
		return -ENOBUFS;
	if (sink->begin)
		memmove(sink->buffer, sink->buffer + sink->begin, sink->waiting_bytes);
	sink->begin = 0;
	buffer = realloc(sink->buffer, wanted_bytes);
	if (!buffer)
		return -ENOMEM;
	sink->buffer = buffer;
	memcpy(sink->buffer + sink->waiting_bytes, entries, size_bytes);
	sink->waiting_bytes = wanted_bytes;
	sink->waiting_records += records;
	return 0;
}

static void drop(struct sink *sink, const uint8_t *entries, size_t size_bytes, const char *reason)
{
	struct segment dropped = { 0 };

	segment_count(&dropped, entries, size_bytes);
	gap_add(&sink->gap, &(struct gap){ .dropped_records = dropped.entries,
					   .first_ns = dropped.first_ns,
					   .last_ns = dropped.last_ns,
					   .reason = reason });
	sink->dropped_records += dropped.entries;
	sink->lost_reason = reason;
}

void sink_write(struct sink *sink, const void *entries, size_t size_bytes, size_t records)
{
	int r;

	if (sink->is_over || !size_bytes)
		return;
	/* This may make room in the buffer. */
	sink_flush(sink);
	r = add(sink, entries, size_bytes, records);
	if (r < 0)
		return drop(sink, entries, size_bytes,
			    r == -ENOMEM ? "no memory" : drop_reason(sink));
	sink_flush(sink);
	/* Begins the next file now if the next write may be as large: a caller that checks the
	 * status sees the new file before it encodes its entries. If this fails, write_span() does
	 * it once a write does not fit. */
	if (!sink->waiting_bytes && !sink->failure && is_nearly_full(sink))
		(void)begin_anew(sink);
}

int sink_fd(const struct sink *sink)
{
	return sink->is_stream && sink->waiting_bytes && !sink->failure ? sink->fd : -1;
}

uint64_t sink_due_ns(const struct sink *sink)
{
	return sink->waiting_bytes && sink->failure ? sink->retry_ns : UINT64_MAX;
}

bool sink_take_gap(struct sink *sink, struct gap *ret_gap)
{
	if (!sink->gap.dropped_records || sink->is_over ||
	    sink->waiting_bytes > SINK_WAITING_BYTES / 2)
		return false;
	*ret_gap = sink->gap;
	ret_gap->total_dropped_records = sink->dropped_records;
	sink->gap = (struct gap){ 0 };
	return true;
}

void sink_get_status(const struct sink *sink, struct sink_status *ret_status)
{
	*ret_status = (struct sink_status){
		.written_records = sink->written_records,
		.dropped_records = sink->dropped_records,
		.failures = sink->failures,
		.waiting_bytes = sink->waiting_bytes,
		.files = sink->files,
		.is_over = sink->is_over,
	};
}

/* Drops the waiting entries, and logs how many records are missing from the output. */
static int say_missing(struct sink *sink)
{
	if (sink->waiting_bytes)
		drop(sink, sink->buffer + sink->begin, sink->waiting_bytes, drop_reason(sink));
	if (!sink->lost_reason)
		return 0;
	return log_error(EIO, "%s: %" PRIu64 " records are missing (%s)", sink->name,
			 sink->dropped_records, sink->lost_reason);
}

int sink_close(struct sink *sink, struct sink_status *ret_status)
{
	_cleanup_(sink_freep) struct sink *owned = sink;
	int r;

	if (!owned)
		return 0;
	if (owned->waiting_bytes)
		flush(owned);
	r = owned->is_over ? -EPIPE : say_missing(owned);
	if (ret_status)
		sink_get_status(owned, ret_status);
	if (!owned->owns_fd) {
		/* Our parent process has it open, too, and would keep the lock. */
		(void)flock(owned->fd, LOCK_UN);
		return r;
	}
	if (close(TAKE_FD(owned->fd)) < 0 && errno != EINTR)
		return log_error_errno(errno, "cannot finish writing %s", owned->name);
	return r;
}
