/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Secrets of the user: from a file or the environment, never from the command line, which everybody
 * on the machine can read. Single thread.
 */
#pragma once

#include "base/cleanup.h"

enum {
	SECRET_BYTES_MAX = 256
};

/*
 * What path holds, without a newline at its end, or, with path NULL, the environment variable,
 * which is removed from our environment: no command that we start gets it. 0 and *ret_secret,
 * NULL if there is none of the two, the caller's to secret_free; -errno, logged.
 */
int secret_read(const char *path, const char *variable, char **ret_secret);
/* Overwrites it first. */
void secret_free(char *secret);
DEFINE_CLEANUP(char *, secret_free);
