/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ownership of a thread's books. A thread is observed if it has task storage; only its current
 * holder writes its state.
 */
#pragma once

#include "blocked.bpf.h"
#include "clock.bpf.h"
#include "identity.bpf.h"
#include "maps.bpf.h"
#include "tls.bpf.h"

/*
 * One writer at a time: a boundary may be interrupted by the same thread's switch-out (preemptible
 * kernels) or by the flush's interrupt, or race with the flush's iterator on another CPU.
 */
static __always_inline bool thread_try_hold(struct thread_state *thread)
{
	return __sync_val_compare_and_swap(&thread->is_busy, 0, 1) == 0;
}

static __always_inline void thread_release(struct thread_state *thread)
{
	compat_store_release_zero(&thread->is_busy);
}

/*
 * Only the holder of a thread may rely on its state: taking the books orders earlier writes before
 * its reads, on every machine, and registration holds them from the start.
 */
static __always_inline struct thread_state *thread_find(struct task_struct *task)
{
	struct thread_state *thread = bpf_task_storage_get(&threads, task, NULL, 0);

	return thread && *(volatile __u32 *)&thread->is_ready && !is_stopped ? thread : NULL;
}

/*
 * Handles a running thread whose switch-in was not reported: kernels leave out switches away from
 * tasks that must not be traced. The scheduler records when it was, by the run queue's clock
 * (sched_info_arrive(), kernel/sched/stats.h, v6.18); the offset of that clock from ours is known
 * from the last switch that was reported. Without it, exec runtime up to the last tick is used.
 * Exec runtime began at the switch-in, too (update_stats_curr_start(), kernel/sched/fair.c, v6.18),
 * at the run queue's task clock, so the time stolen by then is known, as at a switch-in that is
 * reported.
 */
static __noinline int thread_enter_unseen(struct thread_state *thread, struct task_struct *task)
{
	__u64 exec_ns = task->se.sum_exec_runtime;
	__u64 arrived_ns = task->sched_info.last_arrival;
	__u64 ran_ns = account_growth(exec_ns, thread->clock.exec_mark_ns);
	__u64 stolen_ns = account_stolen_at_arrival(arrived_ns, thread->clock.exec_mark_ns, exec_ns,
						    task->se.exec_start);
	__u64 now_ns = bpf_ktime_get_ns();
	__u64 run_queue_ns;

	if (clock_to_run_queue(now_ns, &run_queue_ns))
		ran_ns = account_growth(run_queue_ns, arrived_ns);
	account_enter_unseen(&thread->clock, &thread->pending, now_ns, ran_ns, stolen_ns,
			     bpf_get_smp_processor_id());
	count_loss(thread->life, COUNTER_SWITCH_UNSEEN);
	return 0;
}

/* Looks up the life of a task's process by pid and start time; 0 = not known. */
static __always_inline __u64 life_of(struct task_struct *task)
{
	__u32 tgid = identity_tgid(task);
	const struct process_life *known = bpf_map_lookup_elem(&lives, &tgid);

	if (!known || (known->start_ticks != LIFE_OF_OUR_CHILD &&
		       known->start_ticks != identity_start_ticks(task)))
		return 0;
	return known->life;
}

static __always_inline void thread_figures(struct task_struct *task,
					   struct kernel_figures *ret_figures)
{
	ret_figures->exec_ns = task->se.sum_exec_runtime;
	ret_figures->run_delay_ns = task->sched_info.run_delay;
	ret_figures->voluntary = task->nvcsw;
	ret_figures->involuntary = task->nivcsw;
}

/*
 * Whether the memory of the current thread's program is there: not after exit_mm(), nor in the
 * middle of an exec, when an address of the old program leads into the new one's memory. (On arm64
 * a read without an mm reaches another process's memory.)
 */
static __always_inline bool thread_has_memory(const struct thread_state *thread)
{
	__u64 memory = (__u64)bpf_get_current_task_btf()->mm;

	return memory && memory == thread->memory;
}

/* After an exec: the address space is another one, in which no known address is valid. */
static __always_inline void thread_renew_image(struct thread_state *thread,
					       struct task_struct *task)
{
	/* Before 6.2 a key that is a field of a global function's argument is refused. */
	__u64 life = thread->life;
	const struct process_books *process = bpf_map_lookup_elem(&books, &life);

	if (process)
		thread->image = process->image;
	/* Gives the thread new accounts, under the new program's name. */
	thread->serial = serial_number();
	thread->memory = thread->next_memory;
	thread->tls_resolution = TLS_UNRESOLVED;
	thread->knowledge = CONTEXT_UNKNOWN;
	thread->is_change_open = 0;
	thread->has_passed_probe = 0;
	thread->changes = 0;
	/* Its serials begin anew. */
	thread->next_serial = thread->state_serial = 0;
	thread->hog.since_ns = 0;
	thread->hog.last_fiber = thread->hog.has_turns = 0;
	thread->is_recalled = 0;
	thread->reading++;
	thread->config.flags = thread->config.generation = thread->config.reading = 0;
	thread->is_pointer_old = compat_keeps_thread_pointer();
	gvl_wait_none(&thread->gvl, &thread->pending, thread->clock.mark_ns);
	gc_time_none(&thread->gc);
	/* an exec by a non-leader takes over the leader's tid */
	thread->tid = identity_tid(task);
	thread->ns_tid = identity_ns_tid(task);
}

/*
 * Begins the books of an observed thread, which the caller holds: of a running one at its first
 * boundary, and so on its CPU, or of one that is off the CPU for sure (registration.bpf.h). Time
 * before that is not accounted. now_ns: the time of that boundary.
 */
static __noinline int thread_begin_books(struct thread_state *thread, struct task_struct *task,
					 __u64 now_ns, __u32 is_off_cpu)
{
	__u32 reason = is_off_cpu ? off_cpu_reason(thread, task, compat_is_queued(task))
				  : OFF_CPU_RUNNABLE;
	__u32 mode = thread->is_worker || compat_is_in_syscall(task) ? THREAD_MODE_KERNEL
								     : THREAD_MODE_USER;
	struct kernel_figures figures;

	missed_switches_forget(&thread->missed);
	missed_calls_forget(&thread->missed_calls);
	thread_figures(task, &figures);
	if (!is_off_cpu)
		figures.exec_ns = exec_runtime_at(task, now_ns, stolen_from_cpu(now_ns));
	thread->exec_published_ns = figures.exec_ns;
	thread->epoch = current_epoch;
	account_begin(&thread->clock, &figures, now_ns, is_off_cpu, reason, mode);
	if (session.has_timeline)
		timeline_begin(&thread->timeline, now_ns);
	thread->is_begun = 1;
	return 0;
}

/* Publishes the kernel's figure of what this thread ran, for the balance; it is independent of
 * the accounts. */
static __always_inline void thread_publish_exec(struct thread_state *thread, __u64 exec_ns)
{
	__u64 figure_ns = account_exec_figure(&thread->clock, thread->exec_published_ns, exec_ns);
	struct process_books *process;

	if (figure_ns == thread->exec_published_ns)
		return;
	process = bpf_map_lookup_elem(&books, &thread->life);
	if (process)
		__sync_fetch_and_add(&process->epochs[thread->epoch & 1].exec_ns,
				     figure_ns - thread->exec_published_ns);
	thread->exec_published_ns = figure_ns;
}
