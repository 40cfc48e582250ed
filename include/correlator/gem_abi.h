/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ABI of our own gem beyond the one that it shares with others (state_abi.h): a tag in front of
 * each state, and two more thread-locals. Source: ruby/ext/correlator/correlator_state.h;
 * ruby/test/abi_test.rb compares the two. All fields are the target's data: validate before use.
 */
#pragma once

#include <linux/types.h>

/* Exported if states have tags. */
#define GEM_HEADER_SYMBOL "correlator_state_header"

struct gem_header {
	__u32 version; /* 1 */
	__u32 flags; /* 0 */
	__u64 magic;
};

/*
 * Directly in front of the state_header, so that one read gets both. check = serial ^ the state's
 * address ^ magic, or 0 as soon as the state is freed; in front of another publisher's state it can
 * be anything. Serials begin with 1 and are never reused in a process; a forked child continues its
 * parent's.
 */
struct gem_state_tag {
	__u64 check;
	__u64 serial;
};

/*
 *   void correlator_state_apply(struct Ruby_Profiler_State *state, uint64_t fiber,
 *                               uint64_t serial);
 *   void correlator_fiber_apply(struct Ruby_Profiler_State *state, uint64_t fiber,
 *                               uint64_t serial);
 *
 * The first stores the pointer; the second is empty, and is called when the fiber changes and the
 * state does not. If the second exists, fiber is the number of the fiber that runs from here on; 0
 * = not known. Numbers begin with 1 and are never reused in a process; a forked child continues its
 * parent's.
 */
#define GEM_FIBER_SYMBOL "correlator_fiber_apply"

/*
 *   extern const uint32_t correlator_state_serials;
 *
 * If it exists, serial is that of the state's tag (struct gem_state_tag), or 0 = not known, or
 * state is NULL. A state with a serial is never changed.
 */
#define GEM_SERIALS_SYMBOL "correlator_state_serials"

/*
 *   extern _Thread_local uint64_t correlator_changes;
 *
 * The number of times that the pointer was stored on this native thread: while it is unchanged, so
 * is the data that the pointer leads to. At most GEM_CHANGES_WORDS_MAX words before or after
 * ruby_profiler_state, if both symbols are the gem's.
 */
#define GEM_CHANGES_SYMBOL    "correlator_changes"
#define GEM_CHANGES_WORDS_MAX 2

/*
 *   extern _Thread_local struct correlator_thread *correlator_thread;
 *
 * NULL until the Ruby thread publishes something. As near to ruby_profiler_state as
 * correlator_changes is, if both symbols are the gem's.
 */
#define GEM_THREAD_SYMBOL "correlator_thread"

enum gem_thread_flags {
	GEM_THREAD_COUNTS_GVL = 1 << 0, /* ready_ns, wait_ns and waits are kept */
	GEM_THREAD_COUNTS_GC = 1 << 1, /* gc_enters and gc_exits are kept */
	GEM_THREAD_TIMES_GC = 1 << 2, /* gc_time and gc_runs exist and are kept */
};

/*
 * Plain memory, never freed; a counter whose flag is not set is 0. The fields after gc_exits exist
 * only if GEM_THREAD_TIMES_GC is set: otherwise that memory is another gem's, or unallocated.
 *
 * gc_time is the CLOCK_MONOTONIC time spent inside collections, on the CPU or not, in ns << 1.
 * During a step of one it is odd, and holds the clock minus that time instead: one word, so that no
 * boundary sees half of a change.
 */
struct gem_thread {
	__u32 version; /* 1; 0 = of no thread at present */
	__u32 flags; /* enum gem_thread_flags */
	__u64 serial; /* of the thread, never reused in a process */
	__u64 ready_ns; /* CLOCK_MONOTONIC at the start of its wait for the GVL; 0 = not waiting */
	__u64 wait_ns; /* total time waited for the GVL; waits: number of waits */
	__u64 waits;
	__u64 gc_enters; /* collection steps begun; gc_exits: ended; unequal within a step */
	__u64 gc_exits;
	__u64 gc_time;
	__u64 gc_runs; /* collections begun, counted at their first step */
};

enum {
	GEM_THREAD_LEAST_BYTES = 56, /* exist in every gem that has this struct */
};

/*
 *   extern struct correlator_watch correlator_watch;
 *
 * Announces the counters kept for threads from now on, in the whole process. Without the
 * symbol: none.
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
