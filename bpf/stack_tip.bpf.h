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
	struct tip_message message;
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
	context_hash_add(&hash, room->message.image);
	context_hash_add(&hash, room->message.kernel_count);
	context_hash_add(&hash, room->message.native_pc);
	for (__u32 i = 0; i < KERNEL_FRAMES_MAX; i++) {
		if (i >= room->message.kernel_count)
			break;
		context_hash_add(&hash, room->message.kernel[i]);
	}
	room->message.tip = context_hash_final(&hash);
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
 */
static __always_inline __u64 tip_take(void *context, bool is_in_kernel,
				      const struct thread_state *thread)
{
	struct tip_room *room = tip_room_here();
	__u32 *told;

	if (!room)
		return TIP_NONE;
	room->message.life = thread->life;
	room->message.image = thread->image;
	room->message.native_pc = tip_find_pc(bpf_get_current_task_btf());
	room->message.kernel_count = is_in_kernel ? tip_walk_kernel(context, &room->message) : 0;
	if (room->message.kernel_count == 0 && !room->message.native_pc)
		return TIP_NONE;
	room->key.words[0] = hash_key.words[0];
	room->key.words[1] = hash_key.words[1];
	(void)tip_identify();
	told = bpf_map_lookup_elem(&tips_told, &room->message.tip);
	if (!told || *told != thread->epoch + 1)
		(void)tip_tell(&room->message, thread->epoch);
	return room->message.tip;
}
