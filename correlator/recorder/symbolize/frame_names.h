/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A cache of the names of a process's frames. A cached name is used if no collection can have freed
 * its object (gc_state.h), or if everything that was read for it is unchanged (witness.h). So an
 * iseq or a method entry that was freed never lends its name to its successor at that address; and
 * no frame is named by an object that took the address after the frame's stack was seen
 * (stack_sighting.h): it is FRAME_UNKNOWN. One cache per process image; owned by the code that
 * resolves its stacks; single thread; does not log.
 *
 * Each name has a period during which its object was certainly the same; a check prolongs it. A
 * class that is named later is used under its name after the next collection.
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
	/* Cached names: some 500 bytes each, at most 3 KiB; one slot per frame. */
	FRAME_NAMES_MAX = 4096
};

struct frame_names_counts {
	uint64_t kept; /* found in the cache, still valid */
	uint64_t changed; /* found in the cache, no longer valid */
	uint64_t read; /* read in full */
	uint64_t unknown; /* no name was found */
	uint64_t doubtful; /* the name may be that of another object, which has the address now */
};

/* 0 or -ENOMEM. The reader is copied; layout and symbols (NULL: none) are borrowed. */
int frame_names_new(const struct memory_reader *reader, const struct ruby_stack_layout *layout,
		    struct ruby_symbols *symbols, struct frame_names **ret_names);
void frame_names_free(struct frame_names *names);
DEFINE_CLEANUP(struct frame_names *, frame_names_free);

/*
 * Finds the name of a frame whose method was looked up; FRAME_UNKNOWN if the data there is invalid,
 * was changing, or may not be what was seen. sighting: of its stack; NULL: the frame's thread
 * stands still. 0, or an error of the reader (the process is gone); then ret_name is untouched.
 * Without memory a name is found but not cached.
 */
int frame_names_find(struct frame_names *names, struct stack_sighting *sighting,
		     const struct ruby_frame *frame, struct frame_name *ret_name);

/*
 * Call before looking up the frames of a stack: reads in one go what has to be read again for them,
 * which takes as long as two or three of the reads that each frame would cost alone.
 */
void frame_names_prepare(struct frame_names *names, const struct stack_sighting *sighting);

struct frame_names_counts frame_names_count(const struct frame_names *names);
