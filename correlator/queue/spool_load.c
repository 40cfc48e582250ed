/* What an earlier process left in a spool: names, and segments that were cut off. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utlist.h>

#include "base/file_bytes.h"
#include "base/log.h"
#include "base/text.h"
#include "queue/spool_internal.h"

enum {
	ID_DIGITS = 2 * CHUNK_ID_RANDOM_BYTES,
	/* No segment of ours is larger, whatever the options were. */
	FILE_BYTES_MAX = 16 * 1024 * 1024,
};

void spool_name_open(const struct segment *segment, char ret_name[static SPOOL_NAME_BYTES])
{
	char digits[ID_DIGITS + 1];

	text_hex(segment->random, CHUNK_ID_RANDOM_BYTES, digits);
	(void)snprintf(ret_name, SPOOL_NAME_BYTES, "%016" PRIu64 "-%s.open", segment->number,
		       digits);
}

void spool_name_sealed(const struct segment *segment, char ret_name[static SPOOL_NAME_BYTES])
{
	char digits[ID_DIGITS + 1];

	text_hex(segment->random, CHUNK_ID_RANDOM_BYTES, digits);
	(void)snprintf(ret_name, SPOOL_NAME_BYTES,
		       "%016" PRIu64 "-%s-%" PRIu32 "-%" PRIu64 "-%" PRIu64 ".chunk",
		       segment->number, digits, segment->entries, segment->first_ns,
		       segment->last_ns);
}

/* The reverse: false if it is not a name that one of the above makes. */
static bool parse_name(const char *name, struct segment *segment)
{
	char made[SPOOL_NAME_BYTES];
	int at = 0;

	if (sscanf(name, "%" SCNu64 "-%n", &segment->number, &at) != 1 || !at)
		return false;
	for (size_t i = 0; i < CHUNK_ID_RANDOM_BYTES; i++, at += 2)
		if (sscanf(name + at, "%2hhx", &segment->random[i]) != 1)
			return false;
	segment->is_sealed = sscanf(name + at, "-%" SCNu32 "-%" SCNu64 "-%" SCNu64,
				    &segment->entries, &segment->first_ns, &segment->last_ns) == 3;
	if (segment->is_sealed)
		spool_name_sealed(segment, made);
	else
		spool_name_open(segment, made);
	return strcmp(name, made) == 0;
}

/* Seals the whole entries of a segment that its writer did not end. -ENODATA: there are none. */
static int salvage(struct spool *spool, struct segment *segment, size_t size_bytes)
{
	_cleanup_free_ uint8_t *bytes = malloc(size_bytes);
	int r;

	if (!bytes)
		return -ENOMEM;
	r = file_bytes_read(segment->fd, bytes, size_bytes, 0);
	if (r < 0)
		return r;
	segment_salvage(segment, bytes, size_bytes);
	if (!segment->entries)
		return -ENODATA;
	segment->written_bytes = segment->size_bytes;
	r = spool_type.seal(&spool->store, segment);
	if (!r)
		log_warning("spool %s: salvaged %" PRIu32 " records of a segment that was cut off, "
			    "%zu bytes of a torn one are lost",
			    spool->store.name, segment->entries, size_bytes - segment->size_bytes);
	return r;
}

static int load_file(struct spool *spool, const char *name, struct segment *segment)
{
	struct stat status;
	int r = 0;

	segment->fd = openat(spool->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	if (segment->fd < 0 || fstat(segment->fd, &status))
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	segment->size_bytes = (size_t)status.st_size;
	if (!segment->is_sealed)
		r = segment->size_bytes ? salvage(spool, segment, segment->size_bytes) : -ENODATA;
	if (segment->fd >= 0)
		(void)close(TAKE_FD(segment->fd));
	return r;
}

/* A segment for a name; *ret_segment NULL: not one of ours, or nothing in it. */
static int load_name(struct spool *spool, const char *name, struct segment **ret_segment)
{
	_cleanup_(segment_freep) struct segment *segment = NULL;
	int r = segment_new(0, &segment);

	*ret_segment = NULL;
	if (r)
		return r;
	if (!parse_name(name, segment))
		return 0;
	r = load_file(spool, name, segment);
	if (r == -ENODATA) {
		(void)unlinkat(spool->fd, name, 0);
		return 0;
	}
	if (r) {
		log_warning("spool %s: left alone what cannot be used, %s: %s", spool->store.name,
			    name, strerror(-r));
		return 0;
	}
	segment->is_sealed = segment->is_kept = true;
	segment->written_bytes = segment->size_bytes;
	*ret_segment = TAKE_PTR(segment);
	return 0;
}

static int by_age(const struct segment *a, const struct segment *b)
{
	return (a->number > b->number) - (a->number < b->number);
}

int spool_load(struct store *store, struct segment **segments)
{
	struct spool *spool = (struct spool *)store;
	struct dirent **names = NULL;
	struct segment *segment;
	int count = scandirat(spool->fd, ".", &names, NULL, alphasort);
	int r = 0;

	if (count < 0)
		return log_error_errno(errno, "cannot list the spool %s", store->name);
	for (int i = 0; i < count; i++) {
		if (!r) {
			r = load_name(spool, names[i]->d_name, &segment);
			if (!r && segment)
				DL_APPEND(*segments, segment);
		}
		free(names[i]);
	}
	free(names);
	DL_SORT(*segments, by_age);
	if (*segments)
		spool->last_number = (*segments)->prev->number;
	return r;
}
