/* SPDX-License-Identifier: GPL-2.0-only */
/* Why a thread leaves its CPU: still runnable, or blocked and on what. */
#pragma once

#include "maps.bpf.h"
#include "open_file.bpf.h"

#include <correlator/blocked_reason.h>

/*
 * Returns the enum blocked_reason of a task that is falling asleep, or fell asleep in the system
 * call it is still in. Not inlined: stack space is scarce at a switch.
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

/* Returns a value for thread_clock.off_reason. */
static __always_inline __u32 off_cpu_reason(const struct thread_state *thread,
					    struct task_struct *task, bool is_preempted)
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
	return off_cpu_blocked(how, blocked_on(task, how == OFF_CPU_UNINTERRUPTIBLE));
}

/* off_cpu_reason() of the current task. Verified once: otherwise the verifier would follow the
 * code after the call once for each reason. */
VERIFIED_ONCE __u32 off_cpu_reason_here(const struct thread_state *thread, __u32 is_preempted)
{
	return thread ? off_cpu_reason(thread, bpf_get_current_task_btf(), is_preempted)
		      : OFF_CPU_RUNNABLE;
}
