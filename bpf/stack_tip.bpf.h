/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tip of a sample (correlator/stacks.h): what is above the Ruby frames. One Ruby stack occurs
 * with many tips, so a tip has an ID of its own and is sent separately.
 */
#pragma once

#include "charge.bpf.h"

#include <correlator/context_hash.h>
#include <correlator/stacks.h>

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TIPS_RING_BYTES);
} tips SEC(".maps");

/* Tip -> 1 + the window that it was last sent in. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, TIPS_TOLD_MAX);
	__type(key, __u64);
	__type(value, __u32);
} tips_told SEC(".maps");

struct tip_room {
	struct tip_with_stack tip;
	__u64 copied_ns; /* when the stack was copied: tells it from all others */
	struct context_hash_key key; /* copy of hash_key, as in struct stack_room */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct tip_room);
} tip_scratch SEC(".maps");

static __always_inline struct tip_room *tip_room_here(void)
{
	__u32 slot = 0;

	return bpf_map_lookup_elem(&tip_scratch, &slot);
}

/* Identifies the tip in the scratch space by a hash of all that distinguishes it. */
VERIFIED_ONCE int tip_identify(void)
{
	struct tip_room *room = tip_room_here();
	struct context_hash_state hash;

	if (!room)
		return 0;
	context_hash_init(&hash, &room->key);
	context_hash_add(&hash, room->tip.message.image);
	context_hash_add(&hash, room->tip.message.kernel_count);
	context_hash_add(&hash, room->tip.message.native_pc);
	for (__u32 i = 0; i < KERNEL_FRAMES_MAX; i++) {
		if (i >= room->tip.message.kernel_count)
			break;
		context_hash_add(&hash, room->tip.message.kernel[i]);
	}
	if (room->tip.message.has_stack)
		context_hash_add(&hash, room->copied_ns);
	room->tip.message.tip = context_hash_final(&hash);
	return 0;
}

static __noinline int tip_tell(struct tip_message *message, __u32 epoch)
{
	__u32 count = message->kernel_count;

	if (count > KERNEL_FRAMES_MAX)
		return 0;
	if (bpf_ringbuf_output(&tips, message,
			       __builtin_offsetof(struct tip_message, kernel) +
				       count * sizeof(message->kernel[0]),
			       0)) {
		count_loss(message->life, COUNTER_STACKS_FULL);
		return 0;
	}
	epoch++;
	bpf_map_update_elem(&tips_told, &message->tip, &epoch, BPF_ANY);
	return 0;
}

/* Sends a tip of KERNEL_FRAMES_MAX at most with the stack behind it. */
static __noinline int tip_tell_with_stack(struct tip_with_stack *tip)
{
	__u32 bytes = tip->stack.size_bytes;

	if (bytes > USER_STACK_BYTES_MAX)
		return 0;
	if (bpf_ringbuf_output(&tips, tip,
			       __builtin_offsetof(struct tip_with_stack, stack.bytes) + bytes, 0))
		count_loss(tip->message.life, COUNTER_STACKS_FULL);
	return 0;
}

/* Reads the `first` bytes up to the end of a page, and further pages; returns the number of bytes.
 */
static __always_inline __u32 tip_read_stack(struct user_stack *stack, __u64 pointer, __u32 first)
{
	__u32 size_bytes = first;

	if (bpf_probe_read_user(stack->bytes, first, (void *)pointer))
		return 0;
	for (__u32 i = 1; i < USER_STACK_PAGES; i++) {
		/* For the verifier. */
		barrier_var(size_bytes);
		if (size_bytes > USER_STACK_BYTES_MAX - USER_STACK_PAGE_BYTES)
			break;
		if (bpf_probe_read_user(stack->bytes + size_bytes, USER_STACK_PAGE_BYTES,
					(void *)(pointer + size_bytes)))
			break;
		size_bytes += USER_STACK_PAGE_BYTES;
	}
	return size_bytes;
}

/*
 * Copies the current thread's registers and the top of its stack into the scratch space; not if it
 * runs Ruby's interpreter, whose callers nobody needs.
 */
VERIFIED_ONCE int tip_copy_stack(__u64 life)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pointer = compat_user_stack_pointer(task) - USER_RED_ZONE_BYTES;
	__u32 first = USER_STACK_PAGE_BYTES - (pointer & (USER_STACK_PAGE_BYTES - 1));
	const struct ruby_stack_layout *layout;
	struct tip_room *room = tip_room_here();
	struct user_stack *stack;

	if (!session.has_callers || !room || !room->tip.message.native_pc)
		return 0;
	layout = bpf_map_lookup_elem(&stack_layouts, &life);
	if (layout && room->tip.message.native_pc >= layout->code_begin &&
	    room->tip.message.native_pc < layout->code_end)
		return 0;
	stack = &room->tip.stack;
	if (bpf_probe_read_kernel(stack->registers, sizeof(stack->registers),
				  (void *)bpf_task_pt_regs(task)))
		return 0;
	stack->size_bytes = tip_read_stack(stack, pointer, first);
	room->copied_ns = bpf_ktime_get_ns();
	room->tip.message.has_stack = 1;
	return 0;
}

/* Walks the kernel stack; returns the number of addresses. context: the program's own. */
static __always_inline __u32 tip_walk_kernel(void *context, struct tip_message *message)
{
	long bytes = bpf_get_stack(context, message->kernel, sizeof(message->kernel), 0);

	return bytes > 0 ? (__u32)bytes / sizeof(message->kernel[0]) : 0;
}

/* Kernel threads and workers run no code of the process. */
static __always_inline __u64 tip_find_pc(struct task_struct *task)
{
	return session.has_native && task->mm && !compat_is_user_worker(task)
		       ? compat_user_instruction_pointer(task)
		       : 0;
}

/*
 * Takes the tip of the current thread, and sends it unless it was sent in this window; TIP_NONE if
 * there is none. context: the program's own; is_in_kernel: the sample interrupted the kernel.
 * wants_callers: with the stack, if the session wants that.
 */
static __always_inline __u64 tip_take(void *context, bool is_in_kernel,
				      const struct thread_state *thread, bool wants_callers)
{
	struct tip_room *room = tip_room_here();
	struct tip_message *message;
	__u32 *told;

	if (!room)
		return TIP_NONE;
	message = &room->tip.message;
	message->life = thread->life;
	message->image = thread->image;
	message->has_stack = 0;
	message->native_pc = tip_find_pc(bpf_get_current_task_btf());
	message->kernel_count = is_in_kernel ? tip_walk_kernel(context, message) : 0;
	if (message->kernel_count == 0 && !message->native_pc)
		return TIP_NONE;
	room->key.words[0] = hash_key.words[0];
	room->key.words[1] = hash_key.words[1];
	if (wants_callers && session.has_callers)
		(void)tip_copy_stack(thread->life);
	(void)tip_identify();
	if (message->has_stack) {
		(void)tip_tell_with_stack(&room->tip);
		return message->tip;
	}
	told = bpf_map_lookup_elem(&tips_told, &message->tip);
	if (!told || *told != thread->epoch + 1)
		(void)tip_tell(message, thread->epoch);
	return message->tip;
}
