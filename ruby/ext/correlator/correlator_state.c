/* SPDX-License-Identifier: MIT */
#include "correlator_state.h"

#include <stdatomic.h>

/* What is allocated: in front of the part that the shared ABI knows. */
struct tagged_state {
	struct correlator_state_tag tag;
	struct Ruby_Profiler_State state;
};

_Static_assert(offsetof(struct tagged_state, state) == sizeof(struct correlator_state_tag),
	       "ABI: the tag is right in front of the table");

const struct correlator_state_header correlator_state_header = {
	.version = 1,
	.magic = CORRELATOR_STATE_MAGIC,
};

const uint32_t correlator_state_serials = 1;

/* Exported, so of the general dynamic model: observers look for their GOT entries. */
_Thread_local struct Ruby_Profiler_State *ruby_profiler_state;
_Thread_local struct correlator_thread *correlator_thread;
_Thread_local uint64_t correlator_changes;

/* Of all Ractors. */
static _Atomic(uint64_t) last_serial;

static __attribute__((noinline)) void store(struct Ruby_Profiler_State *state)
{
	ruby_profiler_state = state;
	/* In this order: an observer that comes in between sees by the pointer that it changed. */
	__asm__ volatile("" : : : "memory");
	correlator_changes++;
}

/* A call, so that it has a frame whatever the TLS model makes of the store. */
__attribute__((noinline)) void correlator_state_apply(struct Ruby_Profiler_State *state,
						      uint64_t fiber, uint64_t serial)
{
	/* For the probe, whatever the compiler thinks of it. */
	__asm__ volatile("" : : "r"(fiber), "r"(serial));
	store(state);
}

/* Not empty, so that it is called, and with an instruction that the kernel emulates. */
__attribute__((noinline)) void correlator_fiber_apply(struct Ruby_Profiler_State *state,
						      uint64_t fiber, uint64_t serial)
{
	__asm__ volatile("nop" : : "r"(state), "r"(fiber), "r"(serial));
}

static struct tagged_state *tagged(struct Ruby_Profiler_State *state)
{
	return (struct tagged_state *)((char *)state - offsetof(struct tagged_state, state));
}

/* Volatile: what is emptied is freed next, and would be left out. */
static void set_tag(struct Ruby_Profiler_State *state, uint64_t check, uint64_t serial)
{
	volatile struct correlator_state_tag *tag = &tagged(state)->tag;

	tag->check = check;
	tag->serial = serial;
}

/* A power of two, of which one slot stays empty: it ends the search for a key that is not there. */
static size_t capacity_for(size_t keys)
{
	size_t capacity = 1;

	while (capacity <= keys)
		capacity *= 2;
	return capacity;
}

struct Ruby_Profiler_State *correlator_state_new(size_t keys)
{
	size_t capacity = capacity_for(keys);
	struct tagged_state *block =
		ruby_xcalloc(1, sizeof(*block) + capacity * sizeof(struct Ruby_Profiler_Pair));
	uint64_t serial = atomic_fetch_add_explicit(&last_serial, 1, memory_order_relaxed) + 1;

	block->state.capacity = capacity;
	set_tag(&block->state, serial ^ (uintptr_t)&block->state ^ CORRELATOR_STATE_MAGIC, serial);
	return &block->state;
}

uint64_t correlator_state_serial(struct Ruby_Profiler_State *state)
{
	return tagged(state)->tag.serial;
}

void correlator_state_free(struct Ruby_Profiler_State *state)
{
	if (!state)
		return;
	set_tag(state, 0, 0);
	ruby_xfree(tagged(state));
}

/* The slot of key, or the empty one where it belongs; a table is never full. */
static size_t slot_of(const struct Ruby_Profiler_State *state, ID key)
{
	size_t mask = state->capacity - 1;
	size_t slot = (size_t)key & mask;

	while (state->pairs[slot].key != 0 && state->pairs[slot].key != key)
		slot = (slot + 1) & mask;
	return slot;
}

void correlator_state_insert(struct Ruby_Profiler_State *state, ID key, VALUE value)
{
	struct Ruby_Profiler_Pair *pair = &state->pairs[slot_of(state, key)];

	if (pair->key == 0)
		state->size++;
	pair->value = value;
	pair->key = key;
}

const struct Ruby_Profiler_Pair *correlator_state_find(const struct Ruby_Profiler_State *state,
						       ID key)
{
	const struct Ruby_Profiler_Pair *pair = &state->pairs[slot_of(state, key)];

	return pair->key == key ? pair : NULL;
}

size_t correlator_state_bytes(const struct Ruby_Profiler_State *state)
{
	return sizeof(struct tagged_state) + state->capacity * sizeof(struct Ruby_Profiler_Pair);
}
