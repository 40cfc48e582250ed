/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples (correlator/stacks.h): a clock of each CPU interrupts the running thread. If it is
 * observed, its frames and the tip above them (stack_tip.bpf.h) are walked, then a boundary is
 * made, and the sample is counted under the account that the boundary charges: so a sample is in
 * the same account as the time up to it. Without --stacks none of this is loaded.
 *
 * The clock is a timer: it may interrupt any program here between two instructions, but neither its
 * own program nor the scheduler during a switch.
 */
#pragma once

#include "context.bpf.h"
#include "stack_tip.bpf.h"

#include <correlator/ruby_frames.h>
#include <correlator/stacks.h>

EPOCHS(samples, struct sample_key, __u64, SAMPLES_MAX);

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STACKS_RING_BYTES);
} stacks SEC(".maps");

/* Stack -> 1 + the window that it was last sent in. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACKS_TOLD_MAX);
	__type(key, __u64);
	__type(value, __u32);
} stacks_told SEC(".maps");

struct stack_room {
	struct stack_message message;
	/* Copy of hash_key, which is constant: with values that it knows the verifier finds no
	 * two paths through the walk equal. */
	struct context_hash_key key;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct stack_room);
} stack_scratch SEC(".maps");

static __always_inline __u64 stack_read_word(__u64 address)
{
	__u64 word = 0;

	(void)bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

static __always_inline __u32 stack_read_gc_flags(const struct ruby_stack_layout *layout)
{
	__u8 flags;

	return layout->gc_flags_address && !bpf_probe_read_user(&flags, sizeof(flags),
								(void *)layout->gc_flags_address)
		       ? flags
		       : STACK_NO_GC_FLAGS;
}

/* The execution context of the current thread; 0 = it has none now. */
static __always_inline __u64 stack_find_context(const struct ruby_stack_layout *layout,
						struct task_struct *task)
{
	__u64 address = 0, context, thread;

	if (!layout->execution_global)
		return tls_locate(&layout->execution_tls, task, &address) == TLS_RESOLVED
			       ? stack_read_word(address)
			       : 0;
	/* The global is that of the thread that holds the VM lock: is it this one? */
	context = stack_read_word(layout->execution_global);
	if (!context || layout->execution_thread > RUBY_LAYOUT_OFFSET_MAX ||
	    layout->thread_native_id > RUBY_LAYOUT_OFFSET_MAX)
		return 0;
	thread = stack_read_word(context + layout->execution_thread);
	return stack_read_word(thread + layout->thread_native_id) == compat_thread_pointer(task)
		       ? context
		       : 0;
}

static __always_inline struct stack_room *stack_room_here(void)
{
	__u32 slot = 0;

	return bpf_map_lookup_elem(&stack_scratch, &slot);
}

/* Walks the current thread's frames into the scratch. 0, or enum stack_without_frames. */
VERIFIED_ONCE int stack_walk(__u64 life, __u64 image, __u32 tells_block_methods)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct stack_room *room = stack_room_here();
	struct ruby_frames_walk walk = { 0 };
	const struct ruby_stack_layout *layout;
	struct stack_message *message;

	layout = bpf_map_lookup_elem(&stack_layouts, &life);
	if (!layout || layout->image != image || !room)
		return STACK_NO_LAYOUT;
	/* A kernel worker has the thread pointer of its creator. */
	walk.execution_context =
		task->mm && !compat_is_user_worker(task) ? stack_find_context(layout, task) : 0;
	if (!walk.execution_context)
		return STACK_NO_RUBY;
	room->key.words[0] = hash_key.words[0];
	room->key.words[1] = hash_key.words[1];
	message = &room->message;
	message->life = life;
	message->gc_count = stack_read_word(layout->gc_count_address);
	message->gc_flags = stack_read_gc_flags(layout);
	walk.layout = layout;
	walk.key = &room->key;
	walk.stack_pointer = compat_user_stack_pointer(task);
	walk.frames = &message->frames;
	walk.tells_block_methods = tells_block_methods;
	ruby_frames_walk(&walk);
	return 0;
}

/* Identifies the stack in the scratch space by a hash of all that distinguishes it. */
VERIFIED_ONCE int stack_identify(__u64 image)
{
	struct stack_room *room = stack_room_here();
	struct context_hash_state hash;

	if (!room)
		return 0;
	context_hash_init(&hash, &room->key);
	context_hash_add(&hash, room->message.frames.hash);
	context_hash_add(&hash, room->message.gc_count);
	context_hash_add(&hash, image);
	room->message.image = image;
	room->message.stack = context_hash_final(&hash);
	return 0;
}

/* Finds the methods of the frames in the scratch space: needed only to name frames that are
 * sent. */
VERIFIED_ONCE int stack_find_methods(__u32 tells_block_methods)
{
	struct stack_room *room = stack_room_here();
	struct ruby_frames_walk walk = { 0 };

	if (!room)
		return 0;
	walk.frames = &room->message.frames;
	walk.tells_block_methods = tells_block_methods;
	ruby_frames_find_methods(&walk);
	return 0;
}

