/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A disk that fails, fills up, or loses its power, at any of the system calls that write to it, in
 * place of libc's own. Included once, by a test. Nothing is really synced: what a power loss takes
 * is taken here.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum disk_call {
	DISK_CREATE = 1,
	DISK_WRITE = 2,
	DISK_TRUNCATE = 4,
	DISK_SYNC = 8,
	DISK_RENAME = 16,
	DISK_FOLDER = 32,
	DISK_READ = 64,
	DISK_CHANGES = 63, /* all that makes or changes a segment */
	DISK_OPEN = 128, /* of what is there */
	DISK_REMOVE = 256,
};

enum {
	DISK_FILES_MAX = 64,
	DISK_WRITE_BYTES_MAX = 1024 * 1024,
};

/* A file, and what of it would outlive a power loss. */
struct disk_file {
	ino_t inode;
	off_t size_bytes, synced_bytes;
	bool has_lost_bytes,
		has_lost_name; /* in a sync that failed: no later one brings them back */
	int folder_fd;
	char name[NAME_MAX + 1], synced_name[NAME_MAX + 1]; /* "" = it is not there */
};

struct faulty_disk {
	unsigned int mask; /* of enum disk_call: what is counted, and fails */
	atomic_uint calls; /* so far */
	unsigned int fails_from; /* the number of the first call that fails; 0 = none */
	unsigned int fails_until; /* and of the first that does not any more */
	int error;
	size_t write_bytes_max; /* of one write; 0 = no limit */
	unsigned int dies_at; /* the number of the call in which the process dies; 0 = none */
	bool dies_with_power; /* and with it all that was not synced */
	atomic_uint failed; /* calls */
	struct disk_file files[DISK_FILES_MAX];
	size_t file_count;
};

static struct faulty_disk disk;
static pthread_mutex_t disk_lock = PTHREAD_MUTEX_INITIALIZER; /* guards it */

static inline void disk_reset(unsigned int mask)
{
	(void)pthread_mutex_lock(&disk_lock);
	memset(&disk, 0, sizeof(disk));
	disk.mask = mask;
	(void)pthread_mutex_unlock(&disk_lock);
}

static inline void disk_fail(unsigned int from, unsigned int until, int error)
{
	(void)pthread_mutex_lock(&disk_lock);
	disk.error = error;
	disk.fails_until = until;
	disk.fails_from = from;
	(void)pthread_mutex_unlock(&disk_lock);
}

static inline struct disk_file *disk_file(int fd)
{
	struct stat status;

	if (fstat(fd, &status))
		return NULL;
	for (size_t i = 0; i < disk.file_count; i++)
		if (disk.files[i].inode == status.st_ino)
			return &disk.files[i];
	return NULL;
}

static inline void disk_note_size(int fd)
{
	struct disk_file *file = disk_file(fd);
	struct stat status;

	if (file && fstat(fd, &status) == 0)
		file->size_bytes = status.st_size;
}

/* Each file as it was last synced, under the name under which its folder was. */
static inline void disk_lose_power(void)
{
	for (size_t i = 0; i < disk.file_count; i++) {
		const struct disk_file *file = &disk.files[i];
		int fd = (int)syscall(SYS_openat, file->folder_fd, file->name, O_WRONLY);

		if (fd >= 0 && file->synced_bytes < file->size_bytes)
			(void)!syscall(SYS_ftruncate, fd, file->synced_bytes);
		if (fd >= 0)
			(void)close(fd);
		if (!file->synced_name[0])
			(void)!syscall(SYS_unlinkat, file->folder_fd, file->name, 0);
		else if (strcmp(file->synced_name, file->name) != 0)
			(void)syscall(SYS_renameat2, file->folder_fd, file->name, file->folder_fd,
				      file->synced_name, 0);
	}
}

/* True: this call fails, and errno says how. */
static inline bool disk_fails(enum disk_call call)
{
	unsigned int number;

	if (!(disk.mask & call))
		return false;
	number = ++disk.calls;
	if (disk.dies_at && number >= disk.dies_at) {
		if (disk.dies_with_power)
			disk_lose_power();
		/* Without a word: at _exit() ThreadSanitizer waits a second for other threads. */
		(void)syscall(SYS_exit_group, 0);
	}
	if (!disk.fails_from || number < disk.fails_from || number >= disk.fails_until)
		return false;
	disk.failed++;
	errno = disk.error;
	return true;
}

/* is_new: what was known of its inode is of one that is gone. */
static inline void disk_note_file(int fd, int folder_fd, const char *name, bool is_new)
{
	struct disk_file *file = disk_file(fd);
	struct stat status;

	if ((file && !is_new) || (!file && disk.file_count == DISK_FILES_MAX))
		return;
	if (!file)
		file = &disk.files[disk.file_count++];
	*file = (struct disk_file){ .folder_fd = folder_fd };
	(void)fstat(fd, &status);
	file->inode = status.st_ino;
	(void)snprintf(file->name, sizeof(file->name), "%s", name);
}

static inline int disk_create(int folder_fd, const char *name, int flags, mode_t mode)
{
	int fd;

	if (disk_fails(DISK_CREATE))
		return -1;
	fd = (int)syscall(SYS_openat, folder_fd, name, flags, mode);
	if (fd >= 0)
		disk_note_file(fd, folder_fd, name, flags & O_EXCL);
	return fd;
}

