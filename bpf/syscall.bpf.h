/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user/kernel boundaries. These two hooks tax every system call of the machine.
 *
 * The clock is read as near to the ring crossing as can be: first thing on the way in, last thing
 * on the way out, so that what these programs cost is kernel time, as it is for the machine. What
 * lies outside still is measured all the time (probe/calibrator.c).
 */
#pragma once

#include "context.bpf.h"

/*
 * All places of the calls are taken: what is pending is charged, to the context that is in force,
 * which the caller has read. Seldom: few threads make so many kinds of calls before a charge.
 */
static __always_inline void syscall_make_room(struct thread_state *thread, struct task_struct *task,
					      __u64 now_ns)
{
	account_settle_stolen(&thread->clock, &thread->pending, stolen_from_cpu(now_ns));
	charge_pending(thread, task, now_ns);
	charge_note_pending(thread, thread->clock.mark_ns);
}

static __always_inline int enter_kernel(struct thread_state *thread, struct task_struct *task,
					__u64 now_ns, __u64 number)
{
	bool lacks_place = false;
	__u32 call = 0;

	if (session.has_syscalls)
		call = syscall_call(number, compat_is_x86(), compat_call_is_32_bit(task));
	if (!thread_begin(thread, task, now_ns)) {
		if (missed_calls_note(&thread->missed_calls, call))
			count_loss(thread->tgid, COUNTER_SYSCALL_LOST);
		return 0;
	}
	if (session.has_syscalls)
		lacks_place = !syscall_counts_has_place(thread, call);
	if (context_changes_unprobed(thread) || context_has_new_config(thread) || lacks_place) {
		context_boundary(thread, task, now_ns, THREAD_MODE_KERNEL, true);
	} else {
		charge_note_pending(thread, thread->clock.mark_ns);
		(void)account_edge(&thread->clock, &thread->pending, now_ns, THREAD_MODE_KERNEL);
	}
	if (lacks_place)
		syscall_make_room(thread, task, now_ns);
	if (session.has_syscalls)
		(void)syscall_counts_edge(thread, call);
	thread->pending.syscalls++;
	/* Between a probe and the store behind it only the variable's allocation makes some. */
	if (thread->tls_resolution == TLS_RESOLVED)
		thread->is_change_open = 0;
	return 1;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *registers, long number)
{
	struct edge_slot *slot = edge_slot_here();
	struct thread_state *thread;
	struct task_struct *task;
	__u32 seen_registrations;

	if (!slot || edge_pass(slot, (__u64)registers, true) == EDGE_DONE)
		return 0;
	task = bpf_get_current_task_btf();
	thread = edge_find_thread(slot, task, (__u64)registers, &seen_registrations);
	if (!thread)
		return 0;
	if (!enter_kernel(thread, task, bpf_ktime_get_ns(), (__u64)number))
		return 0;
	if (!context_changes_unprobed(thread))
		edge_arm(slot, thread, (__u64)registers, seen_registrations);
	thread_release(thread);
	return 0;
}

/* The pointer is the user's: a system call does not change it, so nothing is read here. */
SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *registers)
{
	struct edge_slot *slot = edge_slot_here();
	struct thread_state *thread;
	struct task_struct *task;
	__u32 seen_registrations;

	if (!slot || edge_pass(slot, (__u64)registers, false) == EDGE_DONE)
		return 0;
	task = bpf_get_current_task_btf();
	thread = edge_find_thread(slot, task, (__u64)registers, &seen_registrations);
	if (!thread)
		return 0;
	/* The clock is read last, unless the thread's books begin here. */
	if (!thread_begin(thread, task,
			  thread->is_begun ? thread->clock.mark_ns : bpf_ktime_get_ns()))
		return 0;
	charge_note_pending(thread, thread->clock.mark_ns);
	(void)account_edge(&thread->clock, &thread->pending, bpf_ktime_get_ns(), THREAD_MODE_USER);
	if (session.has_syscalls)
		(void)syscall_counts_edge(thread, 0);
	if (!context_changes_unprobed(thread))
		edge_arm(slot, thread, (__u64)registers, seen_registrations);
	thread_release(thread);
	return 0;
}
