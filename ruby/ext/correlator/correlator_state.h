/* SPDX-License-Identifier: MIT */
/*
 * An observer reads the table of a state, the thread-local that points to it, and two more beside
 * it: how often that was set, and what else is known of the thread. The layout of the table and the
 * name of the first variable are an ABI shared with the gem ruby-profiler (socketry/ruby-profiler,
 * ext/ruby/profiler/state.h at 945c8ae), so an observer of one observes the other. All the rest is
 * this gem's own (include/correlator/gem_abi.h of the observer is the other side of it).
 *
 * A table is filled once, then shared and read-only. It belongs to one State object
 * (state_object.h), which lives as long as any native thread's variable points to it
 * (publication.h). All functions want the GVL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ruby.h>

#define CORRELATOR_EXPORT __attribute__((visibility("default")))

enum correlator_state_limits {
	/* Slots of a table: what an observer is willing to walk. */
	CORRELATOR_STATE_CAPACITY_MAX = 64,
	/* All that a table of half that size cannot hold, with the empty slot that ends a search.
	 */
	CORRELATOR_STATE_KEYS_MAX = CORRELATOR_STATE_CAPACITY_MAX / 2,
	/* Keys over the life of the process that no source file names. */
	CORRELATOR_STATE_NAMES_MAX = 1000,
};

/* key 0 is an empty slot. A pair lies in the first free slot at or after key & (capacity - 1). */
struct Ruby_Profiler_Pair {
	ID key;
	VALUE value;
};

/* size = pairs in use, capacity = slots, a power of two. */
struct Ruby_Profiler_State {
	size_t size;
	size_t capacity;
	struct Ruby_Profiler_Pair pairs[];
};

_Static_assert(sizeof(struct Ruby_Profiler_Pair) == 16, "ABI: pair");
_Static_assert(offsetof(struct Ruby_Profiler_State, pairs) == 16, "ABI: header");

/*
 * Right in front of each table, so that an observer can know one again in a single read of both:
 * check is serial ^ the table's address ^ CORRELATOR_STATE_MAGIC, and zero as soon as the table is
 * no more. Of another publisher's table it is anything. Serials begin with 1 and are never used
 * again in a process; a forked child goes on with its parent's.
 */
struct correlator_state_tag {
	uint64_t check;
	uint64_t serial;
};

_Static_assert(sizeof(struct correlator_state_tag) == 16, "ABI: tag");

#define CORRELATOR_STATE_MAGIC UINT64_C(0x9c1f6b3ad2e8750b)

/* That there are such tags: what an observer looks for by the name of the symbol. */
struct correlator_state_header {
	uint32_t version; /* 1 */
	uint32_t flags; /* 0 */
	uint64_t magic; /* CORRELATOR_STATE_MAGIC */
};

extern const struct correlator_state_header correlator_state_header CORRELATOR_EXPORT;

/*
 * What is known of a Ruby thread besides its context. Plain memory, which is never given back, but
 * used again for another thread under another serial. A counter that its flag does not announce is
 * 0. Times are those of CLOCK_MONOTONIC.
 */
enum correlator_thread_flags {
	CORRELATOR_THREAD_COUNTS_GVL = 1 << 0, /* ready_ns, wait_ns and waits are kept */
	CORRELATOR_THREAD_COUNTS_GC = 1 << 1, /* gc_enters and gc_exits are kept */
	CORRELATOR_THREAD_TIMES_GC = 1 << 2, /* gc_time and gc_runs are there, and kept */
};

struct correlator_thread {
	uint32_t version; /* 1; 0: of no thread at present */
	uint32_t flags;
	uint64_t serial; /* never used again in a process */
	uint64_t ready_ns; /* since when it waits for the GVL; 0: it does not */
	uint64_t wait_ns; /* it has waited for the GVL, and how many times */
	uint64_t waits;
	uint64_t gc_enters; /* steps of collections that it has begun and ended; unequal within one
			     */
	uint64_t gc_exits;
	uint64_t gc_time; /* inside of them, ns << 1; within one odd: what the clock is ahead of it
			   */
	uint64_t gc_runs; /* collections that it has begun, each with its first step */
};

_Static_assert(sizeof(struct correlator_thread) == 72, "ABI: thread");

/* What is counted of threads from now on, in the whole process. */
struct correlator_watch {
	uint32_t version; /* 1 */
	uint32_t flags; /* enum correlator_thread_flags */
};

_Static_assert(sizeof(struct correlator_watch) == 8, "ABI: watch");

/* Written by publication.c only. */
extern struct correlator_watch correlator_watch CORRELATOR_EXPORT;

/*
 * Of the Ruby thread that runs on this native thread; NULL as long as it has published nothing.
 * In the same PT_TLS segment as the variable below, so that one read gets both.
 */
extern _Thread_local struct correlator_thread *correlator_thread CORRELATOR_EXPORT;

/*
 * The state in force on this native thread; NULL = none. For observers. The dynamic linker may make
 * it one with that of another extension that publishes, or point both to a third, so anything may
 * be in it: it is written by correlator_state_apply() only, and never read.
 */
extern _Thread_local struct Ruby_Profiler_State *ruby_profiler_state CORRELATOR_EXPORT;

/*
 * How often ruby_profiler_state was stored on this native thread: an observer that looks now and
 * then learns from it whether the state has stayed, or has changed and come back. One read gets
 * both: no more than correlator_thread lies between them.
 */
extern _Thread_local uint64_t correlator_changes CORRELATOR_EXPORT;

/*
 * The one place that stores to ruby_profiler_state, and so the place for a probe: at its entry the
 * variable still names the state that the past belongs to. It begins with an instruction that the
 * kernel emulates for a uprobe (push, x86-64) and keeps nothing below its stack pointer. state:
 * NULL or a table, which the caller keeps alive until the next call on this native thread. serial:
 * the table's, by which a probe knows what it has seen before; 0 = not known, or NULL. Cannot
 * fail.
 */
CORRELATOR_EXPORT void correlator_state_apply(struct Ruby_Profiler_State *state, uint64_t fiber,
					      uint64_t serial);

/*
 * The same where the state stays and the fiber is another one: nothing is stored, this is a place
 * for a probe only. Where there is this function, both say which fiber it is from now on: a number
 * from 1 on that no other fiber of the process has had; 0 = not known.
 */
CORRELATOR_EXPORT void correlator_fiber_apply(struct Ruby_Profiler_State *state, uint64_t fiber,
					      uint64_t serial);

/* That both are given the serial: what an observer looks for by the name of the symbol. 1. */
extern const uint32_t correlator_state_serials CORRELATOR_EXPORT;

/*
 * An empty table with room for `keys` keys (at most CORRELATOR_STATE_KEYS_MAX), and a new serial.
 * Its memory is Ruby's to count: this may collect garbage, and raises NoMemoryError.
 */
struct Ruby_Profiler_State *correlator_state_new(size_t keys);

/* The serial that a table has been given. */
uint64_t correlator_state_serial(struct Ruby_Profiler_State *state);

/* NULL is accepted. The tag is emptied first. */
void correlator_state_free(struct Ruby_Profiler_State *state);

/* Sets key (not 0) to value, in place of an earlier one. There must be room for a new key. */
void correlator_state_insert(struct Ruby_Profiler_State *state, ID key, VALUE value);

/* The pair of key, NULL when there is none. Valid as long as the table. */
const struct Ruby_Profiler_Pair *correlator_state_find(const struct Ruby_Profiler_State *state,
						       ID key);

/* Bytes of memory that the table takes. */
size_t correlator_state_bytes(const struct Ruby_Profiler_State *state);
