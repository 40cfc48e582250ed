/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_bytes.h"
#include "record/check.h"
#include "recorder/queue/segment.h"

struct spill {
	struct store store;
	int fd;
	uint64_t end_bytes; /* only grows: a removed segment becomes a hole */
};

/* Called only for a sealed segment, which is written completely or not at all. */
static int spill_write(struct store *store, struct segment *segment, const uint8_t *bytes,
		       size_t size_bytes)
{
	struct spill *spill = (struct spill *)store;
	uint8_t check[CHECK_BYTES];
	struct iovec parts[] = {
		{ (uint8_t *)(uintptr_t)bytes, size_bytes },
		{ check, sizeof(check) },
	};
	int r;

	check_write(bytes, size_bytes, bytes, check);
	segment->offset = spill->end_bytes;
	r = file_bytes_write_parts(spill->fd, parts, 2, segment->offset);
	if (r < 0)
		return r;
	segment->is_checked = true;
	segment->written_bytes = size_bytes;
	segment->stored_bytes = size_bytes + sizeof(check);
	spill->end_bytes += segment->stored_bytes;
	return 0;
}

/* The file lives only as long as the process: the page cache will do. */
static int spill_seal(struct store *store, struct segment *segment)
{
	(void)store;
	(void)segment;
	return 0;
}

static int spill_read(struct store *store, const struct segment *segment, uint8_t *ret_bytes)
{
	const struct spill *spill = (const struct spill *)store;

	return file_bytes_read(spill->fd, ret_bytes, segment->stored_bytes, segment->offset);
}

/* If punching the hole fails, only disk space is lost. */
static int spill_remove(struct store *store, struct segment *segment)
{
	const struct spill *spill = (const struct spill *)store;

	if (segment->stored_bytes)
		(void)fallocate(spill->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				(off_t)segment->offset, (off_t)segment->stored_bytes);
	return 0;
}

static int spill_reject(struct store *store, const uint8_t *entry, size_t entry_bytes)
{
	(void)store;
	(void)entry;
	(void)entry_bytes;
	return -EOPNOTSUPP;
}

static uint64_t spill_room(struct store *store)
{
	return file_bytes_room(((struct spill *)store)->fd);
}

static void spill_free(struct store *store)
{
	struct spill *spill = (struct spill *)store;

	(void)close(spill->fd);
	free(spill);
}

static const struct store_type spill_type = {
	.is_durable = false,
	.write = spill_write,
	.seal = spill_seal,
	.read = spill_read,
	.remove = spill_remove,
	.reject = spill_reject,
	.room = spill_room,
	.free = spill_free,
};

int spill_open(struct store **ret_store)
{
	const char *folder = getenv("TMPDIR");
	_cleanup_free_ struct spill *spill = calloc(1, sizeof(*spill));

	if (!spill)
		return -ENOMEM;
	if (!folder || !folder[0])
		folder = "/var/tmp";
	spill->store = (struct store){ .type = &spill_type, .name = "a file without a name" };
	spill->fd = open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
	if (spill->fd < 0)
		return -errno;
	*ret_store = &TAKE_PTR(spill)->store;
	return 0;
}
