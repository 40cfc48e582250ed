/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Differences between kernels and machines, in one place: determined from the running kernel's BTF
 * when the programs are loaded, never from its version. 5.15 is the oldest. Further requirements of
 * optional programs (PROGRAM("?...")) are in recorder/probe/features.c.
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
 * Marks a global function: the verifier checks it once, by itself, and not at each of its calls.
 * Weak, so that the compiler assumes nothing about its return value that the verifier does not
 * know.
 */
#ifndef VERIFIED_ONCE
#define VERIFIED_ONCE __weak
#endif

/* Marks a program: libbpf derives its type from the section name. */
#ifndef PROGRAM
#define PROGRAM(section) SEC(section)
#endif

/* linux/bpf.h, v6.2: in the same release as the storage lookup that does not fail. */
enum bpf_func_id___since_6_2 {
	BPF_FUNC_cgrp_storage_get___since_6_2 = 210
};

/*
 * Whether a failed lookup proves that a task has no storage: before 6.2 a lookup also fails while
 * it interrupts another one on this CPU (bpf_task_storage_get(), kernel/bpf/bpf_task_storage.c).
 */
static __always_inline bool compat_storage_lookup_is_sure(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___since_6_2,
					  BPF_FUNC_cgrp_storage_get___since_6_2);
}

/* Whether a CPU can read another CPU's part of a per-CPU map: since 5.19. */
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
 * Whether this CPU is in an interrupt, so that its current task is merely the interrupted one:
 * PREEMPT_COUNT_SOFTIRQ, any of interrupt_bits (session_config), or both; 0 = in none. x86 keeps
 * the preempt count per CPU, at this offset from its run queue (0 = not known: returns 0); arm64
 * keeps it in the task.
 */
static __always_inline __u32 compat_interrupt(struct task_struct *current, __s64 offset,
					      __u32 interrupt_bits)
{
	__u32 count = 0;
#ifdef __TARGET_ARCH_arm64
	struct task_struct___arm64 *view = (void *)current;

	count = (__u32)BPF_CORE_READ(view, thread_info.preempt_count);
#else
	struct rq *rq = compat_run_queue(current);

	if (!rq || !offset ||
	    bpf_probe_read_kernel(&count, sizeof(count), (void *)((__u64)rq + (__u64)offset)))
		return 0;
#endif
	return count & (PREEMPT_COUNT_SOFTIRQ | interrupt_bits);
}

/* Whether the run queue records the steal time that was reported by its last update. */
static __always_inline bool compat_has_told_steal(struct rq *rq)
{
	return bpf_core_field_exists(rq->prev_steal_time_rq);
}

/*
 * Whether a task that is off the CPU waits for one, including a task preempted on its way to sleep.
 * Since 6.12 a sleeping task may stay on its run queue for a while (kernel/sched/fair.c,
 * dequeue_entity()).
 */
static __always_inline bool compat_is_queued(struct task_struct *task)
{
	if (bpf_core_field_exists(task->se.sched_delayed) && task->se.sched_delayed)
		return false;
	return task->on_rq;
}

/*
 * Whether the task is a kernel thread inside a process: a worker of io_uring or vhost. It runs no
 * code of the process and has no thread-local: its thread pointer is a copy of its creator's
 * (copy_thread(), arch/x86/kernel/process.c, v6.18). Before 6.4 vhost workers were separate tasks.
 */
static __always_inline bool compat_is_user_worker(struct task_struct *task)
{
	__u32 flags = TASK_FLAG_IO_WORKER;

	if (bpf_core_field_exists(((struct kernel_clone_args *)NULL)->user_worker))
		flags |= TASK_FLAG_USER_WORKER;
	return task->flags & flags;
}

/* The system call that a task is in. */
struct compat_call {
	__s64 number; /* in the native or the 32-bit table; < 0: it is in none */
	__u64 argument; /* the first */
};

static __always_inline struct compat_call compat_call(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	const struct pt_regs___arm64_call *registers = (void *)bpf_task_pt_regs(task);

	return (struct compat_call){ registers->syscallno, registers->orig_x0 };
#else
	const struct pt_regs___x86_call *registers = (void *)bpf_task_pt_regs(task);

	return (struct compat_call){ (__s64)registers->orig_ax, registers->di };
#endif
}

static __always_inline bool compat_is_in_syscall(struct task_struct *task)
{
	return compat_call(task).number >= 0;
}

/* The second argument of its system call. */
static __always_inline __u64 compat_call_second_argument(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task))->regs[1];
#else
	return ((struct pt_regs___x86_call *)bpf_task_pt_regs(task))->si;
#endif
}

/* Its third argument. */
static __always_inline __u64 compat_call_third_argument(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task))->regs[2];
#else
	return ((struct pt_regs___x86_call *)bpf_task_pt_regs(task))->dx;
#endif
}

/* Its fifth argument. */
static __always_inline __u64 compat_call_fifth_argument(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task))->regs[4];
#else
	return ((struct pt_regs___x86_call *)bpf_task_pt_regs(task))->r8;
#endif
}

