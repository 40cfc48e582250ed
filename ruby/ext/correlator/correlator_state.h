/* SPDX-License-Identifier: MIT */
/*
 * The table that an observer reads and the thread-local that points to it. The layout and the name
 * of the variable are an ABI shared with the gem ruby-profiler (socketry/ruby-profiler,
 * ext/ruby/profiler/state.h at 945c8ae), so an observer of one observes the other.
 *
 * A table is filled once, then shared and read-only. It belongs to one State object
 * (state_object.h), which lives as long as any native thread's variable points to it
 * (publication.h). All functions want the GVL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <ruby.h>

#define CORRELATOR_EXPORT __attribute__((visibility("default")))

enum correlator_state_limits {
	/* Slots of a table: what an observer is willing to walk. */
	CORRELATOR_STATE_CAPACITY_MAX = 64,
	/* A table is at most half full, so that a missing key is found to be missing early. */
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
 * The state in force on this native thread; NULL = none. For observers. The dynamic linker may make
 * it one with that of another extension that publishes, or point both to a third, so anything may
 * be in it: it is written by correlator_state_apply() only, and never read.
 */
extern _Thread_local struct Ruby_Profiler_State *ruby_profiler_state CORRELATOR_EXPORT;

/*
 * The one place that stores to ruby_profiler_state, and so the place for a probe: at its entry the
 * variable still names the state that the past belongs to. It begins with an instruction that the
 * kernel emulates for a uprobe (push, x86-64) and keeps nothing below its stack pointer. state:
 * NULL or a table, which the caller keeps alive until the next call on this native thread. Cannot
 * fail.
 */
CORRELATOR_EXPORT void correlator_state_apply(struct Ruby_Profiler_State *state);

/*
 * An empty table with room for `keys` keys (at most CORRELATOR_STATE_KEYS_MAX); NULL without
 * memory.
 */
struct Ruby_Profiler_State *correlator_state_new(size_t keys);

/* NULL is accepted. */
void correlator_state_free(struct Ruby_Profiler_State *state);

/* Sets key (not 0) to value, in place of an earlier one. There must be room for a new key. */
void correlator_state_insert(struct Ruby_Profiler_State *state, ID key, VALUE value);

/* The pair of key, NULL when there is none. Valid as long as the table. */
const struct Ruby_Profiler_Pair *correlator_state_find(const struct Ruby_Profiler_State *state,
						       ID key);

/* In how many places the table is set, for its owner to count. Valid as long as the table. */
size_t *correlator_state_places(struct Ruby_Profiler_State *state);

/* Bytes of memory that the table takes. */
size_t correlator_state_bytes(const struct Ruby_Profiler_State *state);
