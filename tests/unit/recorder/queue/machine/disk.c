/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/machine/disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/queue/machine/turns.h"

enum {
	FILES_MAX = 192,
	FILE_BYTES_MAX = 4096,
	FDS_MAX = 32,
	FIRST_FD = 1000000,
	NAME_BYTES = 128,
	BLOCK_BYTES = 1,
};

/* Where a file may be; OUTSIDE is the folder's own. */
enum folder {
	NOWHERE = 0,
	SPOOL,
	DAMAGED,
	REJECTED,
	OUTSIDE,
	_FOLDER_MAX
};

static const char *const folder_names[_FOLDER_MAX] = { "(gone)", "", "damaged", "rejected", "" };

struct place {
	enum folder folder; /* NOWHERE = it was removed */
	char name[NAME_BYTES];
};

struct file {
	bool is_used;
	struct place place, synced_place;
	uint8_t bytes[FILE_BYTES_MAX], synced[FILE_BYTES_MAX];
	size_t size_bytes, synced_bytes;
	bool has_lost; /* what a sync that failed was to write: no later one does */
};

struct descriptor {
	bool is_open;
	enum folder folder; /* of one that is a folder */
	struct file *file; /* or else */
};

static struct {
	uint64_t (*draw)(void);
	uint64_t capacity_bytes;
	struct disk_weather weather;
	struct file files[FILES_MAX];
	struct descriptor fds[FDS_MAX];
	bool has_folder[_FOLDER_MAX];
	unsigned int calls, dies_at, blind_looks;
	bool is_dead, has_lied, has_rotted, has_torn;
} disk;

void disk_begin(uint64_t (*draw)(void), uint64_t capacity_bytes)
{
	for (size_t i = 0; i < FILES_MAX; i++)
		disk.files[i].is_used = false;
	memset(disk.fds, 0, sizeof(disk.fds));
	memset(disk.has_folder, 0, sizeof(disk.has_folder));
	disk.draw = draw;
	disk.capacity_bytes = capacity_bytes;
	disk.weather = (struct disk_weather){ 0 };
	disk.calls = disk.dies_at = disk.blind_looks = 0;
	disk.is_dead = disk.has_lied = disk.has_rotted = disk.has_torn = false;
}

void disk_set_weather(const struct disk_weather *weather)
{
	disk.weather = *weather;
}

void disk_die_at(unsigned int call)
{
	disk.dies_at = call ? disk.calls + call : 0;
}

bool disk_is_dead(void)
{
	return disk.is_dead;
}

bool disk_has_lied(void)
{
	return disk.has_lied;
}

bool disk_has_rotted(void)
{
	return disk.has_rotted;
}

bool disk_has_torn(void)
{
	return disk.has_torn;
}

unsigned int disk_calls(void)
{
	return disk.calls;
}

uint64_t disk_used_bytes(void)
{
	uint64_t used_bytes = 0;

	for (size_t i = 0; i < FILES_MAX; i++)
		if (disk.files[i].is_used && disk.files[i].place.folder != NOWHERE)
			used_bytes += disk.files[i].size_bytes;
	return used_bytes;
}

unsigned int disk_blind_looks(void)
{
	return disk.blind_looks;
}

unsigned int disk_damaged_count(void)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FILES_MAX; i++)
		count += disk.files[i].is_used && disk.files[i].place.folder == DAMAGED;
	return count;
}

unsigned int disk_open_count(void)
{
	unsigned int count = 0;

	for (size_t i = 0; i < FDS_MAX; i++)
		count += disk.fds[i].is_open;
	return count;
}

void disk_print(void)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		const struct file *file = &disk.files[i];

		if (file->is_used)
			printf("    %s/%s: %zu bytes; synced as %s/%s: %zu bytes%s\n",
			       folder_names[file->place.folder], file->place.name, file->size_bytes,
			       folder_names[file->synced_place.folder], file->synced_place.name,
			       file->synced_bytes, file->has_lost ? ", lost some" : "");
	}
}

