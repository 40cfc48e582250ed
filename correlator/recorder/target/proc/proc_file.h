/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Files below /proc/PID, read whole and bounded. The only opener of /proc files in target/ except
 * for the mapped objects (memory_map.h). Does not log; any thread; nothing is kept open.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads the head of /proc/PID/NAME into buffer: at most buffer_bytes - 1 bytes, always
 * NUL-terminated. Returns the bytes read, -ESRCH (no such process, thread or file), -errno.
 */
ssize_t proc_file_read_head(pid_t pid, const char *name, char *buffer, size_t buffer_bytes);

/*
 * Reads all of /proc/PID/NAME. *ret_text is NUL-terminated (the NUL is not counted) and the
 * caller's to free. 0, -ESRCH as above, -E2BIG (more than limit_bytes), -ENOMEM, -errno.
 */
int proc_file_read(pid_t pid, const char *name, size_t limit_bytes, char **ret_text,
		   size_t *ret_size_bytes);

/*
 * The numeric names in a directory (/proc, or /proc/PID/task), in the order the kernel gives.
 * *ret_ids is the caller's to free, never NULL on success. 0, -ESRCH, -ENOMEM, -errno.
 */
int proc_file_list_ids(const char *path, pid_t **ret_ids, size_t *ret_count);
