/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A random life of a few threads, as a list of events: by seed, printed, and shrunk while it still
 * fails. An event is an attempt: what cannot happen where it comes does not (world.h), so a list is
 * still one when events are dropped from it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	STORY_STEPS_MAX = 400
};

/* X(name, weight): how often it comes, beside the others. */
#define STEP_LIST(X)    \
	X(SWITCH, 40)   \
	X(WAKE, 16)     \
	X(ENTER, 30)    \
	X(EXIT, 30)     \
	X(PROBE, 16)    \
	X(STORE, 16)    \
	X(REWRITE, 2)   \
	X(COUNT, 8)     \
	X(HIDE, 2)      \
	X(INTERRUPT, 4) \
	X(ITERATE, 3)   \
	X(END, 3)       \
	X(DRAIN, 4)     \
	X(CREATE, 6)    \
	X(FORK, 4)      \
	X(LEAVE, 4)     \
	X(EXEC, 20)     \
	X(RENAME, 2)    \
	X(CONFIGURE, 5) \
	X(HOLD, 3)      \
	X(RELEASE, 6)   \
	X(STEAL, 4)     \
	X(FIND, 6)      \
	X(SPLIT, 2)     \
	X(FILL, 1)      \
	X(STOP, 0)

enum step_kind {
#define STEP_ENUM(name, weight) STEP_##name,
	STEP_LIST(STEP_ENUM)
#undef STEP_ENUM
	_STEP_MAX,
};

struct step {
	uint32_t after_ns; /* the event before it */
	uint8_t kind; /* enum step_kind */
	uint8_t who; /* a CPU, a thread or a process */
	uint8_t what;
};

/* How the programs were loaded. */
struct story_mode {
	bool counts_syscalls; /* by number, as with record --syscalls: no edge goes the short way */
	bool tells_waits; /* as with record --stacks=off-cpu: each wait is charged for itself */
	bool has_split; /* the edges of system calls are seen, unless that is given up for a while
			 */
	bool has_timeline;
	bool tells_stalls;
	bool has_children;
	bool is_lean; /* from the start, and for good */
	bool counts_changes; /* the gem does */
	bool follows; /* what is forked is observed, too */
	bool tells_execs; /* while the old program is there, since 6.10; else read at the call */
	bool finds; /* others are there, and are looked for */
};

struct story {
	struct story_mode mode;
	struct step steps[STORY_STEPS_MAX];
	size_t count;
};

void story_write(struct story *story, uint64_t seed);
void story_print(const struct story *story);
/* Reads the events as story_print() prints them, line by line. False: one of them is no event. */
bool story_read(struct story *story, const char *events);

/* Drops what the failure does not need. */
typedef bool (*story_fails_fn)(const struct story *story);
void story_shrink(struct story *story, story_fails_fn fails);
