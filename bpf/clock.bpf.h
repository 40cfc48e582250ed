/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clocks: ours (bpf_ktime_get_ns(), CLOCK_MONOTONIC), and the run queue's, which exec runtime
 * is based on. The offset between them is kept for each CPU.
 */
#pragma once

#include "maps.bpf.h"

/* Least time between two readings of a CPU's clock offset. */
enum {
	OFFSET_PERIOD_NS = 1000 * 1000
};

static __always_inline struct clock_offset *clock_offset_here(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&clock_offsets, &key);
}

/*
 * Converts our time to the run queue's; false if they were never compared. A CPU that has not
 * compared them yet uses another CPU's offset: their clocks are kept in sync.
 */
static __always_inline bool clock_to_run_queue(__u64 now_ns, __u64 *ret_ns)
{
	const struct clock_offset *offset = clock_offset_here();

	if (offset && offset->seen_at_ns) {
		*ret_ns = now_ns - offset->ns;
		return true;
	}
	*ret_ns = now_ns - any_clock_offset_ns;
	return is_any_clock_offset_seen;
}

/*
 * How often to read figures that the scheduler changes together, to get a consistent set: a tick,
 * or a wake-up by another CPU, may come between two readings, and a mixed set is off by up to a
 * tick. (An update in progress on another CPU is not detected; it takes nanoseconds.)
 */
enum {
	READINGS_MAX = 2
};

static __always_inline __u64 clock_load(const __u64 *figure)
{
	return *(const volatile __u64 *)figure;
}

/* Steal time that the host has reported and the run queue has not subtracted yet; 0 = not known.
 * casts: as in stolen_from_cpu_of(). */
static __always_inline __u64 told_steal(struct rq *rq, bool casts)
{
	const void *told = (void *)((__u64)rq + (__u64)session.steal_time_offset);
	__u64 told_ns = 0;

	if (!session.has_steal_time || !compat_has_told_steal(rq))
		return 0;
	if (casts)
		told_ns = compat_load(told);
	else if (bpf_probe_read_kernel(&told_ns, sizeof(told_ns), told))
		return 0;
	return account_growth(told_ns, clock_load(&rq->prev_steal_time_rq));
}

/*
 * The time that the scheduler has left out of exec runtime on this CPU since boot because no task
 * ran: the run queue's clock minus its task clock, which exec runtime is based on
 * (update_rq_clock_task(), kernel/sched/core.c, v6.18). It is as of the clock's last update, up to
 * a tick ago. Under KVM the host's figure (struct kvm_steal_time) is newer; the next update
 * subtracts its growth, but at most the time since the last update. The CPU may also be taken away
 * between now_ns and that reading. task runs on this CPU. casts: without a call, see compat_cast().
 */
static __always_inline __u64 stolen_from_cpu_of(struct task_struct *task, __u64 now_ns, bool casts)
{
	struct rq *rq = compat_run_queue(task);
	__u64 stolen_ns = 0, run_queue_ns;

	if (!rq)
		return 0;
	if (!clock_to_run_queue(now_ns, &run_queue_ns))
		run_queue_ns = 0;
	for (int i = 0; i < READINGS_MAX; i++) {
		__u64 clock_ns = clock_load(&rq->clock);
		__u64 clock_task_ns = clock_load(&rq->clock_task);
		__u64 told_ns = told_steal(rq, casts);
		__u64 since_ns = told_ns ? bpf_ktime_get_ns() - now_ns : 0;

		stolen_ns = account_growth(clock_ns, clock_task_ns) +
			    account_stolen_before(told_ns, account_growth(run_queue_ns, clock_ns),
						  since_ns);
		if (clock_load(&rq->clock) == clock_ns &&
		    clock_load(&rq->clock_task) == clock_task_ns &&
		    (!told_ns || told_steal(rq, casts) == told_ns))
			break;
	}
	return stolen_ns;
}

/* stolen_from_cpu_of() for the current task. Not under compat_preempt_disable() (bpf/README.md). */
VERIFIED_ONCE __u64 stolen_from_cpu(__u64 now_ns)
{
	return stolen_from_cpu_of(bpf_get_current_task_btf(), now_ns, false);
}

/* stolen_from_cpu() where each call counts; only in a program itself (compat_cast()). */
static __always_inline __u64 stolen_from_cpu_here(struct task_struct *task, __u64 now_ns)
{
	return session.can_cast ? stolen_from_cpu_of(task, now_ns, true) : stolen_from_cpu(now_ns);
}

/* stolen_from_cpu_of() at a switch-in, where the run queue's clock has just been updated. */
static __always_inline __u64 stolen_at_switch_in(struct task_struct *task)
{
	struct rq *rq = compat_run_queue(task);

	if (!rq)
		return 0;
	return account_growth(rq->clock, rq->clock_task);
}

static __always_inline void clock_offset_update(struct clock_offset *offset, __u64 run_queue_ns)
{
	clock_offset_take(offset, bpf_ktime_get_ns() - run_queue_ns, run_queue_ns);
	any_clock_offset_ns = offset->ns;
	is_any_clock_offset_seen = 1;
}

/*
 * The time of a switch by our clock, derived from the run queue's, which the kernel has just read
 * for the switch and which exec runtime is based on. Reading our own costs as much as the rest of a
 * switch. task leaves this CPU or gets it.
 */
static __always_inline __u64 clock_of_switch(struct task_struct *task)
{
	struct clock_offset *offset = clock_offset_here();
	struct rq *rq = compat_run_queue(task);
	__u64 run_queue_ns;

	if (!offset || !rq)
		return bpf_ktime_get_ns();
	run_queue_ns = rq->clock;
	if (!offset->seen_at_ns || run_queue_ns - offset->seen_at_ns > OFFSET_PERIOD_NS)
		clock_offset_update(offset, run_queue_ns);
	return run_queue_ns + offset->ns;
}

/*
 * se.sum_exec_runtime brought up to now_ns, if stolen_ns were stolen from its CPU since boot: the
 * field is up to a tick old while the task runs. As update_curr() does it (kernel/sched/fair.c,
 * v6.18): the run queue's task clock, extended by our clock, minus exec_start.
 */
static __always_inline __u64 exec_runtime_at(struct task_struct *task, __u64 now_ns,
					     __u64 stolen_ns)
{
	__u64 now_exec_ns = 0, run_queue_ns;

	if (!clock_to_run_queue(now_ns, &run_queue_ns))
		return task->se.sum_exec_runtime;
	for (int i = 0; i < READINGS_MAX; i++) {
		__u64 exec_ns = clock_load(&task->se.sum_exec_runtime);
		__u64 start_ns = clock_load(&task->se.exec_start);

		now_exec_ns = account_exec_as_of(account_growth(run_queue_ns, stolen_ns), exec_ns,
						 start_ns);
		if (clock_load(&task->se.sum_exec_runtime) == exec_ns &&
		    clock_load(&task->se.exec_start) == start_ns)
			break;
	}
	return now_exec_ns;
}

/* exec_runtime_at() with what is stolen up to now; task is running. */
static __always_inline __u64 exec_runtime_now(struct task_struct *task, __u64 now_ns)
{
	return exec_runtime_at(task, now_ns, stolen_from_cpu_of(task, now_ns, false));
}
