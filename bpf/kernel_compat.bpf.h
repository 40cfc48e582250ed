/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What differs between kernels and machines, in one place: asked of the running kernel's BTF when
 * the programs are loaded, never of its version. 5.15 is the oldest. What a whole program needs
 * beyond that (PROGRAM("?...")) is in recorder/probe/features.c.
 */
#pragma once

#include "kernel_views.h"

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <correlator/account.h>
#include <correlator/config.h>
#include <correlator/syscall_counts.h>

/*
 * Before a global function: the verifier looks at it once, by itself, and not at each of its calls.
 * Weak, so that the compiler takes nothing for granted of what it returns, which the verifier would
 * not know.
 */
#ifndef VERIFIED_ONCE
#define VERIFIED_ONCE __weak
#endif

/* Before a program: which kind it is of, as libbpf says that by its section. */
#ifndef PROGRAM
#define PROGRAM(section) SEC(section)
#endif

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

/*
 * Whether this CPU is in an interrupt, and has only borrowed its current task. x86 counts that for
 * each CPU, at this distance from its run queue (0 = not known: no); arm64 with the task.
 */
static __always_inline bool compat_is_in_interrupt(struct task_struct *current, __s64 offset)
{
	__u32 count = 0;
#ifdef __TARGET_ARCH_arm64
	struct task_struct___arm64 *view = (void *)current;

	count = (__u32)BPF_CORE_READ(view, thread_info.preempt_count);
#else
	struct rq *rq = compat_run_queue(current);

	if (!rq || !offset ||
	    bpf_probe_read_kernel(&count, sizeof(count), (void *)((__u64)rq + (__u64)offset)))
		return false;
#endif
	return count & (PREEMPT_COUNT_SOFTIRQ | PREEMPT_COUNT_INTERRUPT);
}

/* Whether the run queue says how much of what the hypervisor took it was told by its last update.
 */
static __always_inline bool compat_has_told_steal(struct rq *rq)
{
	return bpf_core_field_exists(rq->prev_steal_time_rq);
}

/*
 * Whether a task that is off the CPU waits for one: also on its way to sleep. Since 6.12 one that
 * sleeps may stay on its run queue for a while (kernel/sched/fair.c, dequeue_entity()).
 */
static __always_inline bool compat_is_queued(struct task_struct *task)
{
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		return false;
	return task->on_rq;
}

/*
 * Whether the task is a thread of the kernel's inside a process: io_uring's and vhost's workers. It
 * has no code of the process to run, and no thread-local: its thread pointer is a copy of that of
 * whoever made it (copy_thread(), arch/x86/kernel/process.c, v6.18). Before 6.4 vhost's were tasks
 * of their own.
 */
static __always_inline bool compat_is_user_worker(struct task_struct *task)
{
	__u32 flags = TASK_FLAG_IO_WORKER;

	if (bpf_core_field_exists(((struct kernel_clone_args *)NULL)->user_worker))
		flags |= TASK_FLAG_USER_WORKER;
	return task->flags & flags;
}

/* The number of the system call that the task is in, of its machine's own or 32-bit ones; < 0: of
 * none. */
static __always_inline __s64 compat_call_number(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task))->syscallno;
#else
	return (__s64)((struct pt_regs___x86_call *)bpf_task_pt_regs(task))->orig_ax;
#endif
}

static __always_inline bool compat_is_in_syscall(struct task_struct *task)
{
	return compat_call_number(task) >= 0;
}

/* The first one. */
static __always_inline __u64 compat_call_argument(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task))->orig_x0;
#else
	return ((struct pt_regs___x86_call *)bpf_task_pt_regs(task))->di;
#endif
}

/*
 * Whether the task's system call is numbered as on a 32-bit machine: on x86 of the call, on arm64
 * of the program.
 */
static __always_inline bool compat_call_is_32_bit(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	struct task_struct___arm64 *view = (void *)task;

	return BPF_CORE_READ(view, thread_info.flags) & THREAD_FLAG_32_BIT_ARM64;
#else
	return task->thread_info.status & THREAD_STATUS_32_BIT_CALL;
#endif
}

/* Whether a system call of the machine's own is execve() or execveat() (asm/unistd_64.h and
 * asm-generic/unistd.h, v6.18). */
static __always_inline bool compat_is_exec(__u64 number)
{
#ifdef __TARGET_ARCH_arm64
	return number == 221 || number == 281;
#else
	return number == 59 || number == 322;
#endif
}

/* Whether the task is in one, also as numbered on a 32-bit machine (asm/unistd_32.h, v6.18). */
static __always_inline bool compat_is_in_exec(struct task_struct *task)
{
	__u64 number = (__u64)compat_call_number(task);

	if (!compat_call_is_32_bit(task))
		return compat_is_exec(number);
#ifdef __TARGET_ARCH_arm64
	return number == 11 || number == 387;
#else
	return number == 11 || number == 358;
#endif
}

