/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "record/checked_entries.h"
#include "record/damage.h"
#include "record/entry_scan.h"
#include "recorder/queue/backlog.h"

enum {
	/* A chunk, and part of the entry behind it. */
	BUFFER_BYTES = BACKLOG_SEGMENT_BYTES + ENTRY_BYTES_MAX,
};

struct file_source {
	char *name;
	int fd;
	int event_fd; /* epoll(7) for a stream (a pipe, a socket, a terminal); -1 = a file */
	int timer_fd; /* in event_fd, like fd: when the open chunk is due */
	uint64_t due_ns; /* CLOCK_MONOTONIC; 0 = no open chunk */
	uint64_t size_bytes;
	uint64_t skip_records; /* still to be skipped */
	uint64_t offset_bytes; /* offset of buffer[0] in the file */
	uint8_t *buffer;
	size_t buffer_bytes;
	size_t chunk_bytes; /* at the front of the buffer; 0 = no chunk is being sent */
	size_t chunk_span_bytes; /* chunk_bytes plus the checks that were removed */
	uint32_t chunk_entries;
	char chunk_id[CHUNK_ID_BYTES];
	bool has_ended; /* read(2) returned 0 */
	bool has_records; /* a record was found */
	struct damage damage;
	struct checked_entries checked;
	atomic_bool is_over;
	atomic_bool is_exhausted;
	_Atomic uint64_t done_records, done_bytes, rejected_records;
	_Atomic uint64_t damaged_places, damaged_bytes; /* copied from damage */
	_Atomic uint64_t torn_bytes, unchecked_bytes, missing_records;
};

/* A file that epoll refuses (EPERM) never blocks a reader. */
static int watch(struct file_source *source)
{
	struct epoll_event event = { .events = EPOLLIN };

	source->event_fd = epoll_create1(EPOLL_CLOEXEC);
	if (source->event_fd < 0)
		return -errno;
	if (epoll_ctl(source->event_fd, EPOLL_CTL_ADD, source->fd, &event) < 0) {
		if (errno != EPERM)
			return -errno;
		(void)close(TAKE_FD(source->event_fd));
		return 0;
	}
	source->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (source->timer_fd < 0 ||
	    epoll_ctl(source->event_fd, EPOLL_CTL_ADD, source->timer_fd, &event) < 0)
		return -errno;
	return 0;
}

int file_source_open(const char *path, uint64_t skip_records, struct file_source **ret_source)
{
	_cleanup_(file_source_freep) struct file_source *source = calloc(1, sizeof(*source));
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat status;
	int r;

	if (!source)
		return log_error_errno(ENOMEM, "cannot open %s", path);
	source->fd = source->event_fd = source->timer_fd = -1;
	source->skip_records = skip_records;
	source->name = strdup(is_stdin ? "standard input" : path);
	source->buffer = malloc(BUFFER_BYTES);
	if (!source->name || !source->buffer)
		return log_error_errno(ENOMEM, "cannot open %s", path);
	source->damage = (struct damage){ .name = source->name, .fate = "not sent" };
	/* Waits for the writer of a named pipe as it does for data: by polling. */
	source->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (source->fd < 0)
		return log_error_errno(errno, "cannot open %s", source->name);
	r = watch(source);
	if (r < 0)
		return log_error_errno(r, "cannot wait for %s", source->name);
	if (fstat(source->fd, &status) == 0 && S_ISREG(status.st_mode))
		source->size_bytes = (uint64_t)status.st_size;
	*ret_source = TAKE_PTR(source);
	return 0;
}

void file_source_free(struct file_source *source)
{
	if (!source)
		return;
	cleanup_fd(&source->fd);
	cleanup_fd(&source->event_fd);
	cleanup_fd(&source->timer_fd);
	free(source->buffer);
	free(source->name);
	free(source);
}

bool file_source_is_stream(const struct file_source *source)
{
	return source->event_fd >= 0;
}

/* A regular file always has data or its end to read. */
static bool has_input(const struct file_source *source)
{
	struct pollfd poll_fd = { .fd = source->fd, .events = POLLIN };

	return !file_source_is_stream(source) || poll(&poll_fd, 1, 0) > 0;
}

