/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a command held back before its exec, so that it can be observed from its first
 * instruction on. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/exit_code.h"

struct child_command {
	pid_t pid; /* 0 = none */
	int release_fd;
	int failure_fd;
	int pid_fd; /* pidfd_open(2): readable when it has ended; -1 = known to have ended */
	enum exit_code code; /* its exit status, or 128 + the signal that killed it */
};

/*
 * Forks a child that waits, then becomes argv. output_to_stderr: its standard output goes to our
 * standard error, because ours carries records. 0 or -errno (logged).
 */
int child_command_start(char *const *argv, bool output_to_stderr, struct child_command *ret_child);

/*
 * Releases the child, and waits until it runs argv. Exit code: EXIT_CODE_NOT_FOUND or
 * EXIT_CODE_CANNOT_RUN if its exec failed, EXIT_CODE_FAILURE (each logged with name).
 */
enum exit_code child_command_release(struct child_command *child, const char *name);

/* True while there is a child that is not known to have ended. */
bool child_command_runs(const struct child_command *child);
/* Checks whether the child has ended, and if so sets its code. */
void child_command_check(struct child_command *child);
/* Sends the child a signal, if it still runs. */
void child_command_signal(const struct child_command *child, int number);

/* Ends a child that was never released; closes what is open. Does not wait for a running one. */
void child_command_deinit(struct child_command *child);
