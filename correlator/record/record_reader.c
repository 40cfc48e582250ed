/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "record/checked_entries.h"
#include "record/damage.h"
#include "record/entry_scan.h"
#include "record/record_shape.h"

enum {
	READ_BYTES = 64 * 1024,
	END = 2, /* besides 0, 1 and -errno */
};

struct record_reader {
	int fd;
	bool owns_fd;
	bool at_end;
	bool truncated;
	char *name;
	uint64_t entry_count;
	uint64_t entry_offset; /* in the file, of the entry last returned */
	uint64_t next_offset; /* in the file, of buffer[begin] */
	struct damage damage;
	struct checked_entries entries;
	struct record_shapes shapes;
	size_t begin;
	size_t end;
	uint8_t *buffer;
	size_t buffer_bytes; /* for unchecked bytes or part of an entry, and one read */
};

void record_reader_free(struct record_reader *reader)
{
	if (!reader)
		return;
	if (reader->owns_fd)
		(void)close(reader->fd);
	free(reader->buffer);
	free(reader->name);
	free(reader);
}

int record_reader_open_fd(int fd, const char *name, struct record_reader **ret_reader)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = calloc(1, sizeof(*reader));

	if (reader)
		reader->name = strdup(name);
	if (!reader || !reader->name)
		return log_error_errno(ENOMEM, "cannot read %s", name);
	reader->fd = fd;
	reader->damage = (struct damage){ .name = reader->name, .fate = "passed over" };
	*ret_reader = TAKE_PTR(reader);
	return 0;
}

int record_reader_open(const char *path, struct record_reader **ret_reader)
{
	_cleanup_fd_ int fd = -1;
	int r;

	if (strcmp(path, "-") == 0)
		return record_reader_open_fd(STDIN_FILENO, "standard input", ret_reader);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0)
		return log_error_errno(errno, "cannot open %s", path);
	r = record_reader_open_fd(fd, path, ret_reader);
	if (r < 0)
		return r;
	(*ret_reader)->owns_fd = true;
	fd = -1;
	return 0;
}

const char *record_reader_name(const struct record_reader *reader)
{
	return reader->name;
}

uint64_t record_reader_entry_count(const struct record_reader *reader)
{
	return reader->entry_count;
}

uint64_t record_reader_offset(const struct record_reader *reader)
{
	return reader->next_offset;
}

bool record_reader_is_truncated(const struct record_reader *reader)
{
	return reader->truncated;
}

uint64_t record_reader_checks(const struct record_reader *reader)
{
	return reader->entries.checks;
}

void record_reader_get_damage(const struct record_reader *reader, uint64_t *ret_places,
			      uint64_t *ret_bytes)
{
	*ret_places = reader->damage.places;
	*ret_bytes = reader->damage.bytes;
}

static const char *explain(int error)
{
	if (error == -E2BIG)
		return "a record larger than any that correlator writes";
	if (error == -ELOOP)
		return "a record nested deeper than any that correlator writes";
	if (error == -EPROTONOSUPPORT)
		return "a record of another schema than 1: read it with a newer correlator";
	if (error == -EILSEQ)
		return "damaged: these bytes are not what was written, by their check";
	return "damaged: no record begins here";
}

void record_reader_drop(struct record_reader *reader, const char *what)
{
	reader->entry_count--;
	damage_add(&reader->damage, reader->entry_offset,
		   reader->next_offset - reader->entry_offset, -EBADMSG, what);
}

/* No record of the file could be read: reports what was wrong first. */
static int reject_file(const struct record_reader *reader)
{
	const struct damage *damage = &reader->damage;
	bool is_other = damage->error == -EBADMSG && damage->offset == 0;

	return log_error(damage->error, "%s: byte %" PRIu64 ": %s", reader->name, damage->offset,
			 is_other ? "not a recording of correlator" : damage->what);
}

/* Makes room for one more read after the remaining bytes. */
static int make_room(struct record_reader *reader)
{
	size_t left_bytes = reader->end - reader->begin;
	size_t wanted_bytes = 2 * left_bytes + READ_BYTES;
	uint8_t *buffer;

	if (reader->begin > 0)
		memmove(reader->buffer, reader->buffer + reader->begin, left_bytes);
	reader->begin = 0;
	reader->end = left_bytes;
	if (reader->buffer_bytes >= left_bytes + READ_BYTES)
		return 0;
	buffer = realloc(reader->buffer, wanted_bytes);
	if (!buffer)
		return log_error_errno(ENOMEM, "cannot read %s", reader->name);
	reader->buffer = buffer;
	reader->buffer_bytes = wanted_bytes;
	return 0;
}

