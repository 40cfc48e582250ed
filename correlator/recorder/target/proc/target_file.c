/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/target_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/clock.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/living_thread.h"

#define LATE_NS (60 * NS_PER_S)

struct target_file {
	int fd; /* O_PATH */
	pid_t pid;
	struct stat status;
	uint64_t late_until_ns;
	uint64_t inode; /* as the kernel identifies it; 0 = not asked */
	bool is_refused; /* the identifier answered -EOPNOTSUPP */
	char path[]; /* as that process names it */
};

/*
 * A path as the process itself would name it. Paths of mappings begin at the root of its mount
 * namespace, which need not be its own root: after chroot(2) they have the new root's path in
 * front.
 */
static const char *path_below_root(const char *root, const char *path)
{
	char target[PATH_MAX];
	ssize_t length = readlink(root, target, sizeof(target));

	if (length <= 1 || strncmp(path, target, (size_t)length) != 0 || path[length] != '/')
		return path;
	return path + length;
}

/* Sets the path below the process's root; empty if it is too long. */
static void name_path(pid_t pid, const char *path, struct agent_file_names *ret_names)
{
	char root[32];
	int length;

	(void)snprintf(root, sizeof(root), "/proc/%d/root", pid);
	length = snprintf(ret_names->by_path, sizeof(ret_names->by_path), "%s%s", root,
			  path_below_root(root, path));
	if (length < 0 || (size_t)length >= sizeof(ret_names->by_path))
		ret_names->by_path[0] = '\0';
}

/* 0 or -EINVAL. */
static int name_file(pid_t pid, const struct memory_map_entry *entry,
		     struct agent_file_names *ret_names)
{
	if (entry->inode == 0 || entry->path[0] != '/')
		return -EINVAL;
	(void)snprintf(ret_names->by_mapping, sizeof(ret_names->by_mapping),
		       "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, entry->start, entry->end);
	name_path(pid, entry->path, ret_names);
	ret_names->inode = entry->inode;
	return 0;
}

static int open_named(pid_t pid, const char *path, const struct agent_file_names *names,
		      struct target_file **ret_file)
{
	size_t path_bytes = strlen(path) + 1;
	_cleanup_(target_file_closep) struct target_file *file =
		calloc(1, sizeof(*file) + path_bytes);
	int r;

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->pid = pid;
	memcpy(file->path, path, path_bytes);
	r = agent_open_file(pid, file->path, names, &file->status);
	if (r < 0)
		return r;
	file->fd = r;
	*ret_file = TAKE_PTR(file);
	return 0;
}

/*
 * Whether r may mean a leader that has exited; then *ret_thread is a living thread to retry with.
 */
static bool is_of_thread(pid_t pid, int r, pid_t *ret_thread)
{
	*ret_thread = r == -ENOENT || r == -ESRCH ? living_thread_of(pid) : pid;
	return *ret_thread != pid;
}

int target_file_open(pid_t pid, const struct memory_map_entry *entry, struct target_file **ret_file)
{
	struct agent_file_names names;
	pid_t thread;
	int r = name_file(pid, entry, &names);

	if (r == 0)
		r = open_named(pid, entry->path, &names, ret_file);
	if (is_of_thread(pid, r, &thread) && name_file(thread, entry, &names) == 0)
		r = open_named(pid, entry->path, &names, ret_file);
	return r;
}

int target_file_open_path(pid_t pid, const char *path, struct target_file **ret_file)
{
	struct agent_file_names names = { .by_mapping = "", .inode = 0 };

	name_path(pid, path, &names);
	return names.by_path[0] ? open_named(pid, path, &names, ret_file) : -ENAMETOOLONG;
}

void target_file_close(struct target_file *file)
{
	if (!file)
		return;
	if (file->fd >= 0)
		(void)close(file->fd);
	free(file);
}

struct target_file_key target_file_key(const struct target_file *file)
{
	return (struct target_file_key){ file->status.st_dev, file->status.st_ino };
}

uint64_t target_file_size_bytes(const struct target_file *file)
{
	return (uint64_t)file->status.st_size;
}

uid_t target_file_owner(const struct target_file *file)
{
	return file->status.st_uid;
}

static bool is_same_time(struct timespec before, struct statx_timestamp now)
{
	return before.tv_sec == now.tv_sec && before.tv_nsec == now.tv_nsec;
}

bool target_file_has_changed(const struct target_file *file)
{
	const struct stat *before = &file->status;
	struct statx now;

	return statx(file->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &now) ||
	       (uint64_t)before->st_size != now.stx_size ||
	       !is_same_time(before->st_mtim, now.stx_mtime) ||
	       !is_same_time(before->st_ctim, now.stx_ctime);
}

int target_file_find_key(pid_t pid, const struct memory_map_entry *entry,
			 struct target_file_key *ret_key)
{
	struct agent_file_names names;
	struct stat status;
	struct statx known;
	pid_t thread;
	int r = name_file(pid, entry, &names);

	if (r < 0)
		return r;
	/* The link leads to the file itself and avoids servers of directories on its path. */
	if (statx(AT_FDCWD, names.by_mapping, AT_STATX_DONT_SYNC, STATX_INO, &known) == 0) {
		*ret_key =
			(struct target_file_key){ makedev(known.stx_dev_major, known.stx_dev_minor),
						  known.stx_ino };
		return 0;
	}
	r = agent_stat_file(pid, entry->path, &names, &status);
	if (is_of_thread(pid, r, &thread) && name_file(thread, entry, &names) == 0)
		r = agent_stat_file(pid, entry->path, &names, &status);
	if (r == 0)
		*ret_key = (struct target_file_key){ status.st_dev, status.st_ino };
	return r;
}

void target_file_ask_for(struct target_file *file, pid_t pid)
{
	file->pid = pid;
}

bool target_file_is_late(const struct target_file *file)
{
	return file->late_until_ns && clock_monotonic_ns() < file->late_until_ns;
}

static int note_answer(struct target_file *file, int r)
{
	file->late_until_ns = r == -ETIMEDOUT ? clock_monotonic_ns() + LATE_NS : 0;
	return r;
}

int target_file_read(struct target_file *file, uint64_t offset, void *buffer, size_t size_bytes)
{
	if (target_file_is_late(file))
		return -ETIMEDOUT;
	return note_answer(
		file, agent_read_file(file->pid, file->path, file->fd, offset, buffer, size_bytes));
}

int target_file_identify(struct target_file *file, bool is_fresh, uint64_t *ret_inode)
{
	int r;

	if (target_file_is_late(file))
		return -ETIMEDOUT;
	if (is_fresh || (!file->inode && !file->is_refused)) {
		file->inode = 0;
		r = agent_identify_file(file->pid, file->path, file->fd, &file->inode);
		file->is_refused = note_answer(file, r) == -EOPNOTSUPP;
		if (r < 0)
			return r;
	}
	if (file->is_refused)
		return -EOPNOTSUPP;
	*ret_inode = file->inode;
	return 0;
}

int target_file_fd(const struct target_file *file)
{
	return file->fd;
}
