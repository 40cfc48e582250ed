/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The progress of a Ruby's garbage collections, and what two such states prove: whether the object
 * at an address now must be the one that was there then.
 *
 * It is certainly the same object
 * - if no collection can have freed anything: none has begun since, and the last one either had
 *   finished marking then or is still marking; or
 * - if a collection has found it in use (RUBY_OBJECT_SURVIVED), and at most one has begun since:
 *   the first collection that can have freed the earlier object cannot mark its successor at that
 *   address, so that takes a second one. A collection that was marking then may itself be the
 *   first.
 * The second rule does not cover an object that a compaction has moved to that address: the caller
 * must exclude it by a property that no two coexisting objects share.
 *
 * Facts: gc_start(), gc_marks_finish(), gc_aging(), gc_writebarrier_incremental() and gc_move() of
 * gc.c, v2_7_4 to v3_3_8, and of gc/default/default.c, v3_4_1 to v4_0_1.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/ruby_stack_layout.h>

#include "recorder/target/proc/memory_reader.h"

enum gc_phase {
	GC_UNKNOWN, /* or objects may be moving */
	GC_MARKING,
	GC_SETTLED, /* what the last collection frees is decided */
};

struct gc_state {
	uint64_t count; /* collections begun so far */
	enum gc_phase phase;
};

/* Raw values of a state: flags, count, and flags again, to be read between other reads. */
struct gc_reading {
	uint8_t before;
	uint8_t after;
	uint64_t count;
};

enum {
	GC_SPANS = 3
};

/* flags: the byte at gc_flags_address, read after the count; above UINT8_MAX = not known. */
struct gc_state gc_state_of(const struct ruby_stack_layout *layout, uint64_t count, uint32_t flags);

/* The memory to read for a state, and the state once it was read. */
void gc_state_spans(const struct ruby_stack_layout *layout, struct gc_reading *reading,
		    struct memory_span ret_spans[static GC_SPANS]);
struct gc_state gc_state_read(const struct ruby_stack_layout *layout,
			      const struct gc_reading *reading);

/* The two rules above; now is not before then. */
bool gc_state_freed_nothing(const struct gc_state *then, const struct gc_state *now);
bool gc_state_keeps_survivors(const struct gc_state *then, const struct gc_state *now);
