/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user's secrets: from a file or the environment, never from the command line, which everybody
 * on the machine can read. Single thread.
 */
#pragma once

#include "base/cleanup.h"

enum {
	SECRET_BYTES_MAX = 256
};

/*
 * Reads the contents of path, without a trailing newline, or, if path is NULL, the environment
 * variable. Always removes the variable from our environment: no command that we start inherits it.
 * 0 and *ret_secret, which the caller frees with secret_free, NULL if neither is set; -errno,
 * logged.
 */
int secret_read(const char *path, const char *variable, char **ret_secret);
/* Overwrites it first. */
void secret_free(char *secret);
DEFINE_CLEANUP(char *, secret_free);
