#include "target/proc/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"

/* O_PATH first: opening a FIFO waits and opening a device acts, looking at either does not. */
static int open_regular_file(const char *path, const uint64_t *inode)
{
	_cleanup_fd_ int path_fd = open(path, O_PATH | O_CLOEXEC);
	char fd_path[64];
	struct stat status;
	int fd;

	if (path_fd < 0 || fstat(path_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || (inode && status.st_ino != *inode))
		return -ESTALE;
	(void)snprintf(fd_path, sizeof(fd_path), "/proc/self/fd/%d", path_fd);
	fd = open(fd_path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/*
 * A path as the process itself would name it. Paths of mappings begin at the root of its mount
 * namespace, which need not be its own root: after chroot(2) they have that in front.
 */
static const char *path_below_root(const char *root, const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(root, target, sizeof(target));

	if (length <= 1 || length == sizeof(target) || strncmp(path, target, (size_t)length) != 0 ||
	    path[length] != '/')
		return path;
	return path + length;
}

int mapped_file_open(pid_t pid, const struct memory_map_entry *entry)
{
	char path[PATH_MAX + 64], root[32];
	int length;
	int fd;

	if (entry->inode == 0 || entry->path[0] != '/')
		return -EINVAL;
	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid,
		       entry->start, entry->end);
	fd = open_regular_file(path, NULL);
	if (fd >= 0)
		return fd;
	(void)snprintf(root, sizeof(root), "/proc/%d/root", pid);
	length = snprintf(path, sizeof(path), "%s%s", root, path_below_root(root, entry->path));
	if (length < 0 || (size_t)length >= sizeof(path))
		return -ENAMETOOLONG;
	return open_regular_file(path, &entry->inode);
}
