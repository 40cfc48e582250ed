/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a sample is: one thread, in one context, in one stack. The kernel programs count them and
 * tell each stack's frames, userspace drains and names them. Written by bpf/stacks.bpf.h.
 */
#pragma once

#include <linux/types.h>

#include <correlator/kernel_books.h>
#include <correlator/ruby_frame.h>

enum stacks_sizes {
	SAMPLES_MAX = 32768, /* different ones in a window */
	STACKS_TOLD_MAX = 16384, /* stacks that are known to have been told */
	STACKS_RING_BYTES = 4 * 1024 * 1024, /* at least 170 stacks of 1,024 frames */
	TIPS_TOLD_MAX = 16384, /* tips that are known to have been told */
	TIPS_RING_BYTES = 1024 * 1024, /* at least 1,000 tips of KERNEL_FRAMES_MAX */
	/* As many as the kernel itself takes by default (kernel.perf_event_max_stack). */
	KERNEL_FRAMES_MAX = 127,
	STACKS_HZ_DEFAULT = 99, /* of a CPU */
	STACKS_HZ_MAX = 1000,
};

/* Stacks that are not told, because there is nothing to tell. All others are hashes, and larger. */
enum stack_without_frames {
	STACK_NOT_SEEN =
		0, /* of a wait that had begun, or began while its thread's books were held */
	STACK_NO_LAYOUT =
		1, /* it is not known where its process keeps frames, or that is no Ruby */
	STACK_NO_RUBY = 2, /* the thread runs no Ruby, or not now */
};

enum {
	STACK_NO_GC_FLAGS = 0xffff,
	TIP_NONE = 0, /* nothing is above the stack's frames */
};

/* How often is counted by the map behind `samples`; what does not fit is COUNTER_SAMPLE_LOST. */
struct sample_key {
	struct account_key account; /* that the sample's time was charged to; its context may be
				       CONTEXT_HASH_OVERFLOW */
	__u64 stack; /* in the message, or enum stack_without_frames */
	__u64 tip; /* in its message, or TIP_NONE */
};

_Static_assert(sizeof(struct sample_key) == 40, "layout");

/* Value of the map behind `waits`, whose keys are as those of `samples`: time off the CPU, as it
 * was charged. */
struct wait_sums {
	__u64 waits; /* that are charged there for the first time */
	__u64 blocked_ns;
	__u64 run_queue_ns;
};

static inline int wait_sums_have_time(const struct wait_sums *sums)
{
	return sums->blocked_ns || sums->run_queue_ns;
}

static inline void wait_sums_add(struct wait_sums *into, const struct wait_sums *from)
{
	into->waits += from->waits;
	into->blocked_ns += from->blocked_ns;
	into->run_queue_ns += from->run_queue_ns;
}

enum {
	WAIT_PLACES = 4 /* more waits of a context that is not known yet are not told apart */
};

/* Where a thread waited, as in struct sample_key, and how long. */
struct wait_place {
	__u64 stack;
	__u64 tip;
	struct wait_sums sums;
};

/* The waits of what is pending, in a thread's state: the last one is where it waits, or did last.
 */
struct wait_places {
	struct wait_place places[WAIT_PLACES];
	__u64 placed_blocked_ns; /* of what is pending, in any place */
	__u64 placed_run_queue_ns;
	__u64 next_stack; /* taken where it leaves the CPU, before that is written up */
	__u64 next_tip;
	__u64 charged_hash; /* to be added up under; CONTEXT_HASH_OVERFLOW: no account */
	__u32 charged_epoch;
	__u32 is_charged;
	__u32 last; /* place */
	__u32 reserved;
};

/*
 * A stack, told once a window before the first of its samples is counted; now and then again. What
 * is sent ends with frames.frames[frames.count - 1].
 */
struct stack_message {
	__u64 stack; /* of its frames, its image, and gc_count */
	__u64 gc_count; /* of the process, before it was met; 0 = not known */
	__u64 image; /* whose frames they are (life.h) */
	__u64 life;
	__u32 gc_flags; /* the byte of gc_flags_address, read behind gc_count; STACK_NO_GC_FLAGS */
	__u32 reserved;
	struct ruby_frames frames;
};

_Static_assert(__builtin_offsetof(struct stack_message, frames) == 40, "layout");

/*
 * What is above a stack's frames: where in the process's code the thread was, and where in the
 * kernel. Told as a stack is, for itself, because of one stack there are many. What is sent ends
 * with kernel[kernel_count - 1].
 */
struct tip_message {
	__u64 tip; /* a hash of the rest: never a small value (context_hash.h) */
	__u64 native_pc; /* in user mode, where it runs or will go on; 0 = not taken, none */
	__u64 image; /* whose it is (life.h) */
	__u64 life;
	__u32 kernel_count; /* of addresses; KERNEL_FRAMES_MAX: the outermost may be missing */
	__u32 reserved;
	/* The kernel's, the innermost first: where it was met, then where calls return to. */
	__u64 kernel[KERNEL_FRAMES_MAX];
};

_Static_assert(__builtin_offsetof(struct tip_message, kernel) == 40, "layout");
