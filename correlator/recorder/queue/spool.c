/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "base/file_bytes.h"
#include "base/log.h"
#include "base/text.h"
#include "record/check.h"

enum {
	NAME_BYTES = 128,
	ID_DIGITS = 2 * CHUNK_ID_RANDOM_BYTES,
	/* No segment of ours is larger, whatever the options were. */
	FILE_BYTES_MAX = 16 * 1024 * 1024,
	REJECTED_BYTES_MAX = 16 * 1024 * 1024, /* entries rejected beyond it are only counted */
	DAMAGED_BYTES_MAX = 64 * 1024 * 1024, /* damaged segments beyond it stay in place */
};

/* With more digits, names would no longer sort by number. */
#define NUMBER_MAX UINT64_C(9999999999999999)

struct spool {
	struct store store;
	int fd; /* the directory */
	int lock_fd;
	uint64_t last_number; /* highest segment number so far, also of earlier processes */
};

static void name_open(const struct segment *segment, char ret_name[static NAME_BYTES])
{
	char digits[ID_DIGITS + 1];

	text_hex(segment->random, CHUNK_ID_RANDOM_BYTES, digits);
	(void)snprintf(ret_name, NAME_BYTES, "%016" PRIu64 "-%s.%s", segment->number, digits,
		       segment->is_checked ? "part" : "open");
}

static void name_sealed(const struct segment *segment, char ret_name[static NAME_BYTES])
{
	char digits[ID_DIGITS + 1];

	text_hex(segment->random, CHUNK_ID_RANDOM_BYTES, digits);
	(void)snprintf(ret_name, NAME_BYTES,
		       "%016" PRIu64 "-%s-%" PRIu32 "-%" PRIu64 "-%" PRIu64 ".%s", segment->number,
		       digits, segment->entries, segment->first_ns, segment->last_ns,
		       segment->is_checked ? "chunks" : "chunk");
}

/* The reverse. False if neither of the above makes such a name. */
static bool parse_name(const char *name, struct segment *segment)
{
	char digits[ID_DIGITS + 1] = "", made[NAME_BYTES];
	int fields = sscanf(name, "%" SCNu64 "-%32[0-9a-f]-%" SCNu32 "-%" SCNu64 "-%" SCNu64,
			    &segment->number, digits, &segment->entries, &segment->first_ns,
			    &segment->last_ns);

	if (segment->number > NUMBER_MAX)
		return false;
	for (size_t i = 0; i < CHUNK_ID_RANDOM_BYTES; i++)
		if (sscanf(digits + 2 * i, "%2hhx", &segment->random[i]) != 1)
			return false;
	segment->is_sealed = fields == 5;
	for (int is_checked = 0; is_checked <= 1; is_checked++) {
		segment->is_checked = is_checked;
		if (segment->is_sealed)
			name_sealed(segment, made);
		else
			name_open(segment, made);
		if (strcmp(name, made) == 0)
			return true;
	}
	return false;
}

static void spool_free(struct store *store)
{
	struct spool *spool = (struct spool *)store;

	cleanup_fd(&spool->fd);
	cleanup_fd(&spool->lock_fd);
	free((char *)spool->store.name);
	free(spool);
}

/* Removes the file by both names, because its rename may not have completed. 0, or -errno: one is
 * still there. */
static int remove_files(const struct spool *spool, const struct segment *segment)
{
	char name[NAME_BYTES];
	int r = 0;

	name_sealed(segment, name);
	if (unlinkat(spool->fd, name, 0) && errno != ENOENT)
		r = -errno;
	name_open(segment, name);
	if (unlinkat(spool->fd, name, 0) && errno != ENOENT)
		r = -errno;
	return r;
}

