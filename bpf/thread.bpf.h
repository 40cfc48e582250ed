/*
 * The kernel programs' maps and the state of one observed thread.
 *
 * A thread is observed if it has task storage. Storage is created in two places only:
 * thread_register() for living threads and on fork; the kernel frees it with the task.
 */
#pragma once

#include "kernel_views.h"

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include <correlator/account.h>
#include <correlator/books.h>
#include <correlator/config.h>
#include <correlator/context_hash.h>
#include <correlator/counters.h>
#include <correlator/events.h>
#include <correlator/limits.h>
#include <correlator/share.h>
#include <correlator/snapshot.h>
#include <correlator/state_abi.h>

/* Some microseconds of trying. */
enum {
	HOLD_ATTEMPTS = 100
};

/* How far our clock is from a run queue's is looked at no more often. */
enum {
	OFFSET_PERIOD_NS = 1000 * 1000
};

/* By how much our clock may drift from it: NTP adjusts ours by no more than 500 ppm. */
enum {
	OFFSET_DRIFT_DIVISOR = 2000
};

/* No address: the first pointer that is read was there before the thread was seen. */
#define LEFTOVER_ANY (~0ULL)

enum context_knowledge {
	CONTEXT_UNKNOWN = 0, /* nothing was read since the last change of context */
	CONTEXT_KNOWN = 1, /* in force until a probe or a reading says otherwise */
	CONTEXT_PASSED = 2, /* read, but a store may have followed: good for the gap alone */
};

struct thread_state {
	struct thread_clock clock;
	struct account_totals pending; /* of the context below, since it was last charged */
	__u64 pending_first_ns; /* 0 = nothing is pending */
	__u64 tls_address;
	__u64 pointer_read; /* by context_read_pointer() */
	__u64 state_pointer; /* read when context_hash was found */
	__u64 leftover_pointer; /* not set by this thread in this life; LEFTOVER_ANY: the next read
				 */
	__u64 context_hash;
	__u64 table_digest; /* lean: of the table that context_hash was found in */
	__u64 confirmed_ns; /* when the pointer was last read */
	__u64 compared_ns; /* lean: when what it leads to was last compared in full */
	__u64 exec_published_ns;
	__u64 missed_out_ns; /* switched out while a program held the books */
	__u64 missed_gap_ns;
	__u64 asked_ns; /* when it last asked userspace to look at the process */
	__u32 tls_resolution;
	__u32 tls_epoch; /* the window that it was last tried in */
	__u32 knowledge; /* enum context_knowledge, of context_hash */
	__u32 is_change_open; /* a probe was passed, the store that it precedes may be ahead */
	__u32 generation;
	__u32 epoch; /* the window that it charges to */
	__u32 serial;
	__u32 tid;
	__u32 tgid;
	__u32 ns_tid; /* in its own pid namespace */
	__u32 is_busy; /* held by a program that is writing up the books */
	__u32 is_ready; /* set last, once the state is complete */
	__u32 is_exiting;
	__u32 has_passed_probe; /* the thread itself has set its context since it was first seen */
	__u32 is_inherited; /* context_hash was found before it had */
	__u32 is_otel_inherited; /* the same of OpenTelemetry's part of it */
	__u32 is_unread; /* a value of the context faulted: to be read again */
	__u32 armed_cpu; /* CPU + 1 whose edge_slot has time of this thread; 0 = none */
	/* Room to read a table and to build a snapshot: too large for the stack, and not per CPU
	 * because these programs can be preempted. */
	struct state_header header; /* and the pairs behind it, read together */
	struct state_pair pairs[STATE_CAPACITY_MAX];
	struct value_chunk chunk; /* of a long text */
	struct context_snapshot snapshot;
	__u64 snapshot_hash; /* of what the snapshot holds */
	struct process_config config; /* of the generation above */
	__u64 opened_hash; /* of the last account that was opened, */
	__u32 opened_epoch; /* and the window that it is of */
	__u32 reserved;
};

_Static_assert(__builtin_offsetof(struct thread_state, pairs) ==
		       __builtin_offsetof(struct thread_state, header) +
			       sizeof(struct state_header),
	       "read in one piece");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_state);
} threads SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct process_config);
} processes SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PROCESSES_MAX);
	__type(key, __u32);
	__type(value, struct process_books);
} books SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CONTEXTS_MAX);
	__type(key, __u64);
	__type(value, struct context_snapshot);
} contexts SEC(".maps") __weak;

/*
 * Two epochs of accounts, by the parity of the window. Each thread goes over to the next one when
 * it is written up, so its charges and its exec runtime are cut at the same instant.
 */
struct accounts_epoch {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, ACCOUNTS_MAX);
	__type(key, struct account_key);
	__type(value, struct account);
};

struct accounts_epoch accounts_a SEC(".maps") __weak;
struct accounts_epoch accounts_b SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 2);
	__type(key, __u32);
	__array(values, struct accounts_epoch);
} accounts SEC(".maps") __weak;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENT_RING_BYTES);
} events SEC(".maps") __weak;

/* How far our clock is from the one of this CPU's run queue. */
struct clock_offset {
	__u64 ns; /* ours less the run queue's, modulo 2^64 */
	__u64 seen_at_ns; /* by the run queue's clock; 0 = never */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct clock_offset);
} clock_offsets SEC(".maps") __weak;

/* Who holds how much of `contexts`, and of each epoch of accounts. */
struct share_table contexts_share __weak;
struct share_table accounts_share[2] __weak;

const volatile struct session_config session __weak;
const volatile struct context_hash_key hash_key __weak;

