/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding processes to observe: every Ruby process of the machine that publishes the thread-local,
 * as they come and go. Called by a recording, every now and then. Single thread; logs nothing of
 * its own (target_open logs what it refuses).
 *
 * A process is known by (pid, start time), so a pid that is used again is another process; its
 * program by where code and stack lie (process.h), so an exec is seen. Of a process that is known
 * one small file is read. What is looked into is opened once: whoever is told goes on with it.
 * Ruby is looked for where a mapped file has "ruby" in its path. A program that has not been Ruby
 * for two seconds is not looked at again until an exec: one that loads libruby later is not found.
 */
#pragma once

#include <stdint.h>

#include "base/cleanup.h"
#include "target/target.h"

struct discovery;

/*
 * comm, cgroup: as process_filter.h; NULL = any. keys: of the targets that are reported; they also
 * say which publishers count, Ruby's or OpenTelemetry's: either is enough. The process must be Ruby
 * all the same. 0 or -ENOMEM. *ret_discovery is the caller's.
 */
int discovery_new(const char *comm, const char *cgroup, const struct target_keys *keys,
		  struct discovery **ret_discovery);
void discovery_free(struct discovery *discovery);
DEFINE_CLEANUP(struct discovery *, discovery_free);

/*
 * Takes note of a process. The target, just opened, is the callee's, whatever it returns. A
 * negative result ends the look, and the process is reported again by the next one.
 */
typedef int (*discovery_found_fn)(void *user, struct target *target);

/*
 * Goes over /proc once and reports each process that passes the filter, is Ruby, publishes the
 * thread-local (target.h) and was not reported before; never the caller's own. now_ns is
 * CLOCK_MONOTONIC: a Ruby that does not publish (yet) is looked at again after a pause that grows
 * from 50 ms to 2 s. 0, what on_found returned, -ENOMEM, -EMFILE or -ENFILE, or -errno of /proc.
 */
int discovery_look(struct discovery *discovery, uint64_t now_ns, discovery_found_fn on_found,
		   void *user);
