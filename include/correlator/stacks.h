/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sample is: one thread, in one context, in one stack. The kernel programs count them and
 * tell each stack's frames, userspace drains and names them. Written by bpf/stacks.bpf.h.
 */
#pragma once

#include <linux/types.h>

#include <correlator/books.h>
#include <correlator/ruby_frame.h>

enum stacks_sizes {
	SAMPLES_MAX = 32768, /* different ones in a window */
	STACKS_TOLD_MAX = 16384, /* stacks that are known to have been told */
	STACKS_RING_BYTES = 4 * 1024 * 1024, /* at least 170 stacks of 1,024 frames */
	STACKS_HZ_DEFAULT = 99, /* of a CPU */
	STACKS_HZ_MAX = 1000,
};

/* Stacks that are not told, because there is nothing to tell. All others are hashes, and larger. */
enum stack_without_frames {
	STACK_NO_LAYOUT =
		1, /* it is not known where its process keeps frames, or that is no Ruby */
	STACK_NO_RUBY = 2, /* the thread runs no Ruby, or not now */
};

enum {
	STACK_NO_GC_FLAGS = 0xffff
};

/* How often is counted by the map behind `samples`; what does not fit is COUNTER_SAMPLE_LOST. */
struct sample_key {
	struct account_key account; /* that the sample's time was charged to; its context may be
				       CONTEXT_HASH_OVERFLOW */
	__u64 stack; /* in the message, or enum stack_without_frames */
};

_Static_assert(sizeof(struct sample_key) == 24, "layout");

/*
 * A stack, told once a window before the first of its samples is counted; now and then again. What
 * is sent ends with frames.frames[frames.count - 1].
 */
struct stack_message {
	__u64 stack; /* of its frames, its process, and gc_count */
	__u64 gc_count; /* of the process, before it was met; 0 = not known */
	__u32 tgid; /* in the observer's pid namespace */
	__u32 gc_flags; /* the byte of gc_flags_address, read behind gc_count; STACK_NO_GC_FLAGS */
	struct ruby_frames frames;
};

_Static_assert(__builtin_offsetof(struct stack_message, frames) == 24, "layout");
