/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds the frames of Ruby's main thread, by invariants that hold whatever their size is: part of
 * ruby_behaviour.h, which also names the facts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/target/ruby/ruby_main_thread.h"

enum {
	RUBY_FRAMES_MAX = 64, /* the outermost ones: they live longest */
	RUBY_FRAME_BYTES_MIN = 48,
	RUBY_FRAME_BYTES_MAX = 72,
	RUBY_FRAME_SHAPES_MAX = 8, /* further ones are ignored */
};

/* Frame types in ep[0]: VM_FRAME_MAGIC_* of vm_core.h, unchanged since 2.5. */
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

/* A possible shape of the frames, in bytes. */
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
	struct ruby_vm_stack stack; /* set by the caller, like the next member */
	unsigned int skipped_quarters; /* ruby_evidence.h; at most 3 */
	uint32_t bytes; /* per frame; this and all below as of the last read */
	uint32_t iseq; /* offset of iseq in a frame */
	struct ruby_frame_words list[RUBY_FRAMES_MAX]; /* innermost first */
	size_t count;
};

/* Finds the possible shapes of the frames. Reads the frames once for each possible size. */
void ruby_vm_frames_find_shapes(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
				struct ruby_frame_shapes *ret_shapes);

/* Reads the frames as they are now, and adds the evidence. False: they do not have this shape. */
bool ruby_vm_frames_read(struct ruby_evidence *evidence, struct ruby_vm_frames *frames,
			 const struct ruby_frame_shape *shape);

/* The iseq that frame i runs, a block of C code (vm_ifunc), or 0. */
static inline uint64_t ruby_vm_frames_iseq(const struct ruby_vm_frames *frames, size_t i)
{
	return frames->list[i].words[frames->iseq / 8];
}
