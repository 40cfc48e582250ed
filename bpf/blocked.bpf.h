/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a thread leaves its CPU: still runnable, or blocked and on what. */
#pragma once

#include "maps.bpf.h"
#include "open_file.bpf.h"

#include <correlator/blocked_reason.h>
#include <correlator/gvl_futex.h>
#include <correlator/table_probe.h>

/*
 * Returns the enum blocked_reason of a task that is falling asleep, or fell asleep in the system
 * call it is still in; or BLOCKED_ON_FILE: the file under *ret_descriptor decides.
 */
static __always_inline __u32 blocked_by_call(struct task_struct *task, bool is_uninterruptible,
					     __u32 *ret_descriptor)
{
	struct compat_call call;

	if (task->__state & TASK_STATE_STOPPED)
		return BLOCKED_ON_OTHER;
	if (compat_call_is_32_bit(task))
		return is_uninterruptible ? BLOCKED_ON_DISK : BLOCKED_ON_OTHER;
	call = compat_call(task);
	*ret_descriptor = (__u32)call.argument;
	return blocked_reason_of_call(call.number, is_uninterruptible);
}

/* Returns a value for thread_clock.off_reason, but with BLOCKED_ON_FILE where a file decides: see
 * off_cpu_of_file(). */
static __always_inline __u32 off_cpu_by_call(const struct thread_state *thread,
					     struct task_struct *task, bool is_preempted,
					     __u32 *ret_descriptor)
{
	enum off_cpu_reason how = OFF_CPU_SLEEPING;
	__u32 state = task->__state;

	/* A task preempted on its way to sleep has a sleeping state but stays runnable. */
	if (is_preempted || state == TASK_STATE_RUNNING)
		return OFF_CPU_RUNNABLE;
	/* TASK_IDLE is uninterruptible but adds no load: a kernel worker's wait, not a disk's. */
	if ((state & TASK_STATE_UNINTERRUPTIBLE) && !(state & TASK_STATE_NOLOAD))
		how = OFF_CPU_UNINTERRUPTIBLE;
	/* A kernel worker is never in a system call of the process. */
	if (thread->is_worker)
		return off_cpu_blocked(how, how == OFF_CPU_UNINTERRUPTIBLE ? BLOCKED_ON_DISK
									   : BLOCKED_ON_OTHER);
	return off_cpu_blocked(
		how, blocked_by_call(task, how == OFF_CPU_UNINTERRUPTIBLE, ret_descriptor));
}

static __always_inline bool off_cpu_asks_file(__u32 off_reason)
{
	return off_cpu_blocked_on(off_reason) == BLOCKED_ON_FILE;
}

/* Completes an off_reason that asks for the file: mode is the file's st_mode. */
static __always_inline __u32 off_cpu_of_file(__u32 off_reason, __u32 mode)
{
	return off_cpu_blocked(
		off_reason & 0xff,
		blocked_reason_of_file(mode, off_cpu_is_uninterruptible(off_reason)));
}

/* Returns a value for thread_clock.off_reason. Not inlined: stack space is scarce. */
static __noinline __u32 off_cpu_reason(const struct thread_state *thread, struct task_struct *task,
				       bool is_preempted)
{
	__u32 descriptor = 0;
	__u32 reason = off_cpu_by_call(thread, task, is_preempted, &descriptor);

	return off_cpu_asks_file(reason) ? off_cpu_of_file(reason, open_file_mode(task, descriptor))
					 : reason;
}

/* Not inlined: stack space is scarce. */
static __noinline __u32 off_cpu_file_mode(struct task_struct *task, __u64 descriptor)
{
	return open_file_mode(task, descriptor);
}

/* Whether the `previous` of a list node that the target refers to is that node. */
static __always_inline bool off_cpu_precedes(__u64 node, __u64 next)
{
	__u64 previous;

	return table_pointer_is_sane(next) &&
	       !bpf_probe_read_user(&previous, sizeof(previous),
				    (void *)(next + sizeof(previous))) &&
	       previous == node;
}

/* Returns OFF_CPU_FOR_GVL if the current task, which falls asleep in futex(), waits for Ruby's GVL,
 * else 0. Not inlined: stack space is scarce. */
static __noinline __u32 off_cpu_for_gvl(struct task_struct *task)
{
	__u64 futex = compat_call(task).argument;
	__u64 thread_pointer = compat_thread_pointer(task);
	struct gvl_around around;

	if (!table_pointer_is_sane(gvl_futex_around(futex)) ||
	    bpf_probe_read_user(&around, sizeof(around), (void *)gvl_futex_around(futex)))
		return 0;
	for (__u32 place = 0; place < GVL_FUTEX_PLACES; place++)
		if (gvl_futex_is_linked(&around, place, futex, thread_pointer) &&
		    off_cpu_precedes(gvl_futex_node(futex, place), gvl_futex_next(&around, place)))
			return OFF_CPU_FOR_GVL;
	return 0;
}

/*
 * off_cpu_reason() of the current task; only in a program itself (open_file_mode_cast()). The
 * result goes through memory, whose value the verifier does not know: it would follow the code
 * after this once for each reason.
 */
static __always_inline __u32 off_cpu_reason_here(struct thread_state *thread,
						 struct task_struct *task, bool is_preempted)
{
	__u32 descriptor = 0;
	__u32 reason = off_cpu_by_call(thread, task, is_preempted, &descriptor);

	if (off_cpu_asks_file(reason))
		reason = off_cpu_of_file(reason, session.can_cast
							 ? open_file_mode_cast(task, descriptor)
							 : off_cpu_file_mode(task, descriptor));
	if ((thread->config.flags & PROCESS_SHOWS_GVL) &&
	    off_cpu_blocked_on(reason) == BLOCKED_ON_FUTEX)
		reason |= off_cpu_for_gvl(task);
	*(volatile __u32 *)&thread->leaving_for = reason;
	return *(volatile __u32 *)&thread->leaving_for;
}