static __always_inline bool compat_is_x86(void)
{
#ifdef __TARGET_ARCH_arm64
	return false;
#else
	return true;
#endif
}

/* Of the current task, in user mode. */
static __always_inline __u64 compat_user_stack_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task), sp);
#else
	return BPF_CORE_READ((struct pt_regs___x86_call *)bpf_task_pt_regs(task), sp);
#endif
}

/* The same: where it runs, or will go on. */
static __always_inline __u64 compat_user_instruction_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task), pc);
#else
	return BPF_CORE_READ((struct pt_regs___x86_call *)bpf_task_pt_regs(task), ip);
#endif
}

/*
 * Where a thread's variables are. On arm64 that is what its register held when it was last switched
 * away from (tls_thread_switch(), arch/arm64/kernel/process.c, v6.12): see below.
 */
static __always_inline __u64 compat_thread_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	struct task_struct___arm64 *view = (void *)task;

	return BPF_CORE_READ(view, thread.uw.tp_value);
#else
	return task->thread.fsbase;
#endif
}

/* Levels of a red-black tree of 65,530 mappings, as many as a process has by default. */
enum {
	MAPPING_TREE_DEPTH_MAX = 34
};

/* Before 6.1. The caller sees to it that its mappings do not change meanwhile. */
static __always_inline struct file *compat_find_in_tree(struct task_struct *task, __u64 address)
{
	struct mm_struct___tree *memory = (void *)task->mm;
	struct rb_node *node = BPF_CORE_READ(memory, mm_rb.rb_node);
	struct vm_area_struct___tree *mapping;

	for (__u32 i = 0; i < MAPPING_TREE_DEPTH_MAX && node; i++) {
		mapping = (void *)((char *)node -
				   bpf_core_field_offset(struct vm_area_struct___tree, vm_rb));
		if (BPF_CORE_READ(mapping, vm_end) <= address)
			node = BPF_CORE_READ(node, rb_right);
		else if (BPF_CORE_READ(mapping, vm_start) > address)
			node = BPF_CORE_READ(node, rb_left);
		else
			return BPF_CORE_READ(mapping, vm_file);
	}
	return NULL;
}

static long compat_note_file(struct task_struct *task, struct vm_area_struct *mapping, void *file)
{
	(void)task;
	*(struct file **)file = mapping->vm_file;
	return 0;
}

/*
 * The file behind the current task's mapping at address, NULL: none. 0 or -errno; -EBUSY: another
 * thread is changing its mappings. The helper is of 5.17.
 */
static __always_inline long compat_mapped_file(struct task_struct *task, __u64 address,
					       struct file **ret_file)
{
	*ret_file = NULL;
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_find_vma))
		return bpf_find_vma(task, address, compat_note_file, ret_file, 0);
	*ret_file = compat_find_in_tree(task, address);
	return 0;
}

/*
 * Whether compat_thread_pointer() is the old program's from exec until the first switch: arm64
 * clears the register then, and not what was saved of it (tls_thread_flush(), same file).
 */
static __always_inline bool compat_keeps_thread_pointer(void)
{
#ifdef __TARGET_ARCH_arm64
	return true;
#else
	return false;
#endif
}

/*
 * What a new thread is in when it first runs, until its first edge of a system call. On x86 that is
 * the exit of its own clone; on arm64 ret_from_fork (arch/arm64/kernel/entry.S, v6.12) shows none.
 */
static __always_inline __u32 compat_mode_of_new_thread(void)
{
#ifdef __TARGET_ARCH_arm64
	return THREAD_MODE_USER;
#else
	return THREAD_MODE_KERNEL;
#endif
}

/*
 * A pointer of the target's as an address. arm64 ignores the top byte, where an allocator may have
 * put a tag (Documentation/arch/arm64/tagged-pointers.rst); bpf_probe_read_user() does not.
 */
static __always_inline __u64 compat_untag(__u64 pointer)
{
#ifdef __TARGET_ARCH_arm64
	return pointer & ~(0xffULL << 56);
#else
	return pointer;
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

/*
 * bpf_preempt_disable() and _enable(), since 6.10. Not as externs: those that the kernel does not
 * have libbpf looks for in modules, too, also weak ones, and that takes CAP_SYS_ADMIN. So here is
 * an instruction with a mark, which recorder/probe/load.c makes the call.
 */
#ifdef __bpf__
#define COMPAT_CALL(mark)                \
	asm volatile("r0 = %[value]"     \
		     :                   \
		     : [value] "i"(mark) \
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory")
#else
#define COMPAT_CALL(mark) (void)(mark)
#endif

static __always_inline void compat_preempt_disable(void)
{
	COMPAT_CALL(CALL_PREEMPT_DISABLE);
}

static __always_inline void compat_preempt_enable(void)
{
	COMPAT_CALL(CALL_PREEMPT_ENABLE);
}
