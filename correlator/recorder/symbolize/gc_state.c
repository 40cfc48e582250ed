/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/symbolize/gc_state.h"

/* A collection that is on without a mode is about to mark, or has ended. */
struct gc_state gc_state_of(const struct ruby_stack_layout *layout, uint64_t count, uint32_t flags)
{
	struct gc_state state = { .count = count, .phase = GC_UNKNOWN };
	uint32_t mode = flags & RUBY_GC_MODE_MASK;

	if (!layout->gc_count_address || layout->gc_flags_mask != RUBY_GC_IS_ON ||
	    flags > UINT8_MAX || (flags & RUBY_GC_IS_COMPACTING))
		return state;
	if (mode == RUBY_GC_MODE_SWEEPING ||
	    (mode == RUBY_GC_MODE_NONE && !(flags & RUBY_GC_IS_ON)))
		state.phase = GC_SETTLED;
	else if (mode == RUBY_GC_MODE_MARKING || mode == RUBY_GC_MODE_NONE)
		state.phase = GC_MARKING;
	return state;
}

void gc_state_spans(const struct ruby_stack_layout *layout, struct gc_reading *reading,
		    struct memory_span ret_spans[static GC_SPANS])
{
	ret_spans[0] = (struct memory_span){ layout->gc_flags_address, &reading->before, 1 };
	ret_spans[1] = (struct memory_span){ layout->gc_count_address, &reading->count,
					     sizeof(reading->count) };
	ret_spans[2] = (struct memory_span){ layout->gc_flags_address, &reading->after, 1 };
}

struct gc_state gc_state_read(const struct ruby_stack_layout *layout,
			      const struct gc_reading *reading)
{
	struct gc_state before = gc_state_of(layout, reading->count, reading->before);
	struct gc_state after = gc_state_of(layout, reading->count, reading->after);

	if (before.phase != after.phase)
		after.phase = GC_UNKNOWN;
	return after;
}

bool gc_state_freed_nothing(const struct gc_state *then, const struct gc_state *now)
{
	return now->count == then->count &&
	       (then->phase == GC_SETTLED ||
		(then->phase == GC_MARKING && now->phase == GC_MARKING));
}

bool gc_state_keeps_survivors(const struct gc_state *then, const struct gc_state *now)
{
	return now->count - then->count <= (then->phase == GC_SETTLED ? 1 : 0);
}