/* The number of the system call that ends with these registers, the argument of its tracepoint. */
static __always_inline __s64 compat_ended_call(struct pt_regs *registers)
{
#ifdef __TARGET_ARCH_arm64
	return ((struct pt_regs___arm64_call *)registers)->syscallno;
#else
	return (__s64)((struct pt_regs___x86_call *)registers)->orig_ax;
#endif
}

/*
 * Whether the number of the task's system call is from the 32-bit table: on x86 this depends on the
 * call, on arm64 on the program.
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

/* Whether a native system call number is execve() or execveat() (asm/unistd_64.h and
 * asm-generic/unistd.h, v6.18). */
static __always_inline bool compat_is_exec(__u64 number)
{
#ifdef __TARGET_ARCH_arm64
	return number == 221 || number == 281;
#else
	return number == 59 || number == 322;
#endif
}

/* Whether the task is in execve() or execveat(), native or 32-bit (asm/unistd_32.h, v6.18). */
static __always_inline bool compat_is_in_exec(struct task_struct *task)
{
	__u64 number = (__u64)compat_call(task).number;

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

/* The stack pointer of the current task in user mode. */
static __always_inline __u64 compat_user_stack_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task), sp);
#else
	return BPF_CORE_READ((struct pt_regs___x86_call *)bpf_task_pt_regs(task), sp);
#endif
}

/* The instruction pointer of the current task in user mode: where it runs or will resume. */
static __always_inline __u64 compat_user_instruction_pointer(struct task_struct *task)
{
#ifdef __TARGET_ARCH_arm64
	return BPF_CORE_READ((struct pt_regs___arm64_call *)bpf_task_pt_regs(task), pc);
#else
	return BPF_CORE_READ((struct pt_regs___x86_call *)bpf_task_pt_regs(task), ip);
#endif
}

/*
 * The thread pointer, base of the thread's variables. On arm64 it is the register's value when the
 * thread was last switched out (tls_thread_switch(), arch/arm64/kernel/process.c, v6.12); see
 * compat_keeps_thread_pointer().
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

/* Maximum depth of a red-black tree of 65,530 mappings, the default limit of a process. */
enum {
	MAPPING_TREE_DEPTH_MAX = 34
};

/* For kernels before 6.1. The caller ensures that the mappings do not change during the walk. */
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
 * Sets *ret_file to the file behind the current task's mapping at address, NULL if there is none.
 * Returns 0 or -errno; -EBUSY: another thread is changing its mappings. bpf_find_vma() exists since
 * 5.17.
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
 * Whether compat_thread_pointer() returns the old program's value from an exec until the next
 * switch: arm64 then clears the register, but not its saved copy (tls_thread_flush(),
 * arch/arm64/kernel/process.c, v6.12).
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
 * The mode of a new thread from when it first runs to its first system call edge. On x86 that edge
 * is the exit of its own clone(); on arm64 ret_from_fork (arch/arm64/kernel/entry.S, v6.12) reports
 * none.
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
 * Converts a pointer of the target to an address. arm64 ignores the top byte, where an allocator
 * may have put a tag (Documentation/arch/arm64/tagged-pointers.rst); bpf_probe_read_user() does
 * not.
 */
static __always_inline __u64 compat_untag(__u64 pointer)
{
#ifdef __TARGET_ARCH_arm64
	return pointer & ~(0xffULL << 56);
#else
	return pointer;
#endif
}

/* Store-release of 0: a CPU that sees the 0 also sees everything written before. */
static __always_inline void compat_store_release_zero(__u32 *word)
{
#ifdef __TARGET_ARCH_x86
	/* Stores are not reordered with earlier stores: a plain store releases. */
	barrier();
	*(volatile __u32 *)word = 0;
#else
	(void)__sync_lock_test_and_set(word, 0);
#endif
}

/*
 * bpf_preempt_disable() and bpf_preempt_enable(), since 6.10. Not declared as externs: libbpf
 * searches the modules for those that the kernel lacks, even for weak ones, which takes
 * CAP_SYS_ADMIN. Instead, recorder/probe/load.c replaces this marked instruction by the call.
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

/*
 * bpf_rdonly_cast(), since 6.2: returns the address as a pointer to a type of the kernel, which may
 * be read, and yields 0 where there is no memory. The call is put in like the two above, if
 * session.can_cast, but only into programs themselves: their subprograms are added later.
 */
#ifdef __bpf__
#define compat_cast(address, type) compat_cast_to(address, bpf_core_type_id_kernel(type))
static __always_inline void *compat_cast_to(const void *address, __u64 type_id)
{
	void *cast;

	asm volatile("r1 = %[address]; r2 = %[type_id]; r0 = %[mark]; %[cast] = r0"
		     : [cast] "=r"(cast)
		     : [address] "r"(address), [type_id] "r"(type_id), [mark] "i"(CALL_CAST)
		     : "r0", "r1", "r2", "r3", "r4", "r5", "memory");
	return cast;
}
#else
#define compat_cast(address, type) ((void *)(address))
#endif

/* The word at address; 0 where there is no memory. See compat_cast(). */
static __always_inline __u64 compat_load(const void *address)
{
	const struct timespec64 *word = compat_cast(address, struct timespec64);

	return *(const volatile __u64 *)&word->tv_sec;
}
