/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recorder that does as it is told, for tests: what starts one executes the program that it is in
 * itself, with arguments, which is the test. Each argument is one thing to do, "WHAT" or
 * "WHAT:OF_WHAT"; what it finds otherwise than told is its exit status.
 */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum {
	RECORDER_MISTAKEN = 99,
};

static inline void recorder_leave(int number)
{
	(void)number;
	_exit(0);
}

/* As it comes: it may be a pipe. */
static inline void recorder_copy(const char *path)
{
	int in = open(path, O_RDONLY | O_CLOEXEC);
	char bytes[4096];
	ssize_t got;

	while ((got = read(in, bytes, sizeof(bytes))) > 0)
		if (write(STDOUT_FILENO, bytes, (size_t)got) != got)
			break;
	(void)close(in);
}

/* Of its surroundings, whether all is as a recorder should have it. */
static inline int recorder_looks_round(void)
{
	sigset_t blocked;
	int at_death = 0;
	char byte;

	if (getpgrp() != getpid())
		return 1;
	if (prctl(PR_GET_PDEATHSIG, &at_death) < 0 || at_death != SIGTERM)
		return 2;
	if (sigprocmask(SIG_SETMASK, NULL, &blocked) < 0 || sigismember(&blocked, SIGTERM))
		return 3;
	return read(STDIN_FILENO, &byte, 1) == 0 ? 0 : 4;
}

static inline int recorder_main(char **actions)
{
	for (char **action = actions; *action; action++) {
		const char *of = strchr(*action, ':');

		of = of ? of + 1 : "";
		if (strncmp(*action, "say:", 4) == 0)
			(void)fprintf(stderr, "%s\n", of);
		else if (strncmp(*action, "copy:", 5) == 0)
			recorder_copy(of);
		else if (strncmp(*action, "exit:", 5) == 0)
			return atoi(of);
		else if (strncmp(*action, "raise:", 6) == 0)
			(void)raise(atoi(of));
		else if (strcmp(*action, "look round") == 0)
			return recorder_looks_round();
		else if (strcmp(*action, "stay") == 0)
			(void)pause();
		else if (strcmp(*action, "leave when told") == 0)
			(void)signal(SIGTERM, recorder_leave);
		else if (strcmp(*action, "be stubborn") == 0)
			(void)signal(SIGTERM, SIG_IGN);
		else
			return RECORDER_MISTAKEN;
	}
	return 0;
}
