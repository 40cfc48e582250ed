/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file that a process maps, opened without trusting its path: in a container a path means
 * something else here, and the process may have put another file there. What is asked of it is
 * asked by the agent (agent.h), on behalf of the process that was last said to have it; here is an
 * O_PATH descriptor alone. One that did not answer is not asked again for a minute, whoever has it.
 * Owned by who opens it; single thread; does not log.
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
 * Any regular file of a process, by the path that it has there: one that is not mapped, so that it
 * can be any by now. As target_file_open; -ENAMETOOLONG.
 */
int target_file_open_path(pid_t pid, const char *path, struct target_file **ret_file);
void target_file_close(struct target_file *file);
DEFINE_CLEANUP(struct target_file *, target_file_close);

/* How long it was when it was opened. */
uint64_t target_file_size_bytes(const struct target_file *file);
/* That it may be another one by now: size, mtime or ctime are, by what is known here of them,
 * without asking a server. */
bool target_file_has_changed(const struct target_file *file);
/* By which a file is known as long as it is held: as stat(2) has them. */
struct target_file_key {
	uint64_t device;
	uint64_t inode;
};

struct target_file_key target_file_key(const struct target_file *file);
/*
 * That of a mapping's file, without opening it; for file systems of which maps gives another device
 * than stat(2) does: none of these answers late by itself. As target_file_open.
 */
int target_file_find_key(pid_t pid, const struct memory_map_entry *entry,
			 struct target_file_key *ret_key);

/* The process on whose behalf it is asked from now on: it maps it, too. */
void target_file_ask_for(struct target_file *file, pid_t pid);
/* It did not answer, and is not asked for a while: what is said of it meanwhile is -ETIMEDOUT. */
bool target_file_is_late(const struct target_file *file);
/* Exactly size_bytes: 0; -EFAULT: it has not so many; -ETIMEDOUT; -errno. */
int target_file_read(struct target_file *file, uint64_t offset, void *buffer, size_t size_bytes);
/*
 * Which inode the kernel looks for probes in when it maps the file; what it said before will do if
 * is_fresh is false. As agent_identify_file(), whose answers 0 and -EOPNOTSUPP are remembered.
 */
int target_file_identify(struct target_file *file, bool is_fresh, uint64_t *ret_inode);

/* O_PATH, borrowed. By its name in /proc/self/fd it is the file that was opened, whatever has its
 * path now. */
int target_file_fd(const struct target_file *file);
