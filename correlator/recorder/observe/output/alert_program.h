/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The program of --on-alert: run for each change of an alert, one at a time, without a shell. What
 * the change is about it finds in its environment (CORRELATOR_ALERT_...), which is all that it gets
 * of ours, beside PATH, HOME, LANG and TZ: no other descriptors than standard error, which is its
 * standard output, too, no ambient capabilities, a session of its own. Nobody waits for it: some
 * runs queue, more are dropped and counted, and one that goes on for too long is killed. Logs;
 * single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "alert/alert.h"
#include "base/clock.h"

enum {
	ALERT_RUNS_MAX = 16, /* that wait */
	ALERT_VARIABLES_MAX = 14,
};

#define ALERT_PROGRAM_NS (10 * NS_PER_S) /* then it is killed */

struct alert_run {
	char *variables[ALERT_VARIABLES_MAX + 1]; /* owned; NULL-terminated */
};

struct alert_program {
	const char *path; /* borrowed; NULL = there is none */
	struct alert_run runs[ALERT_RUNS_MAX]; /* in a ring */
	size_t first;
	size_t count;
	uint64_t dropped; /* since that was last said */
	pid_t pid; /* that runs; 0 = none */
	int pid_fd; /* pidfd_open(2); -1 = none */
	uint64_t end_ns; /* CLOCK_MONOTONIC: it is killed then */
};

void alert_program_init(struct alert_program *program, const char *path);
/* One that runs goes on. */
void alert_program_deinit(struct alert_program *program);

/* 0; -EINVAL, logged: not a program that we may run. Warns of one that others may change. */
int alert_program_check(const char *path);

/* Runs it for a change, now or later. */
void alert_program_add(struct alert_program *program, const struct alert_change *change,
		       uint64_t now_ns);

/* What to wait for before alert_program_continue: that this fd is readable (-1 = none), or this
 * time (CLOCK_MONOTONIC; UINT64_MAX = none). */
int alert_program_fd(const struct alert_program *program);
uint64_t alert_program_due_ns(const struct alert_program *program);
/* Sees whether it has ended, ends one that is due, and starts the next. */
void alert_program_continue(struct alert_program *program, uint64_t now_ns);