/* What is written in the moment of death is torn. */
static inline ssize_t disk_write(int fd, const void *bytes, size_t size_bytes, off_t offset)
{
	ssize_t wrote;

	if (disk.write_bytes_max && size_bytes > disk.write_bytes_max)
		size_bytes = disk.write_bytes_max;
	if (disk.dies_at && disk.calls + 1 >= disk.dies_at && (disk.mask & DISK_WRITE))
		(void)!syscall(SYS_pwrite64, fd, bytes, size_bytes / 2 + 1, offset);
	disk_note_size(fd);
	if (disk_fails(DISK_WRITE))
		return disk.error ? -1 : 0;
	wrote = syscall(SYS_pwrite64, fd, bytes, size_bytes, offset);
	disk_note_size(fd);
	return wrote;
}

static inline int disk_truncate(int fd, off_t size_bytes)
{
	int r;

	if (disk_fails(DISK_TRUNCATE))
		return -1;
	r = (int)syscall(SYS_ftruncate, fd, size_bytes);
	disk_note_size(fd);
	return r;
}

static inline int disk_sync(int fd)
{
	struct disk_file *file = disk_file(fd);
	bool fails = disk_fails(DISK_SYNC);

	if (file) {
		file->has_lost_bytes |= fails && file->synced_bytes < file->size_bytes;
		if (!file->has_lost_bytes)
			file->synced_bytes = file->size_bytes;
	}
	for (size_t i = 0; !file && i < disk.file_count; i++) {
		struct disk_file *inner = &disk.files[i];

		if (inner->folder_fd != fd)
			continue;
		inner->has_lost_name |= fails && strcmp(inner->synced_name, inner->name) != 0;
		if (!inner->has_lost_name)
			memcpy(inner->synced_name, inner->name, NAME_MAX + 1);
	}
	return fails ? -1 : 0;
}

static inline int disk_rename(int from_fd, const char *from, int to_fd, const char *to)
{
	int r;

	if (disk_fails(DISK_RENAME))
		return -1;
	r = (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
	for (size_t i = 0; r == 0 && i < disk.file_count; i++)
		if (strcmp(disk.files[i].name, from) == 0)
			(void)snprintf(disk.files[i].name, NAME_MAX + 1, "%s", to);
	return r;
}

/* A new file of the same name is another one, whether or not it gets the inode. */
static inline int disk_remove(int folder_fd, const char *name, int flags)
{
	int r;

	if (disk_fails(DISK_REMOVE))
		return -1;
	r = (int)syscall(SYS_unlinkat, folder_fd, name, flags);
	for (size_t i = 0; r == 0 && i < disk.file_count; i++)
		if (disk.files[i].folder_fd == folder_fd && strcmp(disk.files[i].name, name) == 0)
			disk.files[i] = disk.files[--disk.file_count];
	return r;
}

/* One call at a time; errno is the call's. */
#define DISK_CALL(type, call)                           \
	({                                              \
		type result_;                           \
		int error_;                             \
		(void)pthread_mutex_lock(&disk_lock);   \
		result_ = (call);                       \
		error_ = errno;                         \
		(void)pthread_mutex_unlock(&disk_lock); \
		errno = error_;                         \
		result_;                                \
	})

/* Instead of libc's, all below. */
int openat(int folder_fd, const char *name, int flags, ...)
{
	va_list arguments;
	mode_t mode;

	if (!(flags & O_CREAT))
		return DISK_CALL(int, disk_fails(DISK_OPEN)
					      ? -1
					      : (int)syscall(SYS_openat, folder_fd, name, flags));
	va_start(arguments, flags);
	mode = va_arg(arguments, mode_t);
	va_end(arguments);
	return DISK_CALL(int, disk_create(folder_fd, name, flags, mode));
}

ssize_t pwrite(int fd, const void *bytes, size_t size_bytes, off_t offset)
{
	return DISK_CALL(ssize_t, disk_write(fd, bytes, size_bytes, offset));
}

/* One write of all of it. */
static inline ssize_t disk_write_parts(int fd, const struct iovec *parts, int count, off_t offset)
{
	static uint8_t bytes[DISK_WRITE_BYTES_MAX];
	size_t size_bytes = 0;

	for (int i = 0; i < count && size_bytes + parts[i].iov_len <= sizeof(bytes); i++) {
		memcpy(bytes + size_bytes, parts[i].iov_base, parts[i].iov_len);
		size_bytes += parts[i].iov_len;
	}
	return disk_write(fd, bytes, size_bytes, offset);
}

ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
	return DISK_CALL(ssize_t, disk_write_parts(fd, parts, count, offset));
}

ssize_t pread(int fd, void *ret_bytes, size_t size_bytes, off_t offset)
{
	return DISK_CALL(ssize_t, disk_fails(DISK_READ) ? (disk.error ? -1 : 0)
							: syscall(SYS_pread64, fd, ret_bytes,
								  size_bytes, offset));
}

int ftruncate(int fd, off_t size_bytes)
{
	return DISK_CALL(int, disk_truncate(fd, size_bytes));
}

int fsync(int fd)
{
	return DISK_CALL(int, disk_sync(fd));
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
	return DISK_CALL(int, disk_rename(from_fd, from, to_fd, to));
}

int mkdirat(int folder_fd, const char *name, mode_t mode)
{
	return DISK_CALL(int, disk_fails(DISK_FOLDER)
				      ? -1
				      : (int)syscall(SYS_mkdirat, folder_fd, name, mode));
}

int unlinkat(int folder_fd, const char *name, int flags)
{
	return DISK_CALL(int, disk_remove(folder_fd, name, flags));
}
