/*
 * The table that an observer reads and the thread-local that points to it. The layout and the name
 * of the variable are an ABI shared with the gem ruby-profiler (socketry/ruby-profiler,
 * ext/ruby/profiler/state.h at 945c8ae), so an observer of one observes the other.
 *
 * A table is filled once, then shared and read-only. Its memory is counted: one reference for the
 * State object that owns it, one for each native thread whose variable points to it, so that the
 * variable never points to freed memory. All functions want the GVL.
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

/* What the owner of a table notes down beside it: the object, and in how many places it is set. */
struct correlator_state_owner {
	VALUE object; /* Qnil: there is none any more. */
	size_t places;
};

/* The state in force on this native thread; NULL = none. Written by correlator_state_apply() only.
 */
extern _Thread_local struct Ruby_Profiler_State *ruby_profiler_state CORRELATOR_EXPORT;

/*
 * The one place that stores to ruby_profiler_state, and so the place for a probe: at its entry the
 * variable still names the state that the past belongs to. It begins with an instruction that the
 * kernel emulates for a uprobe (push, x86-64) and calls other functions, so nothing lives below its
 * stack pointer. state: NULL or a table of correlator_state_new(); takes a reference on it and
 * drops the one on the table before. Cannot fail.
 */
CORRELATOR_EXPORT void correlator_state_apply(struct Ruby_Profiler_State *state);

/*
 * An empty table with room for `keys` keys (at most CORRELATOR_STATE_KEYS_MAX), with one reference,
 * the caller's; NULL without memory.
 */
struct Ruby_Profiler_State *correlator_state_new(size_t keys);

/* Sets key (not 0) to value, in place of an earlier one. There must be room for a new key. */
void correlator_state_insert(struct Ruby_Profiler_State *state, ID key, VALUE value);

/* The pair of key, NULL when there is none. Valid as long as the table. */
const struct Ruby_Profiler_Pair *correlator_state_find(const struct Ruby_Profiler_State *state,
						       ID key);

/* Valid as long as the table. */
struct correlator_state_owner *correlator_state_owner(struct Ruby_Profiler_State *state);

/* Bytes of memory that the table takes. */
size_t correlator_state_bytes(const struct Ruby_Profiler_State *state);

/* One more, one less reference; NULL is accepted. */
void correlator_state_ref(struct Ruby_Profiler_State *state);
void correlator_state_unref(struct Ruby_Profiler_State *state);

/*
 * Drops the reference of an owner that kept the values alive: if a thread still points to the
 * table, that thread finds it empty from now on, never with dead values. NULL is accepted.
 */
void correlator_state_retire(struct Ruby_Profiler_State *state);
