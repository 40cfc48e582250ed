/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The states of a thread, as the scheduler defines them: each slice of `record --timeline` has one.
 * Reports and the page draw them in this order. Pure; any thread.
 */
#pragma once

#include "record/record_view.h"

/* X(constant, name in records, title on a screen). */
#define SCHED_STATES(X)                      \
	X(RUNNING, running, "running")       \
	X(RUN_QUEUE, run_queue, "run queue") \
	X(BLOCKED, blocked, "blocked")       \
	X(UNINTERRUPTIBLE, uninterruptible, "uninterruptible")

enum sched_state {
#define SCHED_STATE_CONSTANT(state, name, title) SCHED_##state,
	SCHED_STATES(SCHED_STATE_CONSTANT)
#undef SCHED_STATE_CONSTANT
	_SCHED_STATE_MAX,
};

/* Blocked or uninterruptible: the thread waits for an event, not for a CPU. */
static inline bool sched_state_is_asleep(enum sched_state state)
{
	return state == SCHED_BLOCKED || state == SCHED_UNINTERRUPTIBLE;
}

/* The name in records, such as "run_queue". */
const char *sched_state_name(enum sched_state state);
/* The title on a screen, such as "run queue". */
const char *sched_state_title(enum sched_state state);
/* Returns the state with this name in records; -EINVAL if there is none. */
int sched_state_find(struct record_text name);