static bool is_drawn(unsigned int per_mille)
{
	return per_mille && disk.draw() % DISK_PER_MILLE < per_mille;
}

/* Any of what was not synced may be gone, and zeros may stand there. */
static void lose_power(struct file *file)
{
	size_t kept_bytes = file->synced_bytes;

	file->place = file->synced_place;
	if (file->size_bytes > kept_bytes)
		kept_bytes += disk.draw() % (file->size_bytes - kept_bytes + 1);
	for (size_t i = 0; i < kept_bytes; i++)
		if (i >= file->synced_bytes && is_drawn(DISK_PER_MILLE / 2))
			file->bytes[i] = 0;
	memcpy(file->bytes, file->synced, file->synced_bytes);
	file->size_bytes = kept_bytes;
}

void disk_restart(bool has_lost_power)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		struct file *file = &disk.files[i];

		if (!file->is_used)
			continue;
		if (has_lost_power)
			lose_power(file);
		file->is_used = file->place.folder != NOWHERE;
		/* The cache gets to the disk some time. */
		file->has_lost = false;
	}
	memset(disk.fds, 0, sizeof(disk.fds));
	disk.is_dead = false;
	disk.dies_at = 0;
}

/* Each call begins so. True: it fails, and errno says how. */
static bool fails(const int *errors, size_t count, bool is_reading)
{
	const struct disk_weather *weather = &disk.weather;

	if (!disk.is_dead && is_drawn(weather->late))
		turns_pause((1 + disk.draw() % 3) * NS_PER_S);
	else if (!disk.is_dead && is_drawn(weather->pausing))
		turns_pause(0);
	disk.calls++;
	if (!disk.is_dead && disk.dies_at && disk.calls >= disk.dies_at)
		disk.is_dead = true;
	if (disk.is_dead) {
		errno = EIO;
		return true;
	}
	if ((is_reading && !weather->is_reading) || !is_drawn(weather->failing))
		return false;
	errno = errors[disk.draw() % count];
	return true;
}

#define FAILS(is_reading, ...)                                                                  \
	fails((const int[]){ __VA_ARGS__ }, sizeof((const int[]){ __VA_ARGS__ }) / sizeof(int), \
	      is_reading)

static bool is_ours(int fd)
{
	return fd >= FIRST_FD && fd < FIRST_FD + FDS_MAX;
}

static struct descriptor *descriptor_of(int fd)
{
	return &disk.fds[fd - FIRST_FD];
}

static int open_descriptor(enum folder folder, struct file *file)
{
	for (int i = 0; i < FDS_MAX; i++) {
		if (disk.fds[i].is_open)
			continue;
		disk.fds[i] = (struct descriptor){ true, folder, file };
		return FIRST_FD + i;
	}
	errno = EMFILE;
	return -1;
}

static struct file *find_file(enum folder folder, const char *name)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		struct file *file = &disk.files[i];

		if (file->is_used && file->place.folder == folder &&
		    strcmp(file->place.name, name) == 0)
			return file;
	}
	return NULL;
}

static void set_place(struct place *place, enum folder folder, const char *name)
{
	place->folder = folder;
	(void)snprintf(place->name, sizeof(place->name), "%s", name);
}

static struct file *make_file(enum folder folder, const char *name)
{
	for (size_t i = 0; i < FILES_MAX; i++) {
		struct file *file = &disk.files[i];

		/* A power loss may bring back a file that is gone, as it was synced. */
		if (file->is_used && (file->place.folder || file->synced_place.folder))
			continue;
		file->is_used = true;
		set_place(&file->place, folder, name);
		file->synced_place.folder = NOWHERE;
		file->size_bytes = file->synced_bytes = 0;
		file->has_lost = false;
		return file;
	}
	(void)fputs("the machine's disk has no room for another file\n", stderr);
	abort();
}

static enum folder find_folder(enum folder folder, const char *name)
{
	if (folder != SPOOL)
		return NOWHERE;
	for (enum folder inner = DAMAGED; inner <= REJECTED; inner++)
		if (disk.has_folder[inner] && strcmp(name, folder_names[inner]) == 0)
			return inner;
	return NOWHERE;
}

