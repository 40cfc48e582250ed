/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a thread leaves its CPU: it would run on, or on what it is blocked. */
#pragma once

#include "maps.bpf.h"
#include "open_file.bpf.h"

#include <correlator/blocked_reason.h>

/*
 * enum blocked_reason of a task that falls asleep, or did so in the call that it still is in.
 * Apart: the stack of a switch is short.
 */
static __noinline __u32 blocked_on(struct task_struct *task, __u32 is_uninterruptible)
{
	__u32 reason;

	if (task->__state & TASK_STATE_STOPPED)
		return BLOCKED_ON_OTHER;
	if (compat_call_is_32_bit(task))
		return is_uninterruptible ? BLOCKED_ON_DISK : BLOCKED_ON_OTHER;
	reason = blocked_reason_of_call(compat_call_number(task), is_uninterruptible);
	if (reason == BLOCKED_ON_FILE)
		return blocked_reason_of_file(open_file_mode(task, compat_call_argument(task)),
					      is_uninterruptible);
	return reason;
}

/* As struct thread_clock has it. */
static __always_inline __u32 off_cpu_reason(const struct thread_state *thread,
					    struct task_struct *task, bool is_preempted)
{
	enum off_cpu_reason how = OFF_CPU_SLEEPING;
	__u32 state = task->__state;

	/* A task preempted on its way to sleep has a sleeping state but stays runnable. */
	if (is_preempted || state == TASK_STATE_RUNNING)
		return OFF_CPU_RUNNABLE;
	/* TASK_IDLE is uninterruptible without load: a kernel worker's wait, not a disk's. */
	if ((state & TASK_STATE_UNINTERRUPTIBLE) && !(state & TASK_STATE_NOLOAD))
		how = OFF_CPU_UNINTERRUPTIBLE;
	/* The kernel's own thread is in no call of the process. */
	if (thread->is_worker)
		return off_cpu_blocked(how, how == OFF_CPU_UNINTERRUPTIBLE ? BLOCKED_ON_DISK
									   : BLOCKED_ON_OTHER);
	return off_cpu_blocked(how, blocked_on(task, how == OFF_CPU_UNINTERRUPTIBLE));
}

/* The same of the current task. What follows would be verified for each reason otherwise. */
VERIFIED_ONCE __u32 off_cpu_reason_here(const struct thread_state *thread, __u32 is_preempted)
{
	return thread ? off_cpu_reason(thread, bpf_get_current_task_btf(), is_preempted)
		      : OFF_CPU_RUNNABLE;
}
