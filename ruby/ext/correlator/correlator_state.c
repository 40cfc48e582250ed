#include "correlator_state.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* What is allocated: the count lies in front of the part that observers see. */
struct counted_state {
	/* Atomic: on Ruby 3.3+ a thread of another Ractor may drop a reference (see fiber_context).
	 */
	atomic_size_t references;
	struct correlator_state_owner owner;
	struct Ruby_Profiler_State state;
};

/* General dynamic, also where a compiler would choose better: observers look for its GOT entries.
 */
_Thread_local __attribute__((
	tls_model("global-dynamic"))) struct Ruby_Profiler_State *ruby_profiler_state;

static struct counted_state *counted(struct Ruby_Profiler_State *state)
{
	return (struct counted_state *)((char *)state - offsetof(struct counted_state, state));
}

__attribute__((noinline)) void correlator_state_apply(struct Ruby_Profiler_State *state)
{
	struct Ruby_Profiler_State *previous = ruby_profiler_state;

	correlator_state_ref(state);
	ruby_profiler_state = state;
	correlator_state_unref(previous);
}

struct correlator_state_owner *correlator_state_owner(struct Ruby_Profiler_State *state)
{
	return &counted(state)->owner;
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
	struct counted_state *block =
		calloc(1, sizeof(*block) + capacity * sizeof(struct Ruby_Profiler_Pair));

	if (!block)
		return NULL;
	atomic_init(&block->references, 1);
	block->owner.object = Qnil;
	block->state.capacity = capacity;
	return &block->state;
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
	return sizeof(struct counted_state) + state->capacity * sizeof(struct Ruby_Profiler_Pair);
}

void correlator_state_ref(struct Ruby_Profiler_State *state)
{
	if (state)
		atomic_fetch_add(&counted(state)->references, 1);
}

void correlator_state_unref(struct Ruby_Profiler_State *state)
{
	if (state && atomic_fetch_sub(&counted(state)->references, 1) == 1)
		free(counted(state));
}

void correlator_state_retire(struct Ruby_Profiler_State *state)
{
	if (!state)
		return;
	counted(state)->owner = (struct correlator_state_owner){ .object = Qnil };
	if (atomic_load(&counted(state)->references) > 1) {
		state->size = 0;
		memset(state->pairs, 0, state->capacity * sizeof(state->pairs[0]));
	}
	correlator_state_unref(state);
}