/* Userspace raises it whenever a process_config changed: contexts are then read anew. */
volatile __u32 generation __weak;
/* Userspace sets it at the end: programs do nothing from then on, only the collector works. */
volatile __u32 is_stopped __weak;
volatile __u32 collect_phase __weak;
/* The window that charges go to; raised by userspace to end one. */
volatile __u32 current_epoch __weak;
/* Threads that the collector met but could not write up yet. */
__u32 stragglers __weak;
/* No uprobes: every boundary reads the context. May be raised while recording, never lowered. */
volatile __u32 is_lean __weak;
__u32 last_serial __weak;
/* The last clock_offset that any CPU has seen, for those that have seen none. */
__u64 any_clock_offset_ns __weak;
__u32 is_any_clock_offset_seen __weak;
/* Raised after each thread that came to be observed. */
volatile __u32 registrations __weak;

static __always_inline struct clock_offset *clock_offset_here(void)
{
	__u32 key = 0;

	return bpf_map_lookup_elem(&clock_offsets, &key);
}

/*
 * Our time as the run queue's; false if they were never compared. Where this CPU has not done so
 * yet, another's figure must do: their clocks are kept together.
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
 * What the scheduler has taken out of exec runtime on this CPU since boot because nobody ran: the
 * run queue's clock less its task clock, on which exec runtime runs (update_rq_clock_task(),
 * kernel/sched/core.c, v6.18). It is as of the clock's last update, which may be a tick ago. Under
 * KVM the host's figure (struct kvm_steal_time) is newer; the next update will take its growth out,
 * but not more than has passed since the last one. task runs on this CPU.
 */
static __always_inline __u64 stolen_from_cpu(struct task_struct *task, __u64 now_ns)
{
	__u64 stolen_ns, told_ns, passed_ns, run_queue_ns;
	struct rq *rq;

	if (!bpf_core_field_exists(task->se.cfs_rq->rq))
		return 0;
	rq = task->se.cfs_rq->rq;
	stolen_ns = account_growth(rq->clock, rq->clock_task);
	if (!session.has_steal_time || !bpf_core_field_exists(rq->prev_steal_time_rq) ||
	    !clock_to_run_queue(now_ns, &run_queue_ns) ||
	    bpf_probe_read_kernel(&told_ns, sizeof(told_ns),
				  (void *)((__u64)rq + (__u64)session.steal_time_offset)))
		return stolen_ns;
	told_ns = account_growth(told_ns, rq->prev_steal_time_rq);
	passed_ns = account_growth(run_queue_ns, rq->clock);
	return stolen_ns + (told_ns < passed_ns ? told_ns : passed_ns);
}

/* The same at a switch-in, where the clock has just been updated. */
static __always_inline __u64 stolen_at_switch_in(struct task_struct *task)
{
	struct rq *rq;

	if (!bpf_core_field_exists(task->se.cfs_rq->rq))
		return 0;
	rq = task->se.cfs_rq->rq;
	return account_growth(rq->clock, rq->clock_task);
}

/*
 * Takes a new reading of the offset. What comes between the run queue's reading and ours (an
 * interrupt, theft) only makes it larger, so the smallest is kept, but for what our clock may have
 * drifted since.
 */
static __always_inline void clock_offset_update(struct clock_offset *offset, __u64 run_queue_ns)
{
	__u64 ns = bpf_ktime_get_ns() - run_queue_ns;
	__u64 age_ns = run_queue_ns - offset->seen_at_ns;
	__u64 limit_ns = offset->ns + age_ns / OFFSET_DRIFT_DIVISOR;

	if (!offset->seen_at_ns || (__s64)(ns - limit_ns) < 0)
		offset->ns = ns;
	else
		offset->ns = limit_ns;
	offset->seen_at_ns = run_queue_ns;
	any_clock_offset_ns = offset->ns;
	is_any_clock_offset_seen = 1;
}

/*
 * The time of a switch, by our clock: that of the run queue, which was read for it just before and
 * which exec runtime runs on. Reading our own costs as much as the rest of a switch. task leaves
 * this CPU or gets it.
 */
static __always_inline __u64 clock_of_switch(struct task_struct *task)
{
	struct clock_offset *offset = clock_offset_here();
	__u64 run_queue_ns;

	if (!offset || !bpf_core_field_exists(task->se.cfs_rq->rq))
		return bpf_ktime_get_ns();
	run_queue_ns = task->se.cfs_rq->rq->clock;
	if (!offset->seen_at_ns || run_queue_ns - offset->seen_at_ns > OFFSET_PERIOD_NS)
		clock_offset_update(offset, run_queue_ns);
	return run_queue_ns + offset->ns;
}

/*
 * se.sum_exec_runtime as it would be if it were brought up to now: it is up to a tick old while the
 * task runs. As update_curr() does it (kernel/sched/fair.c, v6.18): the run queue's task clock,
 * from here on at our clock's pace, less exec_start.
 */
static __always_inline __u64 exec_runtime_now(struct task_struct *task, __u64 now_ns)
{
	__u64 exec_ns = task->se.sum_exec_runtime;
	__u64 run_queue_ns;

	if (!clock_to_run_queue(now_ns, &run_queue_ns))
		return exec_ns;
	return exec_ns + account_growth(account_growth(run_queue_ns, stolen_from_cpu(task, now_ns)),
					task->se.exec_start);
}

static __always_inline void count_loss(__u32 tgid, enum counter counter)
{
	struct process_books *process = bpf_map_lookup_elem(&books, &tgid);

	if (process && counter < _COUNTER_MAX)
		__sync_fetch_and_add(&process->losses[counter], 1);
}

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
#ifdef __TARGET_ARCH_x86
	/* Stores are not reordered with earlier stores: a plain one releases. */
	barrier();
	*(volatile __u32 *)&thread->is_busy = 0;
#else
	(void)__sync_lock_test_and_set(&thread->is_busy, 0);
#endif
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
