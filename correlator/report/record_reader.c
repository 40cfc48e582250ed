#include "report/record_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/entry_scan.h"
#include "base/log.h"

enum {
	READ_BYTES = 64 * 1024
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
	size_t begin;
	size_t end;
	uint8_t *buffer;
	size_t buffer_bytes; /* at most about 2 * ENTRY_BYTES_MAX: an entry's rest, and a read */
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

int record_reader_open(const char *path, struct record_reader **ret_reader)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = calloc(1, sizeof(*reader));
	bool is_stdin = strcmp(path, "-") == 0;

	if (!reader)
		return log_error_errno(ENOMEM, "cannot read %s", path);
	reader->name = strdup(is_stdin ? "standard input" : path);
	if (!reader->name)
		return log_error_errno(ENOMEM, "cannot read %s", path);
	reader->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (reader->fd < 0)
		return log_error_errno(errno, "cannot open %s", path);
	reader->owns_fd = !is_stdin;
	*ret_reader = TAKE_PTR(reader);
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

bool record_reader_is_truncated(const struct record_reader *reader)
{
	return reader->truncated;
}

int record_reader_reject(const struct record_reader *reader, const char *what)
{
	return log_error(EBADMSG, "%s: byte %" PRIu64 ": %s", reader->name, reader->entry_offset,
			 what);
}

static int reject_entry(const struct record_reader *reader, int error)
{
	const char *what = strerror(-error);

	if (error == -EBADMSG)
		what = reader->entry_count == 0 ? "not a recording of correlator"
						: "damaged: no record begins here";
	else if (error == -E2BIG)
		what = "refused: a record larger than any that correlator writes";
	else if (error == -ELOOP)
		what = "refused: a record nested deeper than any that correlator writes";
	else if (error == -EPROTONOSUPPORT)
		what = "a record of another schema than 1: read it with a newer correlator";
	(void)record_reader_reject(reader, what);
	return error;
}

/* Room for one more read behind what is left of an entry, which is below ENTRY_BYTES_MAX. */
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

/* Reads once. */
static int fill(struct record_reader *reader)
{
	ssize_t got;
	int r = make_room(reader);

	if (r < 0)
		return r;
	do
		got = read(reader->fd, reader->buffer + reader->end, READ_BYTES);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return log_error_errno(errno, "cannot read %s", reader->name);
	reader->at_end = got == 0;
	reader->end += (size_t)got;
	return 0;
}

static int finish(struct record_reader *reader)
{
	if (reader->begin == reader->end)
		return 0;
	reader->truncated = true;
	log_warning("%s: truncated after %" PRIu64 " entries at byte %" PRIu64
		    "; the last, incomplete entry is left out",
		    reader->name, reader->entry_count, reader->next_offset);
	return 0;
}

static int take_entry(struct record_reader *reader, size_t entry_bytes,
		      struct record_view *ret_view)
{
	int r = record_view_decode(reader->buffer + reader->begin, entry_bytes, ret_view);

	if (r < 0)
		return reject_entry(reader, r);
	reader->begin += entry_bytes;
	reader->next_offset += entry_bytes;
	reader->entry_count++;
	return 1;
}

int record_reader_next(struct record_reader *reader, struct record_view *ret_view)
{
	for (;;) {
		size_t left_bytes = reader->end - reader->begin;
		size_t entry_bytes;
		int r = -EAGAIN;

		reader->entry_offset = reader->next_offset;
		if (left_bytes > 0)
			r = entry_scan(reader->buffer + reader->begin, left_bytes, &entry_bytes);
		if (r == 0)
			return take_entry(reader, entry_bytes, ret_view);
		if (r != -EAGAIN)
			return reject_entry(reader, r);
		if (reader->at_end)
			return finish(reader);
		r = fill(reader);
		if (r < 0)
			return r;
	}
}
