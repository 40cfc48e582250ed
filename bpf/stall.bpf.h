/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stalls (correlator/stall.h): each wait of a thread in a context is watched from the switch-out to
 * the first boundary after it, which tells it if it was long. Without --stall none of this is
 * loaded: session.stall_least_ns is a constant 0 then.
 *
 * The ring's reader is not woken, because the run queue may be locked here. The caller holds the
 * thread.
 */
#pragma once

#include "faulted_file.bpf.h"
#include "stall_object.bpf.h"
#include "syscall_counts.bpf.h"

#include <correlator/share.h>
#include <correlator/stall.h>

/* Created only with session.stall_least_ns. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, STALL_RING_BYTES);
} stalls SEC(".maps");

/* By family: when all stalls so far are paid for (stall_budget_take()). */
__u64 stalls_paid_ns[SHARE_SLOTS];

/* Notes the task that has the thread's CPU instead. */
static __noinline int stall_note_other(struct stall_watch *watch, struct task_struct *other)
{
	watch->other_tgid = watch->other_tid = 0;
	if (!other->pid)
		return 0;
	watch->other_tgid = identity_tgid(other);
	watch->other_tid = identity_tid(other);
	(void)bpf_probe_read_kernel(watch->other_comm, sizeof(watch->other_comm), other->comm);
	return 0;
}

/* The thread has left its CPU to the task next, with its interval closed and charged. hash: its
 * context. */
static __noinline int stall_watch_wait(struct thread_state *thread, struct task_struct *next,
				       __u64 hash)
{
	if (hash < CONTEXT_HASH_FIRST) {
		thread->stall.left_ns = 0;
		return 0;
	}
	stall_begin(&thread->stall, &thread->pending, thread->clock.mark_ns, hash);
	if (thread->clock.off_reason == OFF_CPU_RUNNABLE)
		(void)stall_note_other(&thread->stall, next);
	if (session.has_wait_stacks) {
		thread->stall.stack = thread->waited.next_stack;
		thread->stall.tip = thread->waited.next_tip;
	}
	return 0;
}

/* The thread left its CPU unreported, or a switch found its books held: too little is known. */
static __always_inline void stall_miss(struct thread_state *thread, __u64 now_ns)
{
	if (stall_is_long(&thread->stall, now_ns, session.stall_least_ns))
		count_loss(thread->life, COUNTER_STALL_LOST);
	thread->stall.left_ns = 0;
}

/* The system call that the thread is in (syscall_counts.h); 0 = none. */
static __always_inline __u32 stall_call(const struct thread_state *thread, struct task_struct *task)
{
	__s64 number = thread->is_worker ? -1 : compat_call(task).number;

	return number < 0
		       ? 0
		       : syscall_call((__u64)number, compat_is_x86(), compat_call_is_32_bit(task));
}

/* Notes the system call that the thread waited in. */
static __always_inline void stall_note_call(struct thread_state *thread, struct task_struct *task)
{
	thread->stall.call = stall_call(thread, task);
	thread->stall.argument = compat_call(task).argument;
}

/* The thread gets a CPU, on which `other` ran before. */
static __noinline int stall_enter(struct thread_state *thread, struct task_struct *task,
				  struct task_struct *other, __u64 now_ns)
{
	struct stall_watch *watch = &thread->stall;

	if (session.has_wait_stacks && watch->left_ns)
		hog_note_wait(&thread->hog, account_growth(now_ns, watch->left_ns), watch->stack,
			      watch->tip);
	if (!stall_is_long(watch, now_ns, session.stall_least_ns)) {
		watch->left_ns = 0;
		return 0;
	}
	watch->entered_ns = now_ns;
	stall_note_call(thread, task);
	faulted_file_note(watch, task);
	if (thread->clock.off_reason != OFF_CPU_RUNNABLE)
		(void)stall_note_other(watch, other);
	return 0;
}

/* The current thread got its CPU unreported, at the beginning of its open interval. It is still in
 * the call that it waited in, unless edges are not seen. */
static __always_inline void stall_enter_unseen(struct thread_state *thread,
					       struct task_struct *task)
{
	struct stall_watch *watch = &thread->stall;

	watch->entered_ns = thread->clock.mark_ns;
	watch->call = 0;
	watch->mapped_inode = 0;
	if (sees_syscalls)
		stall_note_call(thread, task);
	if (thread->clock.off_reason != OFF_CPU_RUNNABLE)
		watch->other_tgid = watch->other_tid = 0;
}

/* Room for a message; NULL: over the limit, or none, which is counted. */
static __always_inline struct stall *stall_reserve(const struct thread_state *thread, __u64 now_ns)
{
	__u64 *paid_ns = &stalls_paid_ns[thread->config.family % SHARE_SLOTS];
	__u64 next_ns = stall_budget_take(*paid_ns, now_ns);
	struct stall *stall = NULL;

	if (next_ns) {
		*paid_ns = next_ns;
		stall = bpf_ringbuf_reserve(&stalls, sizeof(*stall), 0);
	}
	if (!stall)
		count_loss(thread->life, COUNTER_STALL_LOST);
	return stall;
}

