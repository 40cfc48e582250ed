/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Starting a command held back before its exec, so that it can be observed from its first
 * instruction on. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct child_command {
	pid_t pid; /* 0 = none */
	int release_fd;
	int failure_fd;
};

/*
 * Forks a child that waits, then becomes argv. output_to_stderr: its standard output goes to our
 * standard error, because ours carries records. 0 or -errno (logged).
 */
int child_command_start(char *const *argv, bool output_to_stderr, struct child_command *ret_child);

/* Lets it go, and waits until it runs argv. 0, or the -errno of its exec (logged with name). */
int child_command_release(struct child_command *child, const char *name);

/* Ends a child that was never released; closes what is open. Does not wait for a running one. */
void child_command_deinit(struct child_command *child);
