/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a subcommand reads, and its standard output. */
#pragma once

#include <argp.h>
#include <stddef.h>

/* The last resort of a parse_option: takes FILE..., or the default file. Returns 0 with *paths
 * (borrowed from argv) and *path_count set, or ARGP_ERR_UNKNOWN, which the caller returns. */
error_t streams_parse_paths(int key, struct argp_state *state, char ***paths, size_t *path_count);

/* The default file, COMMAND_RECORDING (static). If it does not exist, ends the process with a
 * message and EXIT_CODE_USAGE. */
char **streams_default_paths(struct argp_state *state);

/* Flushes standard output: 0, also when its reader has left (`| head`); else -errno, logged. what:
 * names what was written. */
int streams_finish_output(const char *what);
/* The same after the caller flushed: error is the errno of its failed flush, 0 = none. */
int streams_finish_flushed_output(const char *what, int error);
/* Registers an exit handler that flushes what nothing else flushes, such as --help, and exits with
 * status 1 if that fails. Call it once. */
void streams_finish_output_at_exit(void);
