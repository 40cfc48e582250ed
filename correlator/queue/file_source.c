/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue/file_source.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "queue/backlog.h"
#include "record/damage.h"
#include "record/entry_scan.h"

enum {
	/* A chunk, and what may follow it of an entry. */
	BUFFER_BYTES = BACKLOG_SEGMENT_BYTES + ENTRY_BYTES_MAX,
};

struct file_source {
	char *name;
	int fd;
	uint64_t size_bytes;
	uint64_t skip_records; /* still to be skipped */
	uint64_t offset_bytes; /* in the file, of buffer[0] */
	uint8_t *buffer;
	size_t buffer_bytes;
	size_t chunk_bytes; /* at the front of the buffer; 0 = none is out */
	uint32_t chunk_entries;
	char chunk_id[CHUNK_ID_BYTES];
	bool has_ended; /* read(2) gave the end */
	bool has_records; /* one was found */
	struct damage damage;
	atomic_bool is_over;
	atomic_bool is_exhausted;
	_Atomic uint64_t done_records, done_bytes, rejected_records;
	_Atomic uint64_t damaged_places, damaged_bytes; /* of damage */
};

int file_source_open(const char *path, uint64_t skip_records, struct file_source **ret_source)
{
	_cleanup_(file_source_freep) struct file_source *source = calloc(1, sizeof(*source));
	bool is_stdin = strcmp(path, "-") == 0;
	struct stat status;

	if (!source)
		return log_error_errno(ENOMEM, "cannot open %s", path);
	source->fd = -1;
	source->skip_records = skip_records;
	source->name = strdup(is_stdin ? "standard input" : path);
	source->buffer = malloc(BUFFER_BYTES);
	if (!source->name || !source->buffer)
		return log_error_errno(ENOMEM, "cannot open %s", path);
	source->damage = (struct damage){ .name = source->name, .fate = "not sent" };
	source->fd = is_stdin ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0)
			      : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (source->fd < 0)
		return log_error_errno(errno, "cannot open %s", source->name);
	if (fstat(source->fd, &status) == 0 && S_ISREG(status.st_mode))
		source->size_bytes = (uint64_t)status.st_size;
	*ret_source = TAKE_PTR(source);
	return 0;
}

void file_source_free(struct file_source *source)
{
	if (!source)
		return;
	if (source->fd >= 0)
		(void)close(source->fd);
	free(source->buffer);
	free(source->name);
	free(source);
}

/* Reads until the buffer is full, or the end. */
static int fill(struct file_source *source)
{
	while (!source->has_ended && source->buffer_bytes < BUFFER_BYTES) {
		ssize_t got = read(source->fd, source->buffer + source->buffer_bytes,
				   BUFFER_BYTES - source->buffer_bytes);

		if (got < 0 && errno == EINTR)
			continue;
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

/* Passes over what is no record at the front. 0: one begins there; -EAGAIN: none does before the
 * buffer's end; -EBADMSG: the file is something else (logged). */
static int pass_over_damage(struct file_source *source)
{
	size_t front_bytes = 0, size_bytes;
	uint64_t offset;
	int r;

	for (;;) {
		r = entry_search(source->buffer + front_bytes, source->buffer_bytes - front_bytes,
				 source->has_ended, &size_bytes);
		if (r == 0 || r == -EAGAIN)
			break;
		damage_add(&source->damage, source->offset_bytes + front_bytes, size_bytes, r,
			   "damaged: no record begins here");
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

/* The end of the file: nothing, or the beginning of a record. */
static int end_file(struct file_source *source)
{
	damage_finish(&source->damage);
	if (source->buffer_bytes)
		log_warning("%s: the last record, at byte %" PRIu64 ", is incomplete: not sent",
			    source->name, source->offset_bytes);
	source->is_exhausted = true;
	return -ENODATA;
}

/* Measures the next chunk at the front of a buffer that begins with a record; skipped entries are
 * none of it. */
static void cut_chunk(struct file_source *source)
{
	size_t size_bytes = 0, entry_bytes;
	uint32_t entries = 0;

	damage_end(&source->damage);
	while (!entry_search(source->buffer + size_bytes, source->buffer_bytes - size_bytes,
			     source->has_ended, &entry_bytes)) {
		if (entries && size_bytes + entry_bytes > BACKLOG_SEGMENT_BYTES)
			break;
		size_bytes += entry_bytes;
		entries++;
		if (source->skip_records && --source->skip_records == 0)
			break;
	}
	source->chunk_bytes = size_bytes;
	source->chunk_entries = entries;
}

static void done(void *user)
{
	struct file_source *source = user;

	forget_front(source, source->chunk_bytes, source->chunk_entries);
	source->chunk_bytes = 0;
}

static int find_chunk(struct file_source *source)
{
	bool is_skipped = true;
	int r;

	while (is_skipped) {
		r = source->is_over ? -ENODATA : fill(source);

		if (r == 0)
			r = pass_over_damage(source);
		if (r == -EAGAIN && source->has_ended)
			return end_file(source);
		/* All of the buffer was damaged. */
		if (r == -EAGAIN)
			continue;
		if (r < 0)
			return r;
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

/* It stays where it is, in the file. */
static void reject(void *user, const void *entry, size_t entry_bytes)
{
	struct file_source *source = user;
	uint64_t offset_bytes =
		source->offset_bytes + (uint64_t)((const uint8_t *)entry - source->buffer);

	source->rejected_records++;
	log_warning("%s: the record of %zu bytes at byte %" PRIu64 " was not delivered",
		    source->name, entry_bytes, offset_bytes);
}

struct chunk_source file_source_chunks(struct file_source *source)
{
	return (struct chunk_source){
		.user = source, .next = next, .done = done, .reject = reject, .event_fd = -1
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
		.is_exhausted = source->is_exhausted,
	};
}