static int open_file(enum folder folder, const char *name, int flags)
{
	struct file *file = find_file(folder, name);

	if (file && (flags & O_EXCL)) {
		errno = EEXIST;
		return -1;
	}
	if (!file && !(flags & O_CREAT)) {
		errno = ENOENT;
		return -1;
	}
	return open_descriptor(NOWHERE, file ? file : make_file(folder, name));
}

static int open_inner(int folder_fd, const char *name, int flags)
{
	enum folder folder = descriptor_of(folder_fd)->folder, inner;

	if (flags & O_CREAT ? FAILS(false, EIO, ENOSPC, EDQUOT, EMFILE, ENFILE, ENOMEM, EROFS)
			    : FAILS(true, EIO, EMFILE, ENFILE, ENOMEM))
		return -1;
	if (strcmp(name, "..") == 0)
		return open_descriptor(OUTSIDE, NULL);
	if (!(flags & O_DIRECTORY))
		return open_file(folder, name, flags);
	inner = find_folder(folder, name);
	if (inner)
		return open_descriptor(inner, NULL);
	errno = ENOENT;
	return -1;
}

/* Instead of libc's, all below. */
int openat(int folder_fd, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	if (is_ours(folder_fd))
		return open_inner(folder_fd, name, flags);
	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return (int)syscall(SYS_openat, folder_fd, name, flags, mode);
}

