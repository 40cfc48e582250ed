/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stack as the kernel programs met it, and whether what is at its frames' addresses has been
 * there since. Owns nothing; single thread; does not log.
 */
#pragma once

#include <correlator/ruby_stack_layout.h>
#include <correlator/stacks.h>

#include "recorder/symbolize/gc_state.h"
#include "recorder/target/proc/memory_reader.h"

struct stack_sighting {
	const struct ruby_frames *frames; /* borrowed */
	struct gc_state then;
	int has_same_methods; /* of all frames; -1 = not looked at yet */
};

struct stack_sighting stack_sighting_of(const struct stack_message *message,
					const struct ruby_stack_layout *layout);

/*
 * Whether the objects of one of its frames are older than it, if gc_state_keeps_survivors() says so
 * of a state that is read after this: so 1 if a collection has found them in use; if the frame's pc
 * is in the code of what is there now, and methods have the definition and class that they had. No
 * two objects that exist at a time share code; entries with the same definition and class are
 * called the same. 0; an error of the reader.
 */
int stack_sighting_is_of(struct stack_sighting *sighting, const struct memory_reader *reader,
			 const struct ruby_stack_layout *layout, const struct ruby_frame *frame);
