/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a Ruby's collections are, and what two such instants say of an object: whether what is at
 * an address now must be what was there then. Owns nothing; any thread; does not log.
 *
 * It is the same one, surely,
 * - when no collection can have freed anything: as many have begun by now as had then, and the last
 *   of these had marked all that it keeps, or is marking still; or
 * - when a collection has found it in use (RUBY_OBJECT_SURVIVED), and no more than one has begun
 *   since: the first one that can have freed what was there then cannot mark what came to its place
 *   after it, and so that takes a second one. If one was marking then, it may be the first itself.
 * Of an object that a compaction has moved to that place the second says nothing: the caller has to
 * see that it is none, by what two objects that exist at a time have not in common.
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
	GC_UNKNOWN, /* or objects may be moved */
	GC_MARKING,
	GC_SETTLED, /* it is decided what the last collection frees */
};

struct gc_state {
	uint64_t count; /* of collections that have begun */
	enum gc_phase phase;
};

/* For between other reads: of before it, of itself, and of after it these are true. */
struct gc_reading {
	uint8_t before;
	uint8_t after;
	uint64_t count;
};

enum {
	GC_SPANS = 3
};

/* flags: the byte of gc_flags_address, read behind the count; not a byte = not known. */
struct gc_state gc_state_of(const struct ruby_stack_layout *layout, uint64_t count, uint32_t flags);

/* What to read for a state, and the state once that was read. */
void gc_state_spans(const struct ruby_stack_layout *layout, struct gc_reading *reading,
		    struct memory_span ret_spans[static GC_SPANS]);
struct gc_state gc_state_read(const struct ruby_stack_layout *layout,
			      const struct gc_reading *reading);

/* Both as above; now is not before then. */
bool gc_state_freed_nothing(const struct gc_state *then, const struct gc_state *now);
bool gc_state_keeps_survivors(const struct gc_state *then, const struct gc_state *now);
