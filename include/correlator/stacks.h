/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A sample is one thread, in one context, in one stack. The kernel programs (bpf/stacks.bpf.h)
 * count samples and send the frames of each stack; userspace drains and names them.
 */
#pragma once

#include <linux/types.h>

#include <correlator/kernel_books.h>
#include <correlator/ruby_frame.h>
#include <correlator/user_stack.h>

enum stacks_sizes {
	SAMPLES_MAX = 32768, /* distinct samples in a window */
	STACKS_TOLD_MAX = 16384, /* stacks remembered as sent */
	STACKS_RING_BYTES = 4 * 1024 * 1024, /* at least 170 stacks of 1,024 frames */
	TIPS_TOLD_MAX = 16384, /* tips remembered as sent */
	TIPS_RING_BYTES = 1024 * 1024, /* at least 1,000 tips of KERNEL_FRAMES_MAX */
	TIPS_WITH_STACKS_RING_BYTES = 16 * 1024 * 1024, /* at least 900 of them */
	/* The kernel's own default (kernel.perf_event_max_stack). */
	KERNEL_FRAMES_MAX = 127,
	STACKS_HZ_DEFAULT = 99, /* samples per second on each CPU */
	STACKS_HZ_MAX = 1000,
};

/* Stacks that are not sent, because they have no frames. All others are hashes, and larger. */
enum stack_without_frames {
	STACK_NOT_SEEN = 0, /* of a wait that began unseen, or of several waits that were merged */
	STACK_NO_LAYOUT = 1, /* where its process keeps frames is not known, or it is no Ruby */
	STACK_NO_RUBY = 2, /* the thread runs no Ruby at all, or not now */
};

enum {
	STACK_NO_GC_FLAGS = 0xffff,
	TIP_NONE = 0, /* nothing is above the stack's frames */
};

/* Key of the map behind `samples`, which counts them; COUNTER_SAMPLE_LOST counts those that do not
 * fit. */
struct sample_key {
	struct account_key account; /* that the sample's time was charged to; its context may be
				       CONTEXT_HASH_OVERFLOW */
	__u64 stack; /* stack_message.stack, or enum stack_without_frames */
	__u64 tip; /* tip_message.tip, or TIP_NONE */
};

_Static_assert(sizeof(struct sample_key) == 40, "layout");

/* Value of the map behind `waits`, whose key is a sample_key, too: time off the CPU, as it was
 * charged. */
struct wait_sums {
	__u64 waits; /* waits charged there for the first time */
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
	WAIT_PLACES = 4 /* further waits are merged while their context is not known */
};

/* Where a thread waited, as in struct sample_key, and how long. */
struct wait_place {
	__u64 stack;
	__u64 tip;
	struct wait_sums sums;
};

/*
 * The waits in the pending time, in a thread's state. The last place is the current or latest wait.
 */
struct wait_places {
	struct wait_place places[WAIT_PLACES];
	__u64 placed_blocked_ns; /* pending time that is in a place already */
	__u64 placed_run_queue_ns;
	__u64 next_stack; /* taken when it leaves the CPU, before the switch is written up */
	__u64 next_tip;
	__u64 charged_hash; /* context of the account to add to; CONTEXT_HASH_OVERFLOW: none */
	__u32 charged_epoch;
	__u32 is_charged;
	__u32 last; /* index of the last place */
	__u32 reserved;
};

/*
 * A stack, sent once a window before the first of its samples is counted, and occasionally again.
 * The message ends after frames.frames[frames.count - 1].
 */
struct stack_message {
	__u64 stack; /* hash of its frames, its image, and gc_count */
	__u64 gc_count; /* collections of the process, read before the frames; 0 = not known */
	__u64 image; /* whose frames they are (life.h) */
	__u64 life;
	__u32 gc_flags; /* the byte at gc_flags_address, read after gc_count; STACK_NO_GC_FLAGS */
	__u32 reserved;
	struct ruby_frames frames;
};

_Static_assert(__builtin_offsetof(struct stack_message, frames) == 40, "layout");

/*
 * The part above a stack's frames: where the thread was in the process's code, and where in the
 * kernel. Sent as a stack is, but separately, because one stack has many tips. The message ends
 * after kernel[kernel_count - 1].
 */
struct tip_message {
	__u64 tip; /* hash of image and addresses: never a small value (context_hash.h) */
	__u64 native_pc; /* in user mode, where it runs or will continue; 0 = not taken, none */
	__u64 image; /* whose code it is (life.h) */
	__u64 life;
	__u32 kernel_count; /* addresses; if KERNEL_FRAMES_MAX, the outermost may be missing */
	__u32 has_stack; /* 1: it is the start of a struct tip_with_stack */
	/* Kernel addresses, the innermost first: where the thread was, then return addresses. */
	__u64 kernel[KERNEL_FRAMES_MAX];
};

_Static_assert(__builtin_offsetof(struct tip_message, kernel) == 40, "layout");

/*
 * A tip with the top of the thread's native stack, from which userspace finds its callers. No other
 * sample has that tip. The message ends after stack.bytes[stack.size_bytes - 1].
 */
struct tip_with_stack {
	struct tip_message message;
	struct user_stack stack;
};
