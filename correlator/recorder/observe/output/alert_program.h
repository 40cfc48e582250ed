/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program of --on-alert: runs for each change of an alert, one at a time, without a shell. Its
 * environment describes the change (CORRELATOR_ALERT_...); of our own environment it gets only
 * PATH, HOME, LANG and TZ. Its standard output and error are our standard error; it has no other
 * descriptors of ours, no ambient capabilities, and a session of its own. The recording does not
 * wait for it: up to ALERT_RUNS_MAX runs queue, more are dropped and counted, and one that takes
 * too long is killed. Logs; single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "alert/alert.h"
#include "base/clock.h"

enum {
	ALERT_RUNS_MAX = 16, /* in the queue */
	ALERT_VARIABLES_MAX = 14,
};

#define ALERT_PROGRAM_NS (10 * NS_PER_S) /* a program that runs longer is killed */

struct alert_run {
	char *variables[ALERT_VARIABLES_MAX + 1]; /* owned; NULL-terminated */
};

struct alert_program {
	const char *path; /* borrowed; NULL = there is none */
	struct alert_run runs[ALERT_RUNS_MAX]; /* in a ring */
	size_t first;
	size_t count;
	uint64_t dropped; /* since the last log line about it */
	pid_t pid; /* the running program; 0 = none */
	int pid_fd; /* pidfd_open(2); -1 = none */
	uint64_t end_ns; /* CLOCK_MONOTONIC: when to kill it */
};

void alert_program_init(struct alert_program *program, const char *path);
/* A running program keeps running. */
void alert_program_deinit(struct alert_program *program);

/* 0, or -EINVAL (logged): not a program that we may run. Warns if others can change it. */
int alert_program_check(const char *path);

/* Runs the program for a change, now or later. */
void alert_program_add(struct alert_program *program, const struct alert_change *change,
		       uint64_t now_ns);

/*
 * When to call alert_program_continue(): once this fd is readable (-1 = none), or at this time
 * (CLOCK_MONOTONIC; UINT64_MAX = none).
 */
int alert_program_fd(const struct alert_program *program);
uint64_t alert_program_due_ns(const struct alert_program *program);
/* Reaps a program that has ended, kills one that is overdue, and starts the next. */
void alert_program_continue(struct alert_program *program, uint64_t now_ns);
