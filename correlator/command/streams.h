/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a subcommand that reads recordings reads from and writes to. */
#pragma once

#include <argp.h>

/* What is read where no file was named: COMMAND_RECORDING, static. If there is none, it ends the
 * process with EXIT_CODE_USAGE, and says so. */
char **streams_default_paths(struct argp_state *state);

/*
 * Before a recording is read: if it comes from a pipe or socket ("-": standard input), whoever
 * writes there may be interrupted by the same Ctrl-C, and then writes its last records. The first
 * one is left to it, until signals_obey_interrupt.
 */
void streams_spare_writer(const char *path);

/* Flushes standard output: 0, also when its reader has seen enough and left (`| head`); else
 * -errno, logged. what: was written there. */
int streams_finish_output(const char *what);
