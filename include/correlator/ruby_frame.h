/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of a Ruby stack, as they are walked (ruby_frames.h) and named (recorder/symbolize/).
 * Pure. Addresses come from the target: aligned and in range, nothing more.
 */
#pragma once

#include <linux/types.h>

enum ruby_frames_sizes {
	RUBY_FRAMES_MAX = 1024, /* deeper ones are cut, the outermost first */
	RUBY_FRAMES_PIECE_BYTES = 4096, /* read at once */
	RUBY_FRAMES_PIECE_WORDS = RUBY_FRAMES_PIECE_BYTES / 8,
};

enum ruby_frame_kind {
	/* One or more frames that could not be read, or cannot be valid. 0 is no frame. */
	RUBY_FRAME_UNREADABLE = 1,
	RUBY_FRAME_RUBY = 2,
	/*
	 * The innermost frame, running compiled code, which stores its pc only before it calls
	 * something: its pc is from an earlier instruction of the frame, or from an earlier frame
	 * of the same iseq. pc 0: the stored one is not of this iseq.
	 */
	RUBY_FRAME_COMPILED = 3,
	RUBY_FRAME_C = 4,
	RUBY_FRAME_GC = 5, /* a collection, caused by the next frame */
	_RUBY_FRAME_KIND_MAX,
	RUBY_FRAME_KIND_MASK = 7,
};

struct ruby_frame {
	/*
	 * Address of the iseq, or of a C function's method entry (0 = it has none), both aligned to
	 * 8; the low 3 bits are enum ruby_frame_kind.
	 */
	__u64 object_kind;
	__u64 pc; /* of a Ruby frame: after the running instruction, 0 = not known; else 0 */
	/*
	 * Ruby frame: its ep; after ruby_frames_find_methods() the method entry it was called by,
	 * or 0: none (a class's body), or not found. Other frames: 0. Not in the hash. The low bits
	 * of the entry's address are a level:
	 *   0      the frame is the method's body, or a block in it
	 *   1      the body is a block (define_method), and the frame is that block
	 *   2..6   the frame is a block in such a body, level - 1 blocks deep
	 *   RUBY_METHOD_IS_DEEP   deeper
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

/* About 28 KiB: for a map's memory. Members that a walk does not set keep their old values. */
struct ruby_frames {
	__u64 hash; /* keyed hash of frames and flags: never a small value (context_hash.h) */
	__u32 count; /* of frames */
	__u32 flags; /* enum ruby_frames_flags */
	__u32 unreadable; /* frames and methods that could not be read; not all are in frames[] */
	__u32 reserved;
	__u64 methods; /* hash of what the methods are, by ruby_frames_find_methods() */
	struct ruby_frame frames[RUBY_FRAMES_MAX]; /* the innermost first */
	__u64 piece[RUBY_FRAMES_PIECE_WORDS]; /* scratch */
};

_Static_assert(sizeof(struct ruby_frames) == 32 + 24 * RUBY_FRAMES_MAX + RUBY_FRAMES_PIECE_BYTES,
	       "no padding");
