/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The names of a process's frames, kept: a frame that is asked for again is named by what was found
 * then, if no collection can have freed what has that name (gc_state.h), or if all that was read
 * for it is still what it was (witness.h). So an iseq or a method entry that was freed never lends
 * its name to what follows at its address; and no frame is named by what followed at its address
 * since its stack was met (stack_sighting.h): it is FRAME_UNKNOWN. One object a process image;
 * owned by whoever resolves its stacks; single thread; does not log.
 *
 * Of each name it is known from when to when what has it was surely the same, which a check
 * prolongs. A class that is given a name later is called by it after the next collection.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/ruby_frame.h>
#include <correlator/ruby_stack_layout.h>

#include "base/cleanup.h"
#include "recorder/symbolize/frame_name.h"
#include "recorder/symbolize/stack_sighting.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_symbols.h"

struct frame_names;

enum {
	/* Names that are kept, some 500 bytes each, at most 3 KiB; a frame has one place. */
	FRAME_NAMES_MAX = 4096
};

struct frame_names_counts {
	uint64_t kept; /* asked for again, and still so */
	uint64_t changed; /* asked for again, and no longer so */
	uint64_t read; /* found by reading all */
	uint64_t unknown; /* of which no name was found */
	uint64_t doubtful; /* whose name may be that of another one, which has its address by now */
};

/* 0 or -ENOMEM. The reader is copied; layout and symbols (NULL: none) are borrowed. */
int frame_names_new(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		    struct ruby_symbols *symbols, struct frame_names **ret_names);
void frame_names_free(struct frame_names *names);
DEFINE_CLEANUP(struct frame_names *, frame_names_free);

/*
 * The name of a frame, whose method was looked for; FRAME_UNKNOWN when what is there makes no
 * sense, or was changing, or may not be what was met. sighting: of its stack; NULL: the frame is of
 * a thread that stands still. 0, or an error of the reader (the process is gone); then ret_name is
 * untouched. A name that memory runs out for is found, and not kept.
 */
int frame_names_find(struct frame_names *names, struct stack_sighting *sighting,
		     const struct ruby_frame *frame, struct frame_name *ret_name);

/*
 * Before the frames of a stack are asked for: reads again in one go what there is to be read again
 * of them, which takes as long as two or three of the reads that each would cost alone.
 */
void frame_names_prepare(struct frame_names *names, const struct stack_sighting *sighting);

struct frame_names_counts frame_names_count(const struct frame_names *names);
