/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the processes to observe: every Ruby process of the machine that publishes the
 * thread-local, as processes come and go. A recording calls it when a look is due. Single thread;
 * logs nothing itself (target_open logs what it refuses).
 *
 * The first look scans all of /proc. After that discovery_expect() reports each exec. A Ruby that
 * does not publish yet is a candidate: its owner is asked to watch its loader and its forks, and
 * reports them in the same way. A pass over /proc, a few processes at a time, once a minute and
 * when events were lost, finds unreported processes. So strangers cost next to nothing, and how
 * soon a process is found does not depend on what else runs.
 *
 * A process is identified by (pid, start time), so a reused pid is another process; its program by
 * the addresses of code and stack (process.h), so an exec is noticed. A process is opened once: the
 * callee of on_found continues with the same target. Ruby is looked for if a mapped file has "ruby"
 * in its path. A program that has not been Ruby for two seconds is not looked at again until an
 * exec: one that loads libruby later is not found.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "recorder/target/target.h"

struct discovery;

/*
 * comm, cgroup: as in process_filter.h; NULL = any. keys: for the reported targets; they also
 * select which publishers count, Ruby's or OpenTelemetry's: either is enough. The process must be
 * Ruby in any case. 0 or -ENOMEM. *ret_discovery is the caller's.
 */
int discovery_new(const char *comm, const char *cgroup, const struct target_keys *keys,
		  struct object_files *files, struct discovery **ret_discovery);
void discovery_free(struct discovery *discovery);
DEFINE_CLEANUP(struct discovery *, discovery_free);

/* Callbacks that a look invokes. */
struct discovery_owner {
	/*
	 * Reports a process. The callee owns the target, which was just looked at, whatever it
	 * returns. A negative result ends the look, and the next look reports the process again.
	 */
	int (*on_found)(void *user, struct target *target);
	/*
	 * Reports a Ruby that does not publish yet. 0: the callee reports its forks and its
	 * loader's activity from now on, so polling may stop. The target is borrowed.
	 */
	int (*on_candidate)(void *user, const struct target *target);
	/*
	 * The process is no candidate any more and was not found: it ended, or runs another
	 * program.
	 */
	void (*on_dropped)(void *user, pid_t pid);
	void *user;
};

/*
 * Does what is due. Reports each process that passes the filter, is Ruby, publishes the
 * thread-local (target.h) and was not reported before; never the caller's own. now_ns is
 * CLOCK_MONOTONIC. While it may help, a Ruby that does not publish (yet) is looked at again after a
 * pause that grows from 50 ms to 2 s. 0, what on_found returned, -ENOMEM, -EMFILE or -ENFILE, or
 * -errno of /proc.
 */
int discovery_look(struct discovery *discovery, uint64_t now_ns,
		   const struct discovery_owner *owner);
/*
 * When the next look is due. After discovery_expect(), at most STRANGERS_PAUSE_NS (limits.h) later:
 * the sender of the events wakes nobody up in between.
 */
uint64_t discovery_next_look(const struct discovery *discovery);

/*
 * A process has run another program, or a watched one was forked or loads objects: it is looked at
 * within 50 ms.
 */
void discovery_expect(struct discovery *discovery, pid_t pid, uint64_t now_ns);
/* Events were lost: scans all processes. */
void discovery_expect_any(struct discovery *discovery, uint64_t now_ns);
/*
 * Number of processes of the last pass that pass the filter and may not be read: any of them may be
 * Ruby.
 */
size_t discovery_unreadable(const struct discovery *discovery);
