/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Writing a file at a name that others may have prepared, in a folder that they may write, too:
 * what is there is looked at before it is written, and what takes its place begins under a random
 * name. Pure but for the files; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

/* Whether it is a name of standard output, "-" or "/dev/stdout", which is open already. */
bool output_file_is_standard(const char *path);

/*
 * Opens what is at path for writing, O_CLOEXEC and O_NOCTTY. flags: more of open(2)'s, O_NONBLOCK
 * or O_CREAT: with it the file is made, with mode 0600, if nothing is there. A device is taken as
 * it is; a file or named pipe only if
 *   - it is no link: nothing is made or overwritten elsewhere,
 *   - it belongs to the user that we run as,
 *   - nobody else may read or write it,
 *   - and a file has no other name.
 * The file descriptor, the caller's. -ENXIO: a named pipe that nobody reads, with O_NONBLOCK, or a
 * socket; -ENOENT without O_CREAT: neither of these is logged. -EPERM: one of the above; -errno of
 * open(2).
 */
int output_file_open(const char *path, int flags);

/* Whether output_file_open() would refuse what is at path: 0, also if nothing is; else its -errno,
 * logged. */
int output_file_look(const char *path);

/* A file that is to take the place of what is at path. */
struct output_file {
	FILE *file;
	char *path;
	char *beside; /* its name meanwhile: path, and six random characters */
};

/*
 * Makes it, to be seen by mode: others read all of it or what was there before, never a part. 0 and
 * *ret_file, ended by output_file_end(); -ENOMEM; -errno of mkstemp(3). Not logged.
 */
int output_file_begin(const char *path, mode_t mode, struct output_file *ret_file);

/* Closes and frees it, and gives it the name if so far all went well (result is 0), else removes
 * it. result, or -errno of what failed now, not logged. */
int output_file_end(struct output_file *file, int result);