/* Sets all but the times, the context and the flags. */
static __always_inline void stall_clear(const struct thread_state *thread, struct stall *stall)
{
	stall->cpu_ns = stall->gvl_ns = 0;
	stall->waker_hash = 0;
	stall->thread_serial = thread->serial;
	stall->life = thread->life;
	stall->inode = stall->device = stall->reserved = 0;
	stall->stack = STACK_NOT_SEEN;
	stall->tip = TIP_NONE;
	stall->tid = thread->tid;
	stall->ns_tid = thread->ns_tid;
	stall->waker_tgid = stall->waker_tid = 0;
	stall->other_tgid = stall->other_tid = 0;
	stall->epoch = thread->epoch;
	stall->call = 0;
	stall->blocked_on = BLOCKED_ON_OTHER;
	stall->object = STALL_OBJECT_NONE;
	__builtin_memset(&stall->peer, 0, sizeof(stall->peer));
	__builtin_memset(stall->waker_comm, 0, sizeof(stall->waker_comm));
	__builtin_memset(stall->other_comm, 0, sizeof(stall->other_comm));
	if (bpf_probe_read_kernel(stall->comm, sizeof(stall->comm),
				  bpf_get_current_task_btf()->comm))
		stall->comm[0] = 0;
	/* As long as a socket's path; of the others the beginning. */
	__builtin_memset(stall->names, 0, 2 * STALL_NAME_BYTES);
	for (__u32 i = 2; i < STALL_NAMES; i++)
		stall->names[i][0] = 0;
}

static __always_inline void stall_fill(const struct thread_state *thread, struct stall *stall)
{
	const struct stall_watch *watch = &thread->stall;

	stall_clear(thread, stall);
	stall->start_ns = watch->left_ns;
	stall->end_ns = watch->entered_ns;
	stall->blocked_ns = watch->blocked_ns;
	stall->run_queue_ns = watch->run_queue_ns;
	stall->gvl_ns = stall_gvl_ns(watch, thread->clock.off_reason);
	stall->context_hash = watch->context_hash;
	stall->waker_hash = watch->waker_hash;
	if (session.has_wait_stacks) {
		stall->stack = watch->stack;
		stall->tip = watch->tip;
	}
	stall->waker_tgid = watch->waker >> 32;
	stall->waker_tid = (__u32)watch->waker;
	stall->other_tgid = watch->other_tgid;
	stall->other_tid = watch->other_tid;
	stall->call = watch->call;
	stall->blocked_on = thread->clock.blocked_on;
	stall->flags = watch->flags | (thread->is_inherited ? STALL_IS_INHERITED : 0) |
		       (session.has_children && thread->is_of_origin ? STALL_IS_OF_ORIGIN : 0);
	__builtin_memcpy(stall->waker_comm, watch->waker_comm, sizeof(stall->waker_comm));
	__builtin_memcpy(stall->other_comm, watch->other_comm, sizeof(stall->other_comm));
}

static __always_inline void stall_send(struct thread_state *thread, struct task_struct *task)
{
	struct stall *stall = stall_reserve(thread, thread->stall.entered_ns);

	if (!stall)
		return;
	stall_fill(thread, stall);
	if (stall->blocked_ns && thread->stall.mapped_inode) {
		stall->object = STALL_OBJECT_MAPPED;
		stall->inode = thread->stall.mapped_inode;
		stall->device = thread->stall.mapped_device;
	}
	/* Still in the same call, so its descriptors are those that it waited on. */
	if (stall->call && stall->blocked_ns && thread_has_memory(thread) &&
	    syscall_call_abi(stall->call) == SYSCALL_ABI_NATIVE &&
	    stall->call == stall_call(thread, task) &&
	    thread->stall.argument == compat_call(task).argument)
		stall_object_read(stall, &thread->stall, task);
	bpf_ringbuf_submit(stall, BPF_RB_NO_WAKEUP);
}

/* A fiber has left the current thread to another one, or its context. */
static __always_inline void hog_send(struct thread_state *thread, __u64 now_ns)
{
	const struct hog_watch *watch = &thread->hog;
	struct stall *stall = stall_reserve(thread, now_ns);
	struct hog_place place;

	if (!stall)
		return;
	stall_clear(thread, stall);
	place = hog_place(watch, &stall->flags);
	stall->stack = place.stack;
	stall->tip = place.tip;
	stall->flags |= STALL_IS_HOG;
	stall->start_ns = watch->since_ns;
	stall->end_ns = now_ns;
	stall->cpu_ns = watch->cpu_ns;
	stall->blocked_ns = watch->blocked_ns;
	stall->run_queue_ns = watch->run_queue_ns;
	stall->context_hash = watch->context_hash;
	bpf_ringbuf_submit(stall, BPF_RB_NO_WAKEUP);
}

/* Call at a probe, once what was pending is charged. fiber: from here on; 0 = not known. */
VERIFIED_ONCE int hog_tell(struct thread_state *thread, __u32 fiber, __u64 now_ns)
{
	if (!session.stall_least_ns || !thread)
		return 0;
	if (thread->hog.context_hash >= CONTEXT_HASH_FIRST &&
	    hog_is_long(&thread->hog, now_ns, session.stall_least_ns))
		hog_send(thread, now_ns);
	hog_begin(&thread->hog, now_ns, fiber);
	return 0;
}

/* Call at a boundary of the current thread, once its last gap is split. */
static __always_inline void stall_tell(struct thread_state *thread, struct task_struct *task)
{
	if (!thread->stall.entered_ns)
		stall_enter_unseen(thread, task);
	stall_add_pending(&thread->stall, &thread->pending);
	if (stall_is_long(&thread->stall, thread->stall.entered_ns, session.stall_least_ns))
		stall_send(thread, task);
	thread->stall.left_ns = 0;
}