/* Reads until the buffer is full, the input ends, or a stream has no more for now. */
static int fill(struct file_source *source)
{
	while (!source->has_ended && source->buffer_bytes < BUFFER_BYTES && has_input(source)) {
		ssize_t got = read(source->fd, source->buffer + source->buffer_bytes,
				   BUFFER_BYTES - source->buffer_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EAGAIN)
			break;
		if (got < 0)
			return log_error_errno(errno, "cannot read %s", source->name);
		source->has_ended = got == 0;
		source->buffer_bytes += (size_t)got;
	}
	return 0;
}

static void forget_front(struct file_source *source, size_t size_bytes, uint64_t records)
{
	source->buffer_bytes -= size_bytes;
	memmove(source->buffer, source->buffer + size_bytes, source->buffer_bytes);
	source->offset_bytes += size_bytes;
	source->done_bytes += size_bytes;
	source->done_records += records;
}

/* Searches for the next record or check at offset at. After file_source_end() the bytes read so far
 * are the last ones. */
static int look(struct file_source *source, size_t at, size_t *ret_bytes)
{
	return checked_search(&source->checked, source->buffer + at, source->buffer_bytes - at,
			      source->has_ended || source->is_over, ret_bytes);
}

/* Skips bytes at the front that are not a record. 0: a record begins there; -EAGAIN: none does
 * before the buffer's end; -EBADMSG: the file is not a recording (logged). */
static int pass_over_damage(struct file_source *source)
{
	size_t front_bytes = 0, size_bytes;
	uint64_t offset;
	int r;

	for (;;) {
		r = look(source, front_bytes, &size_bytes);
		if (r == 0 || r == -EAGAIN)
			break;
		if (r < 0)
			damage_add(&source->damage, source->offset_bytes + front_bytes, size_bytes,
				   r,
				   r == -EILSEQ ? "damaged: these bytes do not check"
						: "damaged: no record begins here");
		checked_pass(&source->checked, size_bytes);
		front_bytes += size_bytes;
	}
	if (front_bytes)
		forget_front(source, front_bytes, 0);
	source->damaged_places = source->damage.places;
	source->damaged_bytes = source->damage.bytes;
	offset = source->offset_bytes;
	if (r == 0)
		source->has_records = true;
	if (!source->has_records && source->damage.bytes &&
	    (offset >= ENTRY_SEARCH_BYTES_MAX || (source->has_ended && r == -EAGAIN)))
		return log_error(EBADMSG, "%s: not a recording of correlator: nothing is sent",
				 source->name);
	return r;
}

/* Handles the end of the file. The rest of the buffer is empty, or an incomplete record. */
static int end_file(struct file_source *source)
{
	damage_finish(&source->damage);
	source->torn_bytes = source->buffer_bytes;
	source->unchecked_bytes = source->checked.loose_bytes;
	source->missing_records = source->skip_records;
	if (source->buffer_bytes)
		log_warning("%s: the last record, at byte %" PRIu64 ", is incomplete: not sent",
			    source->name, source->offset_bytes);
	source->is_exhausted = true;
	return -ENODATA;
}

/* Sets the next chunk, at the front of a buffer that begins with a record, and removes the checks
 * from it. Records to be skipped get chunks of their own, which find_chunk() drops. */
static void cut_chunk(struct file_source *source)
{
	size_t at = 0, size_bytes = 0, part_bytes;
	uint32_t entries = 0;
	int r;

	damage_end(&source->damage);
	while ((r = look(source, at, &part_bytes)) >= 0) {
		if (entries && size_bytes + part_bytes > BACKLOG_SEGMENT_BYTES)
			break;
		if (r != CHECKED_CHECK) {
			memmove(source->buffer + size_bytes, source->buffer + at, part_bytes);
			size_bytes += part_bytes;
			entries++;
		}
		checked_pass(&source->checked, part_bytes);
		at += part_bytes;
		if (r != CHECKED_CHECK && source->skip_records && --source->skip_records == 0)
			break;
	}
	source->chunk_bytes = size_bytes;
	source->chunk_span_bytes = at;
	source->chunk_entries = entries;
}

