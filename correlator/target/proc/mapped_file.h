/*
 * The file behind a mapping of another process, opened without trusting its path: in a container
 * the path means something else here, and the process may have put another file there.
 */
#pragma once

#include <sys/types.h>

#include "target/proc/memory_map.h"

/*
 * Opens /proc/PID/map_files/START-END, the mapped file itself even when deleted (needs
 * CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN), else PATH below /proc/PID/root when it is a regular
 * file with the mapping's inode number. The device is not compared: overlayfs and btrfs give
 * stat(2) another one than they give maps. Returns a descriptor for reading (the caller's to
 * close), -ESTALE (another file is at that path), -EINVAL (no file), -ENOENT, -EACCES, -errno.
 * Never blocks on a FIFO or wakes a device. Does not log.
 */
int mapped_file_open(pid_t pid, const struct memory_map_entry *entry);
