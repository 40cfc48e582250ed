/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Only the fields of kernel types that are used; CO-RE relocates them against the running kernel's
 * BTF, so no vmlinux.h is needed. They exist since 5.15 unless noted otherwise.
 */
#pragma once

#include <linux/types.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct cfs_rq;

struct sched_entity {
	__u64 sum_exec_runtime;
	__u64 exec_start; /* run queue's task clock at the last update of sum_exec_runtime */
	unsigned char sched_delayed; /* asleep, but still on the run queue; since 6.12 */

	struct cfs_rq *cfs_rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct sched_info {
	unsigned long long run_delay;
	unsigned long long last_arrival; /* run queue clock at the last switch-in */
};

/* x86-64 */
struct thread_struct {
	unsigned long fsbase;
};

struct pid_namespace;

struct file_system_type {
	const char *name;
};

struct super_block {
	unsigned int s_dev; /* major << 20 | minor */
	unsigned long s_magic;
	struct file_system_type *s_type;
};

struct inode {
	unsigned short i_mode;
	unsigned long i_ino;
	struct super_block *i_sb;
};

/* The pages of a file in memory. */
struct address_space {
	struct inode *host;
};

/* Since 5.16 struct folio, which begins with the same words (FOLIO_MATCH(), linux/mm_types.h). */
struct page {
	struct address_space *mapping;
};

struct qstr {
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
	void *private_data; /* struct socket, of a socket; struct eventpoll, of an epoll set */
};

struct list_head {
	struct list_head *next;
};

/* An epoll set. */
struct eventpoll {
	struct list_head rdllist; /* of its files that are ready, by rdllink */
};

struct epoll_filefd {
	struct file *file;
	int fd; /* with which it was put into the set */
};

struct epitem {
	struct list_head rdllink;
	struct epoll_filefd ffd;
};

struct in6_addr___view {
	__u8 in6_u[16];
};

struct sock_common {
	__u32 skc_daddr; /* addresses and skc_dport in network byte order */
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr___view skc_v6_daddr; /* both with CONFIG_IPV6 */
	struct in6_addr___view skc_v6_rcv_saddr;
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	unsigned short sk_protocol;
	struct socket *sk_socket;
};

/* The sockets with one local port. */
struct inet_bind_bucket {
	signed char fastreuse;
};

struct inet_sock {
	struct sock sk;
};

/* TCP's. */
struct inet_connection_sock {
	struct inet_sock icsk_inet;
	struct inet_bind_bucket *icsk_bind_hash;
};

struct socket {
	struct file *file;
	struct sock *sk;
};

struct sockaddr_un___view {
	unsigned short sun_family;
	char sun_path[108];
};

struct unix_address {
	int len; /* of name[0] */
	struct sockaddr_un___view name[];
};

/* With CONFIG_UNIX=y. */
struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct vm_area_struct {
	struct file *vm_file;
};

struct mm_struct;

/* Up to 6.0 a process's mappings are in a red-black tree; since 5.17 there is bpf_find_vma(). */
struct rb_node {
	struct rb_node *rb_right;
	struct rb_node *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct mm_struct___tree {
	struct rb_root mm_rb;
};

struct vm_area_struct___tree {
	unsigned long vm_start;
	unsigned long vm_end;
	struct rb_node vm_rb;
	struct file *vm_file;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

/* A task's numbers, one for each pid namespace from the initial one (level 0) to its own. */
struct pid {
	unsigned int level;
	struct upid numbers[];
};

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct timens_offsets {
	struct timespec64 boottime;
};

/* With CONFIG_TIME_NS, since 5.6. */
struct time_namespace {
	struct timens_offsets offsets;
};

struct nsproxy {
	struct time_namespace *time_ns;
};

struct thread_info {
	unsigned int status; /* x86-64: TS_* flags */
};

/* Shared by the threads of a process. */
struct signal_struct {
	struct list_head thread_head; /* of the threads, by thread_node */
};

struct task_struct {
	struct thread_info thread_info;
	unsigned int __state; /* `state` before 5.14 */
	unsigned int flags;
	unsigned int on_cpu; /* int, u8 since 7.2; unsigned, as libbpf resizes no signed fields */
	unsigned int on_rq; /* as on_cpu */
	struct sched_entity se;
	struct sched_info sched_info;
	struct mm_struct *mm;
	struct files_struct *files;
	int pid;
	int tgid;
	__u64 start_boottime; /* since 5.5 */
	struct nsproxy *nsproxy;
	struct pid *thread_pid;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct list_head thread_node;
	struct signal_struct *signal;
	unsigned long nvcsw;
	unsigned long nivcsw;
	unsigned long min_flt;
	unsigned long maj_flt;
	char comm[16];
	struct thread_struct thread;
};

/* arm64: task_struct.thread.uw.tp_value */
struct thread_struct___arm64 {
	struct {
		unsigned long tp_value;
	} uw;
};

struct thread_info___arm64 {
	unsigned long flags; /* TIF_* flags */
	__u64 preempt_count; /* the count is its lower half */
};

struct task_struct___arm64 {
	struct thread_info___arm64 thread_info;
	struct thread_struct___arm64 thread;
};

struct rq {
	__u64 clock; /* sched_clock() at the last update: each tick, wakeup and switch */
	__u64 clock_task; /* clock minus the time that hypervisor and interrupts took */
	__u64 prev_steal_time_rq; /* steal time reported by then; CONFIG_PARAVIRT_TIME_ACCOUNTING */
};

struct cfs_rq {
	struct rq *rq; /* with CONFIG_FAIR_GROUP_SCHED */
};

struct kernel_clone_args {
	__u32 user_worker : 1; /* since 6.4, with PF_USER_WORKER */
};

/* Only the number of the system call that a task is in (negative outside of one), its arguments,
 * and the instruction and stack pointers of the task in user mode. */
struct pt_regs___x86_call {
	unsigned long di;
	unsigned long si;
	unsigned long dx;
	unsigned long r8;
	unsigned long orig_ax;
	unsigned long ip;
	unsigned long sp;
};

struct pt_regs___arm64_call {
	__u64 regs[31];
	__u64 orig_x0;
	int syscallno;
	__u64 sp;
	__u64 pc;
};

struct bpf_iter_meta {
	__u64 session_id;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* The context of a uprobe program, an ABI: struct pt_regs or user_pt_regs of asm/ptrace.h. */
struct uprobe_registers {
#ifdef __TARGET_ARCH_arm64
	__u64 x[31];
	__u64 sp;
#else
	__u64 general[16]; /* r15 to orig_rax */
#endif
	__u64 instruction_pointer;
};

/* The context of a sampling (perf_event) program. */
struct sample_registers {
	struct uprobe_registers registers;
	__u64 mode; /* cs, pstate */
};

/* Whether the sample interrupted the kernel; linux/ptrace.h, user_mode(). */
static inline int sample_is_in_kernel(const struct sample_registers *met)
{
#ifdef __TARGET_ARCH_arm64
	return (met->mode & 0xf) != 0;
#else
	return (met->mode & 3) == 0;
#endif
}

/* Argument 1, 2 or 3 of the function whose entry was hit. */
static inline __u64 uprobe_argument(const struct uprobe_registers *registers, int number)
{
#ifdef __TARGET_ARCH_arm64
	return registers->x[number - 1];
#else
	return registers->general[15 - number]; /* rdi, rsi, rdx */
#endif
}

enum task_state_bits {
	TASK_STATE_RUNNING = 0,
	TASK_STATE_UNINTERRUPTIBLE = 0x2,
	TASK_STATE_STOPPED = 0x4 | 0x8 | 0x8000, /* __TASK_STOPPED, __TASK_TRACED, TASK_FROZEN */
	TASK_STATE_DEAD = 0x80, /* TASK_DEAD, include/linux/sched.h since 4.14 */
	TASK_STATE_NOLOAD = 0x400,
};

enum preempt_count_bits {
	PREEMPT_COUNT_SOFTIRQ =
		0x00000100, /* a softirq is being served; include/linux/preempt.h, v5.15 to v6.18 */
};

enum thread_info_bits {
	/* TS_COMPAT, arch/x86/include/asm/thread_info.h, v5.15 to v6.18: int $0x80 or sysenter */
	THREAD_STATUS_32_BIT_CALL = 0x2,
	/* TIF_32BIT, arch/arm64/include/asm/thread_info.h, v5.15 to v6.18 */
	THREAD_FLAG_32_BIT_ARM64 = 1 << 22,
};

enum task_flag_bits {
	TASK_FLAG_IO_WORKER = 0x00000010, /* PF_IO_WORKER, include/linux/sched.h since 5.12 */
	/* PF_USER_WORKER, of workers of io_uring and vhost since 6.4; before, another flag */
	TASK_FLAG_USER_WORKER = 0x00004000,
	TASK_FLAG_KTHREAD = 0x00200000, /* PF_KTHREAD */
};
