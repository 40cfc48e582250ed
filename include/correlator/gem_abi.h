/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What our own gem publishes beyond the ABI that it shares with others (state_abi.h): a tag in
 * front of each state, and two more thread-locals. Source: ruby/ext/correlator/correlator_state.h,
 * to which ruby/test/abi_test.rb compares this. All fields are the target's data: validate before
 * use.
 */
#pragma once

#include <linux/types.h>

/* Exported where states have tags. */
#define GEM_HEADER_SYMBOL "correlator_state_header"

struct gem_header {
	__u32 version; /* 1 */
	__u32 flags; /* 0 */
	__u64 magic;
};

/*
 * Right in front of the state_header, one read with it: check = serial ^ the state's address ^
 * magic, or 0 as soon as the state is no more. Of another publisher's state it is anything. A
 * serial, from 1 on, is never used again in a process; a forked child goes on with its parent's.
 */
struct gem_state_tag {
	__u64 check;
	__u64 serial;
};

/*
 *   void correlator_state_apply(struct Ruby_Profiler_State *state, uint64_t fiber);
 *   void correlator_fiber_apply(struct Ruby_Profiler_State *state, uint64_t fiber);
 *
 * The first stores the pointer; the second, empty, is called where the state stays and the fiber is
 * another one. If there is the second, fiber is the number of the fiber that goes on: from 1 on,
 * never used again in a process, a forked child goes on with its parent's; 0 = not known.
 */
#define GEM_FIBER_SYMBOL "correlator_fiber_apply"

/*
 *   extern _Thread_local uint64_t correlator_changes;
 *
 * How often the pointer was stored on this native thread: as long as it stays, so does what the
 * pointer leads to. At most GEM_CHANGES_WORDS_MAX words before or behind ruby_profiler_state, if
 * both symbols are the gem's.
 */
#define GEM_CHANGES_SYMBOL    "correlator_changes"
#define GEM_CHANGES_WORDS_MAX 2

/*
 *   extern _Thread_local struct correlator_thread *correlator_thread;
 *
 * NULL as long as the Ruby thread has published nothing. As near to ruby_profiler_state, if both
 * symbols are the gem's.
 */
#define GEM_THREAD_SYMBOL "correlator_thread"

enum gem_thread_flags {
	GEM_THREAD_COUNTS_GVL = 1 << 0, /* ready_ns, wait_ns and waits are kept */
	GEM_THREAD_COUNTS_GC = 1 << 1, /* gc_enters and gc_exits are kept */
	GEM_THREAD_TIMES_GC = 1 << 2, /* gc_time and gc_runs are there, and kept */
};

/*
 * Plain memory, never given back; a counter that no flag announces is 0. What is behind gc_exits is
 * not there at all unless its flag is set: it is another gem's memory, or nobody's.
 *
 * gc_time is CLOCK_MONOTONIC's time inside of collections, on the CPU or not, in ns << 1; while one
 * goes on it is odd, and what the clock is ahead of that: one word, so that no boundary finds half
 * of a change.
 */
struct gem_thread {
	__u32 version; /* 1; 0: of no thread at present */
	__u32 flags; /* enum gem_thread_flags */
	__u64 serial; /* of the thread, never used again in a process */
	__u64 ready_ns; /* CLOCK_MONOTONIC, since when it waits for the GVL; 0: it does not */
	__u64 wait_ns; /* it has waited for the GVL, and how many times */
	__u64 waits;
	__u64 gc_enters; /* steps of collections that it has begun and ended; unequal within one */
	__u64 gc_exits;
	__u64 gc_time;
	__u64 gc_runs; /* collections that it has begun, each with its first step */
};

enum {
	GEM_THREAD_LEAST_BYTES = 56, /* of any gem that has such threads */
};

/*
 *   extern struct correlator_watch correlator_watch;
 *
 * What is counted of threads from now on, in the whole process. Without the symbol: nothing.
 */
#define GEM_WATCH_SYMBOL "correlator_watch"

struct gem_watch {
	__u32 version; /* 1 */
	__u32 flags; /* enum gem_thread_flags */
};

_Static_assert(sizeof(struct gem_watch) == 8, "ABI: watch");
_Static_assert(sizeof(struct gem_header) == 16, "ABI: header");
_Static_assert(sizeof(struct gem_state_tag) == 16, "ABI: tag");
_Static_assert(__builtin_offsetof(struct gem_thread, gc_time) == GEM_THREAD_LEAST_BYTES &&
		       sizeof(struct gem_thread) == 72,
	       "ABI: thread");