static int read_once(struct record_reader *reader)
{
	ssize_t got;

	do
		got = read(reader->fd, reader->buffer + reader->end, READ_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno == EAGAIN)
		return -EAGAIN;
	if (got < 0)
		return log_error_errno(errno, "cannot read %s", reader->name);
	reader->at_end = got == 0;
	reader->end += (size_t)got;
	return 0;
}

static int fill(struct record_reader *reader)
{
	int r = make_room(reader);

	return r == 0 ? read_once(reader) : r;
}

static int finish(struct record_reader *reader)
{
	if (reader->entry_count == 0 && reader->damage.places > 0)
		return reject_file(reader);
	damage_finish(&reader->damage);
	if (reader->entries.loose_bytes)
		log_warning("%s: no check covers %" PRIu64 " bytes: a recording was cut off there, "
			    "or is damaged",
			    reader->name, reader->entries.loose_bytes);
	reader->truncated = reader->entries.loose_bytes > 0;
	if (reader->begin == reader->end)
		return 0;
	reader->truncated = true;
	log_warning("%s: truncated after %" PRIu64 " entries at byte %" PRIu64
		    "; the last, incomplete entry is left out",
		    reader->name, reader->entry_count, reader->next_offset);
	return 0;
}

static void pass(struct record_reader *reader, size_t size_bytes)
{
	reader->entry_offset = reader->next_offset;
	reader->begin += size_bytes;
	reader->next_offset += size_bytes;
	checked_pass(&reader->entries, size_bytes);
}

static int take(struct record_reader *reader, const struct record_view *view)
{
	pass(reader, view->entry_bytes);
	damage_end(&reader->damage);
	reader->entry_count++;
	return 1;
}

/* Returns 0, or -errno, logged: nothing could be read in the first ENTRY_SEARCH_BYTES_MAX. */
static int pass_over(struct record_reader *reader, size_t size_bytes, int error)
{
	pass(reader, size_bytes);
	damage_add(&reader->damage, reader->entry_offset, size_bytes, error, explain(error));
	return reader->entry_count > 0 || reader->next_offset < ENTRY_SEARCH_BYTES_MAX
		       ? 0
		       : reject_file(reader);
}

/* Returns 1: a record; 0: bytes were skipped, or more were read; END; -errno. */
static int search(struct record_reader *reader, struct record_view *ret_view)
{
	const uint8_t *front = reader->buffer + reader->begin;
	size_t size_bytes = 0;
	int r = checked_search(&reader->entries, front, reader->end - reader->begin, reader->at_end,
			       &size_bytes);

	if (r == -EAGAIN)
		return reader->at_end ? END : fill(reader);
	if (r == CHECKED_CHECK) {
		pass(reader, size_bytes);
		return 0;
	}
	if (r == 0)
		r = record_view_decode(front, size_bytes, ret_view);
	return r == 0 ? take(reader, ret_view) : pass_over(reader, size_bytes, r);
}

/* Nearly always the front is a record that ends nearby: one pass over its bytes is enough. */
static bool is_record(struct record_reader *reader, struct record_view *ret_view)
{
	const uint8_t *front = reader->buffer + reader->begin;
	size_t known_bytes = checked_reach(&reader->entries);
	size_t left_bytes = reader->end - reader->begin;
	size_t reach_bytes =
		entry_reach(front, known_bytes < left_bytes ? known_bytes : left_bytes);

	return record_view_decode_next(front, reach_bytes, &reader->shapes, ret_view) == 0;
}

int record_reader_next(struct record_reader *reader, struct record_view *ret_view)
{
	int r = 0;

	while (r == 0) {
		/* The buffer may still be NULL: no pointer arithmetic on it. */
		if (reader->begin == reader->end)
			r = reader->at_end ? END : fill(reader);
		else if (is_record(reader, ret_view))
			r = take(reader, ret_view);
		else
			r = search(reader, ret_view);
	}
	return r == END ? finish(reader) : r;
}
