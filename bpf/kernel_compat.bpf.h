/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels and machines, in one place: asked of the running kernel's BTF when
 * the programs are loaded, never of its version. 5.15 is the oldest. What a whole program needs
 * beyond that (SEC("?...")) is in probe/features.c.
 */
#pragma once

#include "kernel_views.h"

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/*
 * Before a global function: the verifier looks at it once, by itself, and not at each of its calls.
 * Weak, so that the compiler takes nothing for granted of what it returns, which the verifier would
 * not know.
 */
#define VERIFIED_ONCE __weak

/* linux/bpf.h, v6.2: of that release, like the lookup that does not fail. */
enum bpf_func_id___since_6_2 {
	BPF_FUNC_cgrp_storage_get___since_6_2 = 210
};

/*
 * Whether a task that is found to have no storage has none, surely: before 6.2 the lookup also
 * fails for a moment when it cuts into another one on this CPU (bpf_task_storage_get(),
 * kernel/bpf/bpf_task_storage.c).
 */
static __always_inline bool compat_storage_lookup_is_sure(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___since_6_2,
					  BPF_FUNC_cgrp_storage_get___since_6_2);
}

/* Whether one CPU's part of a map can be read from another: since 5.19. */
static __always_inline bool compat_has_percpu_lookup(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem);
}

/* The run queue that the task is on; NULL without CONFIG_FAIR_GROUP_SCHED. */
static __always_inline struct rq *compat_run_queue(struct task_struct *task)
{
	return bpf_core_field_exists(task->se.cfs_rq->rq) ? task->se.cfs_rq->rq : NULL;
}

/* Whether the run queue says how much of what the hypervisor took it was told by its last update.
 */
static __always_inline bool compat_has_told_steal(struct rq *rq)
{
	return bpf_core_field_exists(rq->prev_steal_time_rq);
}

static __always_inline bool compat_is_in_syscall(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task), syscallno) >= 0;
#else
	return (long)BPF_CORE_READ((struct pt_regs___x86_call *)bpf_task_pt_regs(task), orig_ax) >=
	       0;
#endif
}

static __always_inline __u64 compat_thread_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	struct task_struct___arm64 *view = (void *)task;

	return BPF_CORE_READ(view, thread.uw.tp_value);
#else
	return task->thread.fsbase;
#endif
}

/* Stores what was written before, and then 0: another CPU that sees the 0 sees the rest. */
static __always_inline void compat_store_release_zero(__u32 *word)
{
#ifdef __TARGET_ARCH_x86
	/* Stores are not reordered with earlier stores: a plain one releases. */
	barrier();
	*(volatile __u32 *)word = 0;
#else
	(void)__sync_lock_test_and_set(word, 0);
#endif
}