/* A segment that is written again keeps its number, and so its place in the order. */
static int make_file(struct spool *spool, struct segment *segment)
{
	char name[NAME_BYTES];
	int r = segment->number ? remove_files(spool, segment) : 0;

	if (r < 0)
		return r;
	if (!segment->number)
		segment->number = ++spool->last_number;
	segment->is_checked = true;
	name_open(segment, name);
	segment->fd =
		openat(spool->fd, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	return segment->fd < 0 ? -errno : 0;
}

static int spool_write(struct store *store, struct segment *segment, const uint8_t *bytes,
		       size_t size_bytes)
{
	struct spool *spool = (struct spool *)store;
	uint8_t first[CHECK_BYTES], check[CHECK_BYTES];
	const size_t first_bytes = segment->stored_bytes ? 0 : sizeof(first);
	struct iovec parts[] = {
		{ first, first_bytes },
		{ (uint8_t *)(uintptr_t)bytes, size_bytes },
		{ check, sizeof(check) },
	};
	int r = segment->fd < 0 ? make_file(spool, segment) : 0;

	if (r < 0 || !size_bytes)
		return r;
	if (first_bytes)
		check_write(NULL, 0, bytes, first);
	check_write(bytes, size_bytes, bytes, check);
	r = file_bytes_write_parts(segment->fd, parts, 3, segment->stored_bytes);
	if (r < 0)
		return r;
	segment->written_bytes += size_bytes;
	segment->stored_bytes += first_bytes + size_bytes + sizeof(check);
	return 0;
}

/* Turns the open file into a sealed one. 0, or -errno; *ret_is_lost: a sync failed, and the bytes
 * that it was to write may be gone. */
static int seal_file(const struct spool *spool, const struct segment *segment, bool *ret_is_lost)
{
	char from[NAME_BYTES], to[NAME_BYTES];

	*ret_is_lost = false;
	name_open(segment, from);
	name_sealed(segment, to);
	/* Cuts off what a failed write left behind the last complete one. */
	if (ftruncate(segment->fd, (off_t)segment->stored_bytes))
		return -errno;
	*ret_is_lost = fsync(segment->fd) != 0;
	if (*ret_is_lost)
		return -errno;
	if (renameat(spool->fd, from, spool->fd, to))
		return -errno;
	*ret_is_lost = fsync(spool->fd) != 0;
	return *ret_is_lost ? -errno : 0;
}

/* The name of a kept segment's file. */
static void name_kept(const struct segment *segment, char ret_name[static NAME_BYTES])
{
	if (segment->is_cut_off)
		name_open(segment, ret_name);
	else
		name_sealed(segment, ret_name);
}

/*
 * When a sync fails, the kernel discards what it could not write, and a later sync does not report
 * it (fsync(2)): the whole segment must be written again, to a new file.
 */
static int spool_seal(struct store *store, struct segment *segment)
{
	struct spool *spool = (struct spool *)store;
	bool is_lost;
	int r = seal_file(spool, segment, &is_lost);

	if (r < 0 && !is_lost)
		return r;
	(void)close(TAKE_FD(segment->fd));
	if (r == 0)
		return 0;
	/* If this fails, make_file() removes the file before it makes another. */
	(void)remove_files(spool, segment);
	segment->written_bytes = segment->stored_bytes = 0;
	return r;
}

static int spool_read(struct store *store, const struct segment *segment, uint8_t *ret_bytes)
{
	const struct spool *spool = (const struct spool *)store;
	char name[NAME_BYTES];
	_cleanup_fd_ int fd = -1;

	name_kept(segment, name);
	fd = openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	/* A link that somebody put in its place is not followed. */
	if (fd < 0)
		return errno == ELOOP ? -ENOENT : -errno;
	return file_bytes_read(fd, ret_bytes, segment->stored_bytes, 0);
}

/* Opens a folder in the spool, and makes it if it does not exist: its fd, or -errno. */
static int open_inner(const struct spool *spool, const char *name)
{
	int fd;

	if (mkdirat(spool->fd, name, 0700) && errno != EEXIST)
		return -errno;
	fd = openat(spool->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* The size of all files in a folder. */
static uint64_t folder_bytes(int folder_fd)
{
	struct dirent **names = NULL;
	int count = scandirat(folder_fd, ".", &names, NULL, NULL);
	uint64_t bytes = 0;
	struct stat status;

	for (int i = 0; i < count; i++) {
		if (fstatat(folder_fd, names[i]->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(status.st_mode))
			bytes += (uint64_t)status.st_size;
		free(names[i]);
	}
	free(names);
	return bytes;
}

/* Moves a file to damaged/. 0, or -errno: it stays in place. */
static int set_aside(const struct spool *spool, const char *name, size_t size_bytes)
{
	_cleanup_fd_ int folder_fd = open_inner(spool, "damaged");

	if (folder_fd < 0)
		return folder_fd;
	if (folder_bytes(folder_fd) + size_bytes > DAMAGED_BYTES_MAX)
		return -EFBIG;
	return renameat(spool->fd, name, folder_fd, name) ? -errno : 0;
}

/* If a power loss undoes a removal, the segment is sent again, under the same id. */
static int spool_remove(struct store *store, struct segment *segment)
{
	const struct spool *spool = (const struct spool *)store;
	char name[NAME_BYTES];
	int r;

	if (!segment->number)
		return 0;
	if (!segment->is_damaged)
		return remove_files(spool, segment);
	name_kept(segment, name);
	r = set_aside(spool, name, segment->stored_bytes);
	if (r < 0 && r != -ENOENT)
		log_warning("%s: cannot set aside %s, it stays where it is: %s", spool->store.name,
			    name, strerror(-r));
	return 0;
}

static int spool_reject(struct store *store, const uint8_t *entry, size_t entry_bytes)
{
	const struct spool *spool = (const struct spool *)store;
	_cleanup_fd_ int folder_fd = -1, fd = -1;
	struct stat status;
	int r;

	folder_fd = open_inner(spool, "rejected");
	if (folder_fd < 0)
		return folder_fd;
	fd = openat(folder_fd, "rejected.msgpack", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
		    0600);
	if (fd < 0 || fstat(fd, &status))
		return -errno;
	if ((uint64_t)status.st_size + entry_bytes > REJECTED_BYTES_MAX)
		return -EFBIG;
	r = file_bytes_write(fd, entry, entry_bytes, (uint64_t)status.st_size);
	if (r < 0)
		(void)ftruncate(fd, status.st_size);
	else if (fsync(fd) || fsync(folder_fd) || fsync(spool->fd))
		r = -errno;
	return r;
}

static uint64_t spool_room(struct store *store)
{
	return file_bytes_room(((struct spool *)store)->fd);
}

static const struct store_type spool_type = {
	.is_durable = true,
	.write = spool_write,
	.seal = spool_seal,
	.read = spool_read,
	.remove = spool_remove,
	.reject = spool_reject,
	.room = spool_room,
	.free = spool_free,
};

/* Otherwise a power loss may remove a new directory with everything in it. */
static int sync_parent(int fd)
{
	_cleanup_fd_ int parent_fd = openat(fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return parent_fd < 0 || fsync(parent_fd) ? -errno : 0;
}

static int make_folder(struct spool *spool, const char *path)
{
	bool is_new = mkdir(path, 0700) == 0;

	if (!is_new && errno != EEXIST)
		return -errno;
	spool->fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (spool->fd < 0)
		return -errno;
	return is_new ? sync_parent(spool->fd) : 0;
}

/* Records are about a user's customers: nobody else may read or plant them. */
static int check_folder(int fd, const char *path)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
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
	/* The folder may be read-only for us. */
	if (spool->lock_fd < 0 && (errno == EROFS || errno == EACCES || errno == EPERM))
		spool->lock_fd = openat(spool->fd, "lock", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (spool->lock_fd < 0)
		return log_error_errno(errno, "cannot open %s/lock", spool->store.name);
	if (flock(spool->lock_fd, LOCK_EX | LOCK_NB) == 0)
		return 0;
	if (errno == EWOULDBLOCK)
		return log_error(EWOULDBLOCK,
				 "spool %s: another correlator is using it; each needs its own",
				 spool->store.name);
	return log_error_errno(errno, "cannot lock %s/lock", spool->store.name);
}

/*
 * Counts the whole entries of a segment that its writer did not finish, and seals it up to the last
 * one; damage before that is found when the segment is read. In a folder that can be read but not
 * written, the file keeps its name. -ENODATA: there is no whole entry.
 */
static int salvage(struct spool *spool, struct segment *segment, int fd)
{
	size_t size_bytes = segment->size_bytes;
	_cleanup_free_ uint8_t *bytes = malloc(size_bytes);
	struct segment_salvage salvage;
	char name[NAME_BYTES];
	bool is_lost;
	int r;

	if (!bytes)
		return -ENOMEM;
	r = file_bytes_read(fd, bytes, size_bytes, 0);
	if (r < 0)
		return r;
	salvage = segment_salvage(segment, segment->is_checked, bytes, size_bytes);
	segment->size_bytes = size_bytes;
	if (!segment->entries)
		return -ENODATA;
	log_warning("spool %s: salvaged %" PRIu32 " records of a segment that was cut off, "
		    "%zu bytes of a torn one are lost",
		    spool->store.name, segment->entries, size_bytes - salvage.end_bytes);
	segment->size_bytes = segment->stored_bytes = salvage.end_bytes;
	segment->fd = fd;
	r = seal_file(spool, segment, &is_lost);
	segment->fd = -1;
	name_sealed(segment, name);
	segment->is_cut_off = r < 0 && faccessat(spool->fd, name, F_OK, AT_SYMLINK_NOFOLLOW);
	return 0;
}

/* -ENODATA: it has no whole entry. */
static int load_open(struct spool *spool, const char *name, struct segment *segment)
{
	_cleanup_fd_ int fd = openat(spool->fd, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0 && (errno == EROFS || errno == EACCES || errno == EPERM))
		fd = openat(spool->fd, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : salvage(spool, segment, fd);
}

static int load_file(struct spool *spool, const char *name, struct segment *segment)
{
	struct stat status;

	if (fstatat(spool->fd, name, &status, AT_SYMLINK_NOFOLLOW))
		return -errno;
	if (S_ISLNK(status.st_mode))
		return -ELOOP;
	if (!S_ISREG(status.st_mode) || status.st_size > FILE_BYTES_MAX)
		return -EFBIG;
	segment->size_bytes = (size_t)status.st_size;
	if (segment->is_sealed)
		return 0;
	return segment->size_bytes ? load_open(spool, name, segment) : -ENODATA;
}

/* Keeps a file without a whole entry: somebody may want to search it for records. */
static void set_aside_unwhole(struct spool *spool, const char *name, size_t size_bytes)
{
	int r = set_aside(spool, name, size_bytes);

	spool->store.damaged++;
	log_warning("spool %s: there is no whole record in %s (%zu bytes), it %s%s",
		    spool->store.name, name, size_bytes,
		    r < 0 ? "stays where it is: " : "is set aside in its folder damaged/",
		    r < 0 ? strerror(-r) : "");
}

static bool is_same(const struct segment *one, const struct segment *other)
{
	return one && one->number == other->number &&
	       memcmp(one->random, other->random, sizeof(one->random)) == 0;
}

/* Loads the segment for a file name. *ret_segment is NULL if the name is not one of ours, the file
 * is unusable or has no whole entry, or it is the same segment as before: a power loss may bring
 * back both of a segment's files, and the sealed one sorts first. */
static int load_name(struct spool *spool, const char *name, const struct segment *before,
		     struct segment **ret_segment)
{
	_cleanup_(segment_freep) struct segment *segment = NULL;
	int r = segment_new(0, &segment);

	*ret_segment = NULL;
	if (r < 0)
		return r;
	if (!parse_name(name, segment) || is_same(before, segment))
		return 0;
	/* Also counts files that are left alone: new segments come after them. */
	if (segment->number > spool->last_number)
		spool->last_number = segment->number;
	r = load_file(spool, name, segment);
	if (r == -ENODATA) {
		if (segment->size_bytes)
			set_aside_unwhole(spool, name, segment->size_bytes);
		else
			(void)unlinkat(spool->fd, name, 0);
		return 0;
	}
	if (r < 0) {
		spool->store.unusable++;
		log_warning("spool %s: left alone what cannot be used, %s: %s", spool->store.name,
			    name, strerror(-r));
		return 0;
	}
	segment->is_sealed = segment->is_kept = true;
	segment->written_bytes = segment->stored_bytes = segment->size_bytes;
	*ret_segment = TAKE_PTR(segment);
	return 0;
}

static int load(struct spool *spool, struct segment **segments)
{
	struct dirent **names = NULL;
	struct segment *segment;
	/* Sorted by name means by number, and so by age. */
	int count = scandirat(spool->fd, ".", &names, NULL, alphasort);
	int r = 0;

	if (count < 0)
		return log_error_errno(errno, "cannot list the spool %s", spool->store.name);
	for (int i = 0; i < count; i++) {
		if (r == 0) {
			r = load_name(spool, names[i]->d_name, *segments ? (*segments)->prev : NULL,
				      &segment);
			if (r == 0 && segment)
				DL_APPEND(*segments, segment);
		}
		free(names[i]);
	}
	free(names);
	return r;
}

int spool_expect(const char *path)
{
	char lock[PATH_MAX];

	(void)snprintf(lock, sizeof(lock), "%s/lock", path);
	if (access(lock, F_OK) < 0)
		return log_error(ENOENT, "%s is a folder, but not the spool of a recording", path);
	return 0;
}

static int open_folder(struct spool *spool, const char *path)
{
	int r = spool->store.name ? make_folder(spool, path) : -ENOMEM;

	if (r < 0)
		return log_error_errno(r, "cannot use the spool %s", path);
	r = check_folder(spool->fd, path);
	return r < 0 ? r : lock_folder(spool);
}

int spool_open(const char *path, struct store **ret_store, struct segment **segments)
{
	struct spool *spool = calloc(1, sizeof(*spool));
	int r;

	if (!spool)
		return log_error_errno(ENOMEM, "cannot use the spool %s", path);
	spool->fd = spool->lock_fd = -1;
	spool->store = (struct store){ .type = &spool_type, .name = strdup(path) };
	r = open_folder(spool, path);
	if (r == 0)
		r = load(spool, segments);
	if (r < 0)
		spool_free(&spool->store);
	else
		*ret_store = &spool->store;
	return r;
}
