/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A stack as the kernel programs saw it, and whether the objects at its frames' addresses have been
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
	int has_same_methods; /* of all frames; -1 = not checked yet */
};

struct stack_sighting stack_sighting_of(const struct stack_message *message,
					const struct ruby_stack_layout *layout);

/*
 * Whether the objects of one of its frames are older than the sighting; valid if
 * gc_state_keeps_survivors() holds for a state that is read afterwards. 1 if a collection has found
 * them in use, the frame's pc is inside the code of the current iseq, and methods have the same
 * definition and class as then. No two coexisting objects share code; entries with the same
 * definition and class have the same name. 0; an error of the reader.
 */
int stack_sighting_is_of(struct stack_sighting *sighting, const struct memory_reader *reader,
			 const struct ruby_stack_layout *layout, const struct ruby_frame *frame);
