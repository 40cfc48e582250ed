/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of a Ruby's main thread, by what must hold of each whatever its size is: part of
 * ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/ruby/ruby_main_thread.h"

enum {
	RUBY_FRAMES_MAX = 64, /* the outermost: they stay longest */
	RUBY_FRAME_BYTES_MIN = 48,
	RUBY_FRAME_BYTES_MAX = 72,
	RUBY_FRAME_SHAPES_MAX = 8, /* what more there are is left out */
};

/* What stands in ep[0]: VM_FRAME_MAGIC_* of vm_core.h, unchanged since 2.5. */
enum ruby_frame_magic {
	RUBY_MAGIC_MASK = 0x7fff0001,
	RUBY_MAGIC_METHOD = 0x11110001,
	RUBY_MAGIC_BLOCK = 0x22220001,
	RUBY_MAGIC_CLASS = 0x33330001,
	RUBY_MAGIC_TOP = 0x44440001,
	RUBY_MAGIC_C = 0x55550001,
	RUBY_MAGIC_IFUNC = 0x66660001,
	RUBY_MAGIC_EVAL = 0x77770001,
	RUBY_MAGIC_RESCUE = 0x78880001,
	RUBY_MAGIC_DUMMY = 0x79990001,
};

/* What a frame may look like, in bytes. */
struct ruby_frame_shape {
	uint32_t bytes;
	uint32_t iseq; /* offset */
	uint32_t ep; /* offset */
};

struct ruby_frame_shapes {
	struct ruby_frame_shape list[RUBY_FRAME_SHAPES_MAX];
	size_t count;
};

struct ruby_frame_words {
	uint64_t words[RUBY_FRAME_BYTES_MAX / 8];
	uint64_t flags; /* ep[0] */
	uint64_t entry; /* ep[-2] */
};

struct ruby_vm_frames {
	struct ruby_vm_stack stack; /* by the caller, as the next */
	unsigned int skipped_quarters; /* ruby_behaviour.h; at most 3 */
	uint32_t bytes; /* of each; all from here on as they were read */
	uint32_t iseq; /* its offset */
	struct ruby_frame_words list[RUBY_FRAMES_MAX]; /* innermost first */
	size_t count;
};

/* What they may look like. Reads them, as each of that. */
void ruby_vm_frames_find_shapes(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
				struct ruby_frame_shapes *ret_shapes);

/* Reads them as they are now, and adds what follows. False: they do not look like that. */
bool ruby_vm_frames_read(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			 const struct ruby_frame_shape *shape);

/* What the frame runs: an iseq, a block of C's, or 0. */
static inline uint64_t ruby_vm_frames_iseq(const struct ruby_vm_frames *frames, size_t i)
{
	return frames->list[i].words[frames->iseq / 8];
}
