/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The user/kernel boundaries. These two hooks tax every system call of the machine.
 *
 * The clock is read as close to the ring crossing as possible: first on the way in, last on the way
 * out, so that the cost of these programs counts as kernel time, as it is for the machine. The part
 * that remains outside is measured continuously (recorder/probe/calibrator.c).
 */
#pragma once

#include "boundary.bpf.h"

static __always_inline int enter_kernel(struct thread_state *thread, struct task_struct *task,
					__u64 now_ns, __u64 number, bool is_exec)
{
	bool lacks_place = false;
	__u32 call = 0;

	if (session.has_syscalls)
		call = syscall_call(number, compat_is_x86(), compat_call_is_32_bit(task));
	if (!boundary_begin(thread, task, now_ns, BOUNDARY_CALL)) {
		if (missed_calls_note(&thread->missed_calls, call))
			count_loss(thread->life, COUNTER_SYSCALL_LOST);
		return 0;
	}
	if (session.has_syscalls)
		lacks_place = !syscall_counts_has_place(thread, call);
	if (session.has_io)
		lacks_place |= thread->io.is_full;
	if (is_exec) {
		context_want_snapshot(thread);
		boundary_close(thread, task, now_ns, BOUNDARY_PREPARE_EXEC, THREAD_MODE_KERNEL);
		boundary_end(thread, task, now_ns, BOUNDARY_PREPARE_EXEC);
		charge_details(thread);
		charge_note_pending(thread, thread->clock.mark_ns);
		lacks_place = false;
	} else if (context_changes_unprobed(thread) || context_has_new_config(thread) ||
		   lacks_place) {
		boundary_close(thread, task, now_ns, BOUNDARY_CALL_READ, THREAD_MODE_KERNEL);
	} else {
		boundary_close(thread, task, now_ns, BOUNDARY_CALL, THREAD_MODE_KERNEL);
	}
	/* Rare: few threads make that many kinds of calls, or meet that many peers, between two
	 * charges. */
	if (lacks_place) {
		boundary_end(thread, task, now_ns, BOUNDARY_CALL_FULL);
		charge_details(thread);
		charge_note_pending(thread, thread->clock.mark_ns);
	}
	if (session.has_syscalls)
		(void)syscall_counts_edge(thread, call);
	if (session.has_io)
		thread->io.entered_ns = thread->clock.mark_ns;
	thread->pending.syscalls++;
	return 1;
}

PROGRAM("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs *registers, long number)
{
	struct edge_slot *slot = edge_slot_here();
	struct thread_state *thread;
	struct task_struct *task;
	__u32 seen_registrations;
	bool is_exec = session.reads_at_exec_calls && compat_is_exec((__u64)number);
	/* When it began is not known if it passes through the slot. */
	bool connects = session.has_io && io_way(number) & IO_CONNECTS;

	if (!slot || (!is_exec && edge_pass(slot, (__u64)registers, true, connects) == EDGE_DONE))
		return 0;
	task = bpf_get_current_task_btf();
	thread = edge_find_thread(slot, task, (__u64)registers, &seen_registrations);
	if (!thread)
		return 0;
	if (!enter_kernel(thread, task, bpf_ktime_get_ns(), (__u64)number, is_exec))
		return 0;
	if (context_lets_edges_pass(thread))
		edge_arm(slot, thread, (__u64)registers, seen_registrations);
	thread_release(thread);
	return 0;
}

/* Only user code changes the pointer, never a system call, so nothing is read here. */
PROGRAM("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs *registers, long result)
{
	__u32 way = session.has_io ? io_way(compat_ended_call(registers)) : 0;
	struct edge_slot *slot = edge_slot_here();
	struct thread_state *thread;
	struct task_struct *task;
	__u32 seen_registrations;

	if (!slot || edge_pass(slot, (__u64)registers, false, way) == EDGE_DONE)
		return 0;
	task = bpf_get_current_task_btf();
	thread = edge_find_thread(slot, task, (__u64)registers, &seen_registrations);
	if (!thread)
		return 0;
	/* The clock is read last, unless the thread's books begin here. */
	if (!boundary_begin(thread, task,
			    thread->is_begun ? thread->clock.mark_ns : bpf_ktime_get_ns(),
			    BOUNDARY_RETURN)) {
		if (session.has_io && way)
			count_loss(thread->life, COUNTER_IO_LOST);
		return 0;
	}
	boundary_close(thread, task, bpf_ktime_get_ns(), BOUNDARY_RETURN, THREAD_MODE_USER);
	if (session.has_syscalls)
		(void)syscall_counts_edge(thread, 0);
	if (session.has_io && way)
		(void)io_count(thread, way, result);
	if (context_lets_edges_pass(thread))
		edge_arm(slot, thread, (__u64)registers, seen_registrations);
	thread_release(thread);
	return 0;
}
