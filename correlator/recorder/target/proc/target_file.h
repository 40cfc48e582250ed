/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a process maps, opened without trusting its path: in a container a path means
 * something else than here, and the process may have put another file there. The agent (agent.h)
 * makes all accesses, on behalf of the process that was last set as having the file; this process
 * holds an O_PATH descriptor alone. A file that did not answer is not asked again for a minute,
 * whichever process has it. Owned by the opener; single thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/cleanup.h"
#include "recorder/target/proc/memory_map.h"

struct target_file;

/*
 * By /proc/PID/map_files/START-END, the mapped file itself even when deleted (needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN), else PATH below /proc/PID/root when it is a regular
 * file with the mapping's inode number. The device is not compared: overlayfs and btrfs give
 * stat(2) another one than they give maps. 0; -ESTALE (another file is at that path), -EINVAL (no
 * file), -ETIMEDOUT (agent.h), -ENOMEM, -ENOENT, -EACCES, -errno. Never blocks on a FIFO or wakes a
 * device.
 */
int target_file_open(pid_t pid, const struct memory_map_entry *entry,
		     struct target_file **ret_file);
/*
 * Opens any regular file of a process by its path there: a file that is not mapped, so it may have
 * been replaced. Errors as target_file_open, and -ENAMETOOLONG.
 */
int target_file_open_path(pid_t pid, const char *path, struct target_file **ret_file);
void target_file_close(struct target_file *file);
DEFINE_CLEANUP(struct target_file *, target_file_close);

/* Its size when it was opened. */
uint64_t target_file_size_bytes(const struct target_file *file);
/*
 * True if size, mtime or ctime have changed, as far as the kernel has them cached, without asking a
 * server.
 */
bool target_file_has_changed(const struct target_file *file);
/* Its owner when it was opened, as our user namespace has it. */
uid_t target_file_owner(const struct target_file *file);
/* Identifies a file while it is held; values as stat(2) returns them. */
struct target_file_key {
	uint64_t device;
	uint64_t inode;
};

struct target_file_key target_file_key(const struct target_file *file);
/*
 * The key of a mapping's file, without opening it. For file systems whose device in maps differs
 * from that of stat(2): none of these delays its answer by itself. Errors as target_file_open.
 */
int target_file_find_key(pid_t pid, const struct memory_map_entry *entry,
			 struct target_file_key *ret_key);

/* Sets the process on whose behalf the file is accessed from now on: one that maps it, too. */
void target_file_ask_for(struct target_file *file, pid_t pid);
/*
 * True while a file that did not answer is not asked: until then its functions return -ETIMEDOUT.
 */
bool target_file_is_late(const struct target_file *file);
/* Reads exactly size_bytes: 0; -EFAULT: the file is shorter; -ETIMEDOUT; -errno. */
int target_file_read(struct target_file *file, uint64_t offset, void *buffer, size_t size_bytes);
/*
 * The inode that the kernel looks up probes by when it maps the file; if is_fresh is false, an
 * earlier answer will do. As agent_identify_file(), whose answers 0 and -EOPNOTSUPP are cached.
 */
int target_file_identify(struct target_file *file, bool is_fresh, uint64_t *ret_inode);

/*
 * O_PATH, borrowed. Its name in /proc/self/fd leads to the file that was opened, whatever its path
 * leads to now.
 */
int target_file_fd(const struct target_file *file);