static __noinline int stack_tell(struct stack_message *message, __u32 epoch)
{
	__u32 count = message->frames.count;
	__u64 size_bytes;

	if (count > RUBY_FRAMES_MAX)
		return 0;
	size_bytes = __builtin_offsetof(struct stack_message, frames.frames) +
		     count * sizeof(struct ruby_frame);
	if (bpf_ringbuf_output(&stacks, message, size_bytes, 0)) {
		count_loss(message->life, COUNTER_STACKS_FULL);
		return 0;
	}
	epoch++;
	bpf_map_update_elem(&stacks_told, &message->stack, &epoch, BPF_ANY);
	return 0;
}

/* Takes the stack of the current thread, and sends its frames unless they were sent in this
 * window. */
static __always_inline __u64 stack_take(const struct thread_state *thread,
					__u32 tells_block_methods)
{
	struct stack_room *room = stack_room_here();
	int without = stack_walk(thread->life, thread->image, tells_block_methods);
	__u32 *told;

	if (without || !room)
		return without;
	(void)stack_identify(thread->image);
	if (room->message.frames.flags & RUBY_FRAMES_CUT)
		count_loss(thread->life, COUNTER_STACKS_CUT);
	told = bpf_map_lookup_elem(&stacks_told, &room->message.stack);
	if (!told || *told != thread->epoch + 1) {
		(void)stack_find_methods(tells_block_methods);
		(void)stack_tell(&room->message, thread->epoch);
	}
	return room->message.stack;
}

/* Counts a sample under the account that was just charged, in its window. 0, or -1: it is lost.
 * The caller holds the thread. */
static __noinline int sample_count(struct thread_state *thread, __u64 stack, __u64 tip)
{
	struct sample_key key = {
		.account.context_hash = thread->knowledge == CONTEXT_UNKNOWN ? CONTEXT_HASH_UNKNOWN
									     : thread->context_hash,
		.account.thread_serial = thread->serial,
		.account.life = thread->life,
		.stack = stack,
		.tip = tip,
	};
	__u32 active = thread->epoch & 1;
	void *charged = bpf_map_lookup_elem(&accounts, &active);
	void *epoch = bpf_map_lookup_elem(&samples, &active);
	__u64 *count, one = 1;

	if (!charged || !epoch)
		return -1;
	if (!bpf_map_lookup_elem(charged, &key.account))
		key.account.context_hash = CONTEXT_HASH_OVERFLOW;
	count = bpf_map_lookup_elem(epoch, &key);
	if (!count)
		return bpf_map_update_elem(epoch, &key, &one, BPF_NOEXIST) ? -1 : 0;
	/* The key is of this thread, which is held: nothing else counts under it. */
	(*count)++;
	return 0;
}

PROGRAM("?perf_event")
int on_sample(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);
	struct edge_slot *slot = edge_slot_here();
	__u64 now_ns, stack, tip;
	int failed;

	if (!thread)
		return 0;
	/* In the middle of a boundary: which account its time goes to is not known. */
	if (thread->is_busy || (slot && slot->is_busy)) {
		count_loss(thread->life, COUNTER_SAMPLE_LOST);
		return 0;
	}
	stack = stack_take(thread, 1);
	tip = tip_take(context, sample_is_in_kernel(context), thread, true);
	now_ns = bpf_ktime_get_ns();
	if (!thread_take(thread, task, now_ns, 0)) {
		count_loss(thread->life, COUNTER_SAMPLE_LOST);
		return 0;
	}
	boundary_enter(thread, task, now_ns, BOUNDARY_SAMPLE);
	boundary_close(thread, task, now_ns, BOUNDARY_SAMPLE, thread->clock.mode);
	boundary_end(thread, task, now_ns, BOUNDARY_SAMPLE);
	failed = sample_count(thread, stack, tip);
	if (session.stall_least_ns)
		hog_note_sample(&thread->hog, stack, tip, bpf_get_prandom_u32());
	boundary_release(thread);
	if (failed)
		count_loss(thread->life, COUNTER_SAMPLE_LOST);
	return 0;
}

/*
 * Takes the stack in which a thread waits (wait_stack.bpf.h). Attached before on_sched_switch,
 * which writes up the switch. The run queue is locked: neither the maps nor the wake-up of the
 * rings' reader, which has an interrupt of its own, take that lock.
 */
PROGRAM("?tp_btf/sched_switch")
int BPF_PROG(on_leaving_cpu, bool is_preempted, struct task_struct *prev)
{
	struct thread_state *thread = edge_find_switching(edge_slot_here(), prev);

	if (!thread)
		return 0;
	/* Without methods of blocks: one more read for each frame would double the cost at each
	 * switch. */
	thread->waited.next_stack = stack_take(thread, 0);
	thread->waited.next_tip = tip_take(ctx, true, thread, false);
	return 0;
}
