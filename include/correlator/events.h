/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records of the ring buffer: events only, never the accounting. The kernel programs write them,
 * recorder/probe/session.h reads them. All have the same size, so a reader can check it.
 */
#pragma once

#include <linux/types.h>

#include <correlator/limits.h>

enum event_kind {
	EVENT_KIND_FORK = 1, /* a new process (not a thread) of an observed parent */
	EVENT_KIND_EXEC = 2, /* an observed process replaced its program */
	EVENT_KIND_EXIT = 3, /* the last thread of an observed process exited */
	EVENT_KIND_LOAD = 4, /* its dynamic loader is about to (un)load objects, or just did */
	EVENT_KIND_ASK = 5, /* a context begins that cannot be read: see context_ask() */
	EVENT_KIND_OTEL_KEYS = 6, /* an attribute's index is not in the key map as last read */
	/* An unobserved process did an exec, or a rename (STRANGERS_BY_NAME); or a watched one was
	 * forked or loads objects. Only kind, tgid and ktime_ns are set. */
	EVENT_KIND_STRANGER = 7,
	_EVENT_KIND_MAX,
};

struct event {
	__u32 kind; /* enum event_kind */
	__u32 tgid; /* of the process, in the observer's pid namespace */
	__u32 parent_tgid; /* FORK: tgid of its parent */
	__u32 ns_tgid; /* tgid in the process's own pid namespace */
	__u64 life; /* of the process (life.h) */
	__u64 ktime_ns; /* CLOCK_MONOTONIC */
	union {
		__u64 parent_life; /* FORK */
		__u64 image; /* EXEC: the new image */
		__u64 address; /* ASK: of the probe, in the process; 0 = no probe */
		__u64 detail; /* any of the above */
	};
	__u64 start_ticks; /* life.h; 0 = not known: EXIT, STRANGER */
	char comm[COMM_BYTES];
};

_Static_assert(sizeof(struct event) == 64, "layout");
_Static_assert(__builtin_offsetof(struct event, comm) == 48, "layout");