int open(const char *path, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	if (strcmp(path, DISK_SPOOL) == 0) {
		if (FAILS(true, EIO, EMFILE, ENFILE, ENOMEM))
			return -1;
		return open_descriptor(SPOOL, NULL);
	}
	va_start(arguments, flags);
	mode = flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
	va_end(arguments);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int close(int fd)
{
	if (!is_ours(fd))
		return (int)syscall(SYS_close, fd);
	descriptor_of(fd)->is_open = false;
	return 0;
}

int mkdir(const char *path, mode_t mode)
{
	if (strcmp(path, DISK_SPOOL) != 0)
		return (int)syscall(SYS_mkdirat, AT_FDCWD, path, mode);
	if (disk.has_folder[SPOOL]) {
		errno = EEXIST;
		return -1;
	}
	disk.has_folder[SPOOL] = true;
	return 0;
}

int mkdirat(int folder_fd, const char *name, mode_t mode)
{
	(void)mode;
	(void)folder_fd;
	if (FAILS(false, EIO, ENOSPC, EDQUOT, EROFS))
		return -1;
	for (enum folder inner = DAMAGED; inner <= REJECTED; inner++) {
		if (strcmp(name, folder_names[inner]) != 0)
			continue;
		if (disk.has_folder[inner]) {
			errno = EEXIST;
			return -1;
		}
		disk.has_folder[inner] = true;
	}
	return 0;
}

int flock(int fd, int operation)
{
	return is_ours(fd) ? 0 : (int)syscall(SYS_flock, fd, operation);
}

static size_t limit_write(size_t size_bytes)
{
	uint64_t used_bytes = disk_used_bytes() + disk.weather.foreign_bytes;
	uint64_t free_bytes =
		disk.capacity_bytes > used_bytes ? disk.capacity_bytes - used_bytes : 0;

	if (size_bytes > free_bytes)
		size_bytes = (size_t)free_bytes;
	if (size_bytes > 1 && is_drawn(disk.weather.brief))
		size_bytes = 1 + disk.draw() % (size_bytes - 1);
	return size_bytes;
}

static ssize_t write_bytes(struct file *file, const uint8_t *bytes, size_t size_bytes, off_t offset)
{
	size_t end_bytes = (size_t)offset + size_bytes;

	if (end_bytes > FILE_BYTES_MAX) {
		errno = EFBIG;
		return -1;
	}
	if ((size_t)offset > file->size_bytes)
		memset(file->bytes + file->size_bytes, 0, (size_t)offset - file->size_bytes);
	memcpy(file->bytes + offset, bytes, size_bytes);
	if (size_bytes && is_drawn(disk.weather.rotting)) {
		file->bytes[(size_t)offset + disk.draw() % size_bytes] ^=
			(uint8_t)(1 << disk.draw() % 8);
		disk.has_rotted = true;
	}
	if (end_bytes > file->size_bytes)
		file->size_bytes = end_bytes;
	return (ssize_t)size_bytes;
}

/* In the moment of death any part of it may be written. */
static ssize_t write_all(struct file *file, const uint8_t *bytes, size_t size_bytes, off_t offset)
{
	bool was_alive = !disk.is_dead;
	size_t limited_bytes;

	if (FAILS(false, EIO, ENOSPC, EDQUOT, EINTR, EROFS)) {
		disk.has_torn = disk.has_torn || disk.is_dead;
		if (was_alive && disk.is_dead)
			(void)write_bytes(file, bytes, disk.draw() % (size_bytes + 1), offset);
		errno = disk.is_dead ? EIO : errno;
		return -1;
	}
	limited_bytes = limit_write(size_bytes);
	disk.has_torn = disk.has_torn || limited_bytes < size_bytes;
	if (size_bytes && !limited_bytes) {
		errno = ENOSPC;
		return -1;
	}
	return write_bytes(file, bytes, limited_bytes, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	uint8_t bytes[FILE_BYTES_MAX];
	size_t size_bytes = 0;

	for (int i = 0; i < count; i++) {
		memcpy(bytes + size_bytes, parts[i].iov_base, parts[i].iov_len);
		size_bytes += parts[i].iov_len;
	}
	return write_all(descriptor_of(fd)->file, bytes, size_bytes, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t size_bytes, off_t offset)
{
	return write_all(descriptor_of(fd)->file, bytes, size_bytes, offset);
}

ssize_t pread(int fd, void *ret_bytes, size_t size_bytes, off_t offset)
{
	const struct file *file = descriptor_of(fd)->file;

	if (FAILS(true, EIO, ENOMEM, EINTR))
		return -1;
	if ((size_t)offset >= file->size_bytes)
		return 0;
	if (size_bytes > file->size_bytes - (size_t)offset)
		size_bytes = file->size_bytes - (size_t)offset;
	if (size_bytes > 1 && is_drawn(disk.weather.brief))
		size_bytes = 1 + disk.draw() % (size_bytes - 1);
	memcpy(ret_bytes, file->bytes + offset, size_bytes);
	return (ssize_t)size_bytes;
}

int ftruncate(int fd, off_t size_bytes)
{
	struct file *file = descriptor_of(fd)->file;

	if (FAILS(false, EIO, EINTR, EROFS))
		return -1;
	file->size_bytes = (size_t)size_bytes;
	if (file->synced_bytes > file->size_bytes)
		file->synced_bytes = file->size_bytes;
	return 0;
}

/* A sync that fails loses what it was to write, and the next one says nothing of that (fsync(2)).
 */
static int sync_file(struct file *file, bool has_failed)
{
	if (has_failed)
		file->has_lost = file->has_lost || file->synced_bytes < file->size_bytes;
	else if (!file->has_lost) {
		memcpy(file->synced, file->bytes, file->size_bytes);
		file->synced_bytes = file->size_bytes;
	}
	return has_failed ? -1 : 0;
}

static int sync_folder(enum folder folder, bool has_failed)
{
	for (size_t i = 0; i < FILES_MAX && !has_failed; i++) {
		struct file *file = &disk.files[i];

		if (file->is_used &&
		    (file->place.folder == folder || file->synced_place.folder == folder))
			file->synced_place = file->place;
	}
	return has_failed ? -1 : 0;
}

int fsync(int fd)
{
	struct descriptor *descriptor = descriptor_of(fd);
	bool has_failed = FAILS(false, EIO, ENOSPC, EDQUOT, EINTR);

	if (!has_failed && is_drawn(disk.weather.lying)) {
		disk.has_lied = true;
		return 0;
	}
	if (disk.is_dead)
		return -1;
	return descriptor->file ? sync_file(descriptor->file, has_failed)
				: sync_folder(descriptor->folder, has_failed);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	struct file *file, *other;

	if (FAILS(false, EIO, ENOSPC, EDQUOT, EROFS, EACCES))
		return -1;
	file = find_file(descriptor_of(from_fd)->folder, from);
	other = find_file(descriptor_of(to_fd)->folder, to);
	if (!file) {
		errno = ENOENT;
		return -1;
	}
	if (other && other != file)
		other->place.folder = NOWHERE;
	set_place(&file->place, descriptor_of(to_fd)->folder, to);
	return 0;
}

int unlinkat(int folder_fd, const char *name, int flags)
{
	struct file *file;

	(void)flags;
	if (FAILS(false, EIO, EROFS, EACCES, EPERM))
		return -1;
	file = find_file(descriptor_of(folder_fd)->folder, name);
	if (!file) {
		errno = ENOENT;
		return -1;
	}
	file->place.folder = NOWHERE;
	return 0;
}

static int fill_status(const struct file *file, struct stat *ret_status)
{
	*ret_status = (struct stat){ .st_mode = file ? S_IFREG | 0600 : S_IFDIR | 0700,
				     .st_size = file ? (off_t)file->size_bytes : 0,
				     .st_uid = geteuid() };
	return 0;
}

int fstat(int fd, struct stat *ret_status)
{
	return is_ours(fd) ? fill_status(descriptor_of(fd)->file, ret_status)
			   : (int)syscall(SYS_fstat, fd, ret_status);
}

int fstatat(int folder_fd, const char *restrict name, struct stat *restrict ret_status, int flags)
{
	const struct file *file;

	if (!is_ours(folder_fd))
		return (int)syscall(SYS_newfstatat, folder_fd, name, ret_status, flags);
	if (FAILS(true, EIO, ENOMEM))
		return -1;
	file = find_file(descriptor_of(folder_fd)->folder, name);
	if (file)
		return fill_status(file, ret_status);
	errno = ENOENT;
	return -1;
}

int faccessat(int folder_fd, const char *name, int mode, int flags)
{
	(void)mode;
	(void)flags;
	errno = ENOENT;
	return find_file(descriptor_of(folder_fd)->folder, name) ? 0 : -1;
}

int fstatvfs(int fd, struct statvfs *ret_system)
{
	uint64_t used_bytes = disk_used_bytes() + disk.weather.foreign_bytes;

	(void)fd;
	if (FAILS(true, EIO, EINTR)) {
		disk.blind_looks++;
		return -1;
	}
	*ret_system = (struct statvfs){
		.f_bavail = disk.capacity_bytes > used_bytes ? disk.capacity_bytes - used_bytes : 0,
		.f_frsize = BLOCK_BYTES,
		.f_blocks = disk.capacity_bytes,
	};
	return 0;
}

static int compare_names(const void *one, const void *other)
{
	return strcmp((*(struct dirent *const *)one)->d_name,
		      (*(struct dirent *const *)other)->d_name);
}

int scandirat(int folder_fd, const char *restrict path, struct dirent ***restrict ret_names,
	      int (*filter)(const struct dirent *),
	      int (*compare)(const struct dirent **, const struct dirent **))
{
	enum folder folder;
	int count = 0;

	(void)path;
	(void)filter;
	(void)compare;
	if (FAILS(true, EMFILE, ENFILE, ENOMEM, EIO))
		return -1;
	folder = descriptor_of(folder_fd)->folder;
	*ret_names = calloc(FILES_MAX, sizeof(**ret_names));
	for (size_t i = 0; *ret_names && i < FILES_MAX; i++) {
		const struct file *file = &disk.files[i];
		struct dirent *entry;

		if (!file->is_used || file->place.folder != folder)
			continue;
		entry = calloc(1, sizeof(*entry));
		if (!entry)
			abort();
		(void)snprintf(entry->d_name, sizeof(entry->d_name), "%s", file->place.name);
		(*ret_names)[count++] = entry;
	}
	if (count)
		qsort(*ret_names, (size_t)count, sizeof(**ret_names), compare_names);
	return count;
}
