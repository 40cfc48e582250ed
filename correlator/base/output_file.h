/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writes files at paths that others may have prepared, in folders that they may also write: an
 * existing file is inspected before it is written, and a replacement starts under a random name.
 * Pure except for the files; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Whether path names standard output, "-" or "/dev/stdout", which is already open. */
bool output_file_is_standard(const char *path);

/*
 * Opens the file at path for writing, O_CLOEXEC and O_NOCTTY. flags: further flags of open(2),
 * O_NONBLOCK or O_CREAT; with O_CREAT a missing file is created with mode 0600. A device is
 * accepted as it is; a file or named pipe only if
 *   - it is not a symbolic link: nothing is created or overwritten elsewhere,
 *   - it belongs to the user that we run as,
 *   - nobody else may read or write it,
 *   - and, for a file, it has no other hard link.
 * Returns the file descriptor, owned by the caller.
 * -ENXIO: with O_NONBLOCK a named pipe without a reader, or a socket. Not logged.
 * -ENOENT: no such file, without O_CREAT. Not logged.
 * -EPERM: refused for one of the reasons above. Logged.
 * -EBUSY: another process keeps creating and removing the file. Logged.
 * -errno of open(2). Logged.
 */
int output_file_open(const char *path, int flags);

/* Whether output_file_open() would refuse the file at path: 0 if not, also if there is none;
 * -EPERM, logged, if it would. */
int output_file_look(const char *path);

/* A file that will replace the one at path. */
struct output_file {
	FILE *file;
	char *path;
	char *beside; /* temporary name: path and six random characters */
};

/*
 * Creates a replacement with permissions mode: others see the complete new file or the old one,
 * never a part. Returns 0 and *ret_file, to be ended by output_file_end(); -ENOMEM; -errno of
 * mkstemp(3). Not logged.
 */
int output_file_begin(const char *path, mode_t mode, struct output_file *ret_file);

/* Closes and frees the file. Renames it to path if result is 0 and closing succeeds, else removes
 * it. Returns result, or -errno of what failed here, not logged. */
int output_file_end(struct output_file *file, int result);
