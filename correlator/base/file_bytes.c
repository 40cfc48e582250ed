/* SPDX-License-Identifier: GPL-2.0-only */
#include "base/file_bytes.h"

#include <errno.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/iovec.h"

int file_bytes_write(int fd, const uint8_t *bytes, size_t size_bytes, uint64_t offset)
{
	while (size_bytes) {
		ssize_t wrote = pwrite(fd, bytes, size_bytes, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote ? -errno : -EIO;
		bytes += wrote;
		size_bytes -= (size_t)wrote;
		offset += (uint64_t)wrote;
	}
	return 0;
}

int file_bytes_write_parts(int fd, struct iovec *parts, int count, uint64_t offset)
{
	size_t done;

	while (count) {
		ssize_t wrote = pwritev(fd, parts, count, (off_t)offset);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote ? -errno : -EIO;
		offset += (uint64_t)wrote;
		done = iovec_skip(parts, (size_t)count, (size_t)wrote);
		parts += done;
		count -= (int)done;
	}
	return 0;
}

int file_bytes_read(int fd, uint8_t *ret_bytes, size_t size_bytes, uint64_t offset)
{
	while (size_bytes) {
		ssize_t got = pread(fd, ret_bytes, size_bytes, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		ret_bytes += got;
		size_bytes -= (size_t)got;
		offset += (uint64_t)got;
	}
	return 0;
}

uint64_t file_bytes_room(int fd)
{
	const uint64_t free_bytes_max = UINT64_C(1) << 30, free_part = 20;
	struct statvfs system;
	uint64_t free_bytes, kept_bytes;

	if (fstatvfs(fd, &system))
		return UINT64_MAX;
	free_bytes = (uint64_t)system.f_bavail * system.f_frsize;
	kept_bytes = (uint64_t)system.f_blocks * system.f_frsize / free_part;
	if (kept_bytes > free_bytes_max)
		kept_bytes = free_bytes_max;
	return free_bytes > kept_bytes ? free_bytes - kept_bytes : 0;
}
