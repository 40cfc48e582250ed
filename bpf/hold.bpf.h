/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who holds a thread's books. A thread is observed if it has task storage; its state is written by
 * whoever holds it, one at a time.
 */
#pragma once

#include "clock.bpf.h"
#include "maps.bpf.h"

/* Some microseconds of trying. */
enum {
	HOLD_ATTEMPTS = 100
};

/*
 * One writer at a time: a boundary may be cut by the same thread's switch-out (preemptible
 * kernels), by the flush's interrupt, or meet the flush's iterator on another CPU.
 */
static __always_inline bool thread_try_hold(struct thread_state *thread)
{
	return __sync_val_compare_and_swap(&thread->is_busy, 0, 1) == 0;
}

/*
 * For a switch-in, which nothing of the thread itself can be in the middle of: only the iterator,
 * on another CPU, and for less than a microsecond. Bounded all the same.
 */
static __always_inline bool thread_wait_hold(struct thread_state *thread)
{
	for (__u32 attempt = 0; attempt < HOLD_ATTEMPTS; attempt++)
		if (thread_try_hold(thread))
			return true;
	return false;
}

static __always_inline void thread_release(struct thread_state *thread)
{
	compat_store_release_zero(&thread->is_busy);
}

static __always_inline struct thread_state *thread_find(struct task_struct *task)
{
	struct thread_state *thread = bpf_task_storage_get(&threads, task, NULL, 0);

	return thread && thread->is_ready && !is_stopped ? thread : NULL;
}

/*
 * A running thread whose switch-in was not reported: kernels leave out switches away from tasks
 * that are kept from being traced. The scheduler itself knows when it was, by the run queue's clock
 * (sched_info_arrive(), kernel/sched/stats.h, v6.18); how far that is from ours was seen at the
 * last switch-in that was reported. Without one, exec runtime up to the last tick must do.
 */
static __noinline int thread_enter_unseen(struct thread_state *thread, struct task_struct *task)
{
	__u64 ran_ns = account_growth(task->se.sum_exec_runtime, thread->clock.exec_mark_ns);
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 run_queue_ns;

	if (clock_to_run_queue(now_ns, &run_queue_ns))
		ran_ns = account_growth(run_queue_ns, task->sched_info.last_arrival);
	account_enter_unseen(&thread->clock, now_ns, ran_ns);
	count_loss(thread->tgid, COUNTER_SWITCH_UNSEEN);
	return 0;
}

static __always_inline void thread_figures(struct task_struct *task,
					   struct kernel_figures *ret_figures)
{
	ret_figures->exec_ns = task->se.sum_exec_runtime;
	ret_figures->run_delay_ns = task->sched_info.run_delay;
	ret_figures->voluntary = task->nvcsw;
	ret_figures->involuntary = task->nivcsw;
}

/* What the kernel says this thread ran, for the balance: independent of the accounts. */
static __always_inline void thread_publish_exec(struct thread_state *thread, __u64 exec_ns)
{
	__u64 growth_ns = account_growth(exec_ns, thread->exec_published_ns);
	struct process_books *process;

	if (!growth_ns)
		return;
	process = bpf_map_lookup_elem(&books, &thread->tgid);
	if (process)
		__sync_fetch_and_add(&process->epochs[thread->epoch & 1].exec_ns, growth_ns);
	thread->exec_published_ns = exec_ns;
}
