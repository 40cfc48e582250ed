/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding processes to observe: every Ruby process of the machine that publishes the thread-local,
 * as they come and go. Called by a recording when a look is due. Single thread; logs nothing of its
 * own (target_open logs what it refuses).
 *
 * All of /proc is gone over at the start, by the first look. After that who execs is told by
 * discovery_expect(), and a Ruby that does not publish yet is a candidate: its owner is asked to
 * watch its loader and its forks, and tells of them in the same way. A pass over /proc, a few
 * processes at a time, once a minute and when events were lost, finds what nobody told of. So
 * strangers cost next to nothing, and how soon one is found does not depend on who else is there.
 *
 * A process is known by (pid, start time), so a pid that is used again is another process; its
 * program by where code and stack lie (process.h), so an exec is seen. What is looked into is
 * opened once: whoever is told goes on with it. Ruby is looked for where a mapped file has "ruby"
 * in its path. A program that has not been Ruby for two seconds is not looked at again until an
 * exec: one that loads libruby later is not found.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/target.h"

struct discovery;

/*
 * comm, cgroup: as process_filter.h; NULL = any. keys: of the targets that are reported; they also
 * say which publishers count, Ruby's or OpenTelemetry's: either is enough. The process must be Ruby
 * all the same. 0 or -ENOMEM. *ret_discovery is the caller's.
 */
int discovery_new(const char *comm, const char *cgroup, const struct target_keys *keys,
		  struct object_files *files, struct discovery **ret_discovery);
void discovery_free(struct discovery *discovery);
DEFINE_CLEANUP(struct discovery *, discovery_free);

/* Who is told, in the course of a look. */
struct discovery_owner {
	/*
	 * Takes note of a process. The target, just looked at, is the callee's, whatever it
	 * returns. A negative result ends the look, and the process is reported again by the next
	 * one.
	 */
	int (*on_found)(void *user, struct target *target);
	/*
	 * A Ruby that does not publish yet. 0: its forks, and that its loader is at work, are told
	 * from now on, so it need not be looked at now and then. The target is borrowed.
	 */
	int (*on_candidate)(void *user, const struct target *target);
	/* It is none any more, and was not found: it has ended, or runs another program. */
	void (*on_dropped)(void *user, pid_t pid);
	void *user;
};

/*
 * Does what is due: reports each process that passes the filter, is Ruby, publishes the
 * thread-local (target.h) and was not reported before; never the caller's own. now_ns is
 * CLOCK_MONOTONIC: a Ruby that does not publish (yet) is looked at again after a pause that grows
 * from 50 ms to 2 s, while that may help. 0, what on_found returned, -ENOMEM, -EMFILE or -ENFILE,
 * or -errno of /proc.
 */
int discovery_look(struct discovery *discovery, uint64_t now_ns,
		   const struct discovery_owner *owner);
/*
 * When that is due; while something is told, at most STRANGERS_PAUSE_NS (limits.h) after that: who
 * tells wakes nobody up in between.
 */
uint64_t discovery_next_look(const struct discovery *discovery);

/* A process has run another program, or is watched and was forked, or loads objects: within 50 ms
 * it is looked at. */
void discovery_expect(struct discovery *discovery, pid_t pid, uint64_t now_ns);
/* Of some nothing was told: all are gone over. */
void discovery_expect_any(struct discovery *discovery, uint64_t now_ns);
/*
 * How many of the processes that the last pass met and that pass the filter may not be read: any of
 * them may be Ruby.
 */
size_t discovery_unreadable(const struct discovery *discovery);
