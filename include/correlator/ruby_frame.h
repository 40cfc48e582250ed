/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of a Ruby's stack, as they are walked (ruby_frames.h) and named (recorder/symbolize/).
 * Pure. The addresses are the target's: aligned and in range, nothing more.
 */
#pragma once

#include <linux/types.h>

enum ruby_frames_sizes {
	RUBY_FRAMES_MAX = 1024, /* deeper ones are cut, the outermost first */
	RUBY_FRAMES_PIECE_BYTES = 4096, /* that are read at once */
	RUBY_FRAMES_PIECE_WORDS = RUBY_FRAMES_PIECE_BYTES / 8,
};

enum ruby_frame_kind {
	/* One or more frames that could not be read, or cannot be. 0 is no frame. */
	RUBY_FRAME_UNREADABLE = 1,
	RUBY_FRAME_RUBY = 2,
	/*
	 * The innermost frame, running compiled code, which stores its pc only before it calls
	 * something: it is that of an earlier instruction of the frame, or of an earlier frame of
	 * the iseq. 0: surely not of this iseq.
	 */
	RUBY_FRAME_COMPILED = 3,
	RUBY_FRAME_C = 4,
	RUBY_FRAME_GC = 5, /* a collection, which the next frame caused */
	_RUBY_FRAME_KIND_MAX,
	RUBY_FRAME_KIND_MASK = 7,
};

struct ruby_frame {
	/*
	 * Address of the iseq, or of a C function's method entry (0: it has none), both aligned to
	 * 8, and in the bits below it enum ruby_frame_kind.
	 */
	__u64 object_kind;
	__u64 pc; /* of a Ruby frame: behind the instruction that runs, 0 = not known. Else 0 */
	/*
	 * Of a Ruby frame: its ep, and once ruby_frames_find_methods() was called, the method entry
	 * it was called by, 0 = none (a class's body) or not found. Else 0. Not in the hash. In the
	 * bits below the entry's address: 0, the frame is of the method's body, or of a block in
	 * it; else the body is a block (define_method), and the frame is of that (1), or of a block
	 * in it, so many levels down (2 to 6); RUBY_METHOD_IS_DEEP: more.
	 */
	__u64 method;
};

enum {
	RUBY_METHOD_IS_DEEP = 7,
	RUBY_METHOD_LEVEL_MASK = 7,
};

static inline __u64 ruby_frame_method(const struct ruby_frame *frame)
{
	return frame->method & ~(__u64)RUBY_METHOD_LEVEL_MASK;
}

static inline __u32 ruby_frame_method_level(const struct ruby_frame *frame)
{
	return (__u32)(frame->method & RUBY_METHOD_LEVEL_MASK);
}

static inline __u32 ruby_frame_kind(const struct ruby_frame *frame)
{
	return (__u32)(frame->object_kind & RUBY_FRAME_KIND_MASK);
}

static inline __u64 ruby_frame_object(const struct ruby_frame *frame)
{
	return frame->object_kind & ~(__u64)RUBY_FRAME_KIND_MASK;
}

static inline int ruby_frame_is_ruby(const struct ruby_frame *frame)
{
	__u32 kind = ruby_frame_kind(frame);

	return kind == RUBY_FRAME_RUBY || kind == RUBY_FRAME_COMPILED;
}

enum ruby_frames_flags {
	RUBY_FRAMES_CUT = 1 << 0, /* there are more: the outermost are missing */
	RUBY_FRAMES_TORN = 1 << 1, /* the stack's own bounds make no sense: no frame was read */
};

/* Some 29 KiB: for the memory of a map. What is not set by a walk is what an earlier one left. */
struct ruby_frames {
	__u64 hash; /* of the frames and flags, by the key: never a small value (context_hash.h) */
	__u32 count; /* of frames */
	__u32 flags; /* enum ruby_frames_flags */
	__u32 unreadable; /* frames and methods that could not be read; not all are in frames[] */
	__u32 reserved;
	__u64 methods; /* a hash of what the methods are, by ruby_frames_find_methods() */
	struct ruby_frame frames[RUBY_FRAMES_MAX]; /* the innermost first */
	__u64 piece[RUBY_FRAMES_PIECE_WORDS]; /* scratch */
};

_Static_assert(sizeof(struct ruby_frames) == 32 + 24 * RUBY_FRAMES_MAX + RUBY_FRAMES_PIECE_BYTES,
	       "no padding");
