/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a subcommand that reads recordings reads from and writes to. */
#pragma once

#include <argp.h>
#include <stddef.h>

/* A subcommand's parse_option ends with it: FILE..., or what is read where none is named. 0 with
 * *paths, borrowed from argv, and *path_count set; ARGP_ERR_UNKNOWN, which is to be returned. */
error_t streams_parse_paths(int key, struct argp_state *state, char ***paths, size_t *path_count);

/* What is read where no file was named: COMMAND_RECORDING, static. If there is none, it ends the
 * process with EXIT_CODE_USAGE, and says so. */
char **streams_default_paths(struct argp_state *state);

/* Flushes standard output: 0, also when its reader has seen enough and left (`| head`); else
 * -errno, logged. what: was written there. */
int streams_finish_output(const char *what);
/* The same of what was flushed before: error is the errno of the flush that failed, 0 = none. */
int streams_finish_flushed_output(const char *what, int error);
/* What nobody finishes, as a text of --help that argp prints, is finished when the process exits,
 * then with status 1 if it cannot be. To be called once. */
void streams_finish_output_at_exit(void);