static void done(void *user)
{
	struct file_source *source = user;

	forget_front(source, source->chunk_span_bytes, source->chunk_entries);
	source->chunk_bytes = 0;
}

static void set_timer(struct file_source *source, uint64_t due_ns)
{
	struct itimerspec due = { .it_value = clock_timespec(due_ns) };

	source->due_ns = due_ns;
	if (file_source_is_stream(source))
		(void)timerfd_settime(source->timer_fd, TFD_TIMER_ABSTIME, &due, NULL);
}

/* True if the chunk at the front must wait for more of a stream: as long as one of a recording. */
static bool is_open(struct file_source *source)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (!file_source_is_stream(source) || source->has_ended || source->is_over ||
	    source->skip_records || source->buffer_bytes >= BACKLOG_SEGMENT_BYTES)
		return false;
	if (!source->due_ns)
		set_timer(source, now_ns + BACKLOG_SEAL_MS * NS_PER_MS);
	return now_ns < source->due_ns;
}

/* Brings a record to the front of the buffer. -EAGAIN: a stream has none yet; -ENODATA: the end; or
 * another -errno (logged). */
static int find_record(struct file_source *source)
{
	int r;

	for (;;) {
		/* Bytes read from a stream exist only here, so they are still sent. */
		if (source->is_over && !file_source_is_stream(source))
			return -ENODATA;
		r = source->is_over ? 0 : fill(source);
		if (r == 0)
			r = pass_over_damage(source);
		if (r != -EAGAIN)
			return r;
		if (source->has_ended)
			return end_file(source);
		if (source->is_over)
			return -ENODATA;
		if (!has_input(source))
			return -EAGAIN;
		/* The whole buffer was damaged, or more data has arrived. */
	}
}

static int find_chunk(struct file_source *source)
{
	bool is_skipped = true;
	int r;

	while (is_skipped) {
		r = find_record(source);
		if (r == 0 && is_open(source))
			r = -EAGAIN;
		if (r < 0)
			return r;
		set_timer(source, 0);
		is_skipped = source->skip_records > 0;
		cut_chunk(source);
		if (is_skipped)
			done(source);
	}
	r = chunk_id_draw(source->chunk_id);
	return r < 0 ? log_error_errno(r, "cannot make the identity of a chunk") : 0;
}

static int next(void *user, struct chunk *ret_chunk)
{
	struct file_source *source = user;
	int r = source->chunk_bytes ? 0 : find_chunk(source);

	if (r < 0)
		return r;
	ret_chunk->bytes = source->buffer;
	ret_chunk->size_bytes = source->chunk_bytes;
	ret_chunk->entries = source->chunk_entries;
	(void)strcpy(ret_chunk->id, source->chunk_id);
	return 0;
}

/* The entry stays in its file. */
static const char *reject(void *user, const void *entry, size_t entry_bytes)
{
	struct file_source *source = user;
	uint64_t number = source->done_records + 1;
	size_t part_bytes;

	for (size_t at = 0; source->buffer + at < (const uint8_t *)entry;
	     at += part_bytes, number++)
		if (entry_scan(source->buffer + at, source->chunk_bytes - at, &part_bytes) < 0)
			break;
	source->rejected_records++;
	log_warning("%s: record %" PRIu64 ", of %zu bytes, was not delivered", source->name, number,
		    entry_bytes);
	return "it stays in its file";
}

struct chunk_source file_source_chunks(struct file_source *source)
{
	return (struct chunk_source){
		.user = source,
		.next = next,
		.done = done,
		.reject = reject,
		.event_fd = source->event_fd,
	};
}

void file_source_end(struct file_source *source)
{
	source->is_over = true;
}

void file_source_get_status(const struct file_source *source, struct file_source_status *ret_status)
{
	*ret_status = (struct file_source_status){
		.done_records = source->done_records,
		.done_bytes = source->done_bytes,
		.size_bytes = source->size_bytes,
		.rejected_records = source->rejected_records,
		.damaged_places = source->damaged_places,
		.damaged_bytes = source->damaged_bytes,
		.torn_bytes = source->torn_bytes,
		.unchecked_bytes = source->unchecked_bytes,
		.missing_records = source->missing_records,
		.is_exhausted = source->is_exhausted,
	};
}
