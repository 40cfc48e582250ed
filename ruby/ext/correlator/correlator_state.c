/* SPDX-License-Identifier: MIT */
#include "correlator_state.h"

#include <stdlib.h>

/* What is allocated: in front of the part that observers see. */
struct placed_state {
	size_t places;
	struct Ruby_Profiler_State state;
};

/* Exported, so of the general dynamic model: observers look for its GOT entries. */
_Thread_local struct Ruby_Profiler_State *ruby_profiler_state;

static __attribute__((noinline)) void store(struct Ruby_Profiler_State *state)
{
	ruby_profiler_state = state;
}

/* A call, so that it has a frame whatever the TLS model makes of the store. */
__attribute__((noinline)) void correlator_state_apply(struct Ruby_Profiler_State *state)
{
	store(state);
}

static struct placed_state *placed(struct Ruby_Profiler_State *state)
{
	return (struct placed_state *)((char *)state - offsetof(struct placed_state, state));
}

size_t *correlator_state_places(struct Ruby_Profiler_State *state)
{
	return &placed(state)->places;
}

static size_t capacity_for(size_t keys)
{
	size_t capacity = 1;

	while (capacity < 2 * keys)
		capacity *= 2;
	return capacity;
}

struct Ruby_Profiler_State *correlator_state_new(size_t keys)
{
	size_t capacity = capacity_for(keys);
	struct placed_state *block =
		calloc(1, sizeof(*block) + capacity * sizeof(struct Ruby_Profiler_Pair));

	if (!block)
		return NULL;
	block->state.capacity = capacity;
	return &block->state;
}

void correlator_state_free(struct Ruby_Profiler_State *state)
{
	if (state)
		free(placed(state));
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
	return sizeof(struct placed_state) + state->capacity * sizeof(struct Ruby_Profiler_Pair);
}
