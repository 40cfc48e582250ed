#include "queue/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_bytes.h"
#include "base/log.h"
#include "queue/spool_internal.h"

static int make_folder(const char *path)
{
	_cleanup_free_ char *parent = NULL;
	_cleanup_fd_ int fd = -1;
	char *slash;

	if (mkdir(path, 0700))
		return errno == EEXIST ? 0 : -errno;
	/* Or the new directory may be gone after a power loss, with all that is in it. */
	parent = strdup(path);
	if (!parent)
		return -ENOMEM;
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent] = '\0';
	fd = open(slash ? parent : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 || fsync(fd) ? -errno : 0;
}

/* Records are about a user's customers: nobody else may read or plant them. */
static int check_folder(int fd, const char *path)
{
	struct stat status;

	if (fstat(fd, &status))
		return log_error_errno(errno, "cannot look at the spool %s", path);
	if (status.st_uid != geteuid())
		return log_error(EPERM, "spool %s: it belongs to user %u; give a directory of ours",
				 path, status.st_uid);
	if (status.st_mode & 077)
		return log_error(EPERM, "spool %s: others may enter it; chmod 700 it", path);
	return 0;
}

static int lock_folder(struct spool *spool)
{
	spool->lock_fd = openat(spool->fd, "lock", O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (spool->lock_fd < 0)
		return log_error_errno(errno, "cannot open %s/lock", spool->store.name);
	if (!flock(spool->lock_fd, LOCK_EX | LOCK_NB))
		return 0;
	if (errno == EWOULDBLOCK)
		return log_error(EWOULDBLOCK,
				 "spool %s: another correlator is using it; each needs its own",
				 spool->store.name);
	return log_error_errno(errno, "cannot lock %s/lock", spool->store.name);
}

int spool_open(const char *path, struct store **ret_store)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int r;

	if (!spool)
		return -ENOMEM;
	spool->fd = spool->lock_fd = -1;
	spool->store = (struct store){ &spool_type, strdup(path) };
	r = spool->store.name ? make_folder(path) : -ENOMEM;
	if (!r) {
		spool->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		r = spool->fd < 0 ? -errno : 0;
	}
	if (r)
		(void)log_error_errno(r, "cannot use the spool %s", path);
	if (!r)
		r = check_folder(spool->fd, path);
	if (!r)
		r = lock_folder(spool);
	if (r) {
		spool_type.free(&spool->store);
		return r;
	}
	*ret_store = &spool->store;
	return 0;
}

static void spool_free(struct store *store)
{
	struct spool *spool = (struct spool *)store;

	if (spool->fd >= 0)
		(void)close(spool->fd);
	if (spool->lock_fd >= 0)
		(void)close(spool->lock_fd);
	free((char *)spool->store.name);
	free(spool);
}

static int spool_write(struct store *store, struct segment *segment, const uint8_t *bytes,
		       size_t size_bytes)
{
	struct spool *spool = (struct spool *)store;
	char name[SPOOL_NAME_BYTES];
	int r;

	if (segment->fd < 0) {
		segment->number = ++spool->last_number;
		spool_name_open(segment, name);
		segment->fd = openat(spool->fd, name,
				     O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (segment->fd < 0)
			return -errno;
	}
	r = file_bytes_write(segment->fd, bytes, size_bytes, segment->written_bytes);
	if (!r)
		segment->written_bytes += size_bytes;
	return r;
}

static int spool_seal(struct store *store, struct segment *segment)
{
	struct spool *spool = (struct spool *)store;
	char from[SPOOL_NAME_BYTES], to[SPOOL_NAME_BYTES];

	spool_name_open(segment, from);
	spool_name_sealed(segment, to);
	/* What a failed write left behind the last whole one. */
	if (ftruncate(segment->fd, (off_t)segment->written_bytes) || fsync(segment->fd) ||
	    renameat(spool->fd, from, spool->fd, to) || fsync(spool->fd))
		return -errno;
	(void)close(TAKE_FD(segment->fd));
	return 0;
}

static int spool_read(struct store *store, const struct segment *segment, uint8_t *ret_bytes)
{
	const struct spool *spool = (const struct spool *)store;
	char name[SPOOL_NAME_BYTES];
	_cleanup_fd_ int fd = -1;

	spool_name_sealed(segment, name);
	fd = openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	return file_bytes_read(fd, ret_bytes, segment->size_bytes, 0);
}

/* It may have been on its way from one name to the other. A removal that a power loss undoes sends
 * the segment again, under the same id. */
static void spool_remove(struct store *store, struct segment *segment)
{
	const struct spool *spool = (const struct spool *)store;
	char name[SPOOL_NAME_BYTES];

	if (!segment->number)
		return;
	spool_name_sealed(segment, name);
	(void)unlinkat(spool->fd, name, 0);
	if (segment->is_kept)
		return;
	spool_name_open(segment, name);
	(void)unlinkat(spool->fd, name, 0);
}

static int spool_reject(struct store *store, const uint8_t *entry, size_t entry_bytes)
{
	const struct spool *spool = (const struct spool *)store;
	_cleanup_fd_ int folder_fd = -1, fd = -1;
	struct stat status;
	int r;

	if (mkdirat(spool->fd, "rejected", 0700) && errno != EEXIST)
		return -errno;
	folder_fd = openat(spool->fd, "rejected", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder_fd < 0)
		return -errno;
	fd = openat(folder_fd, "rejected.msgpack", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size + entry_bytes > SPOOL_REJECTED_BYTES_MAX)
		return -EFBIG;
	r = file_bytes_write(fd, entry, entry_bytes, (uint64_t)status.st_size);
	if (r)
		(void)ftruncate(fd, status.st_size);
	else if (fsync(fd) || fsync(folder_fd) || fsync(spool->fd))
		r = -errno;
	return r;
}

static uint64_t spool_room(struct store *store)
{
	return file_bytes_room(((struct spool *)store)->fd);
}

const struct store_type spool_type = {
	.is_durable = true,
	.write = spool_write,
	.seal = spool_seal,
	.read = spool_read,
	.remove = spool_remove,
	.reject = spool_reject,
	.room = spool_room,
	.free = spool_free,
};
