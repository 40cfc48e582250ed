/* SPDX-License-Identifier: GPL-2.0-only */
/* Queries of the observer to the kernel about itself, made by test runs in its own process. */
#pragma once

#include "identity.bpf.h"
#include "kernel_compat.bpf.h"

#include <linux/errno.h>

#include <bpf/bpf_tracing.h>

#include <correlator/file_question.h>

/* As timens_add_boottime_ns(), include/linux/time_namespace.h, v5.15 to v6.18. */
static __always_inline __s64 boot_offset_ns(struct task_struct *task)
{
	struct time_namespace *namespace;

	if (!bpf_core_field_exists(struct time_namespace, offsets))
		return 0;
	namespace = BPF_CORE_READ(task, nsproxy, time_ns);
	return BPF_CORE_READ(namespace, offsets.boottime.tv_sec) * 1000 * 1000 * 1000 +
	       BPF_CORE_READ(namespace, offsets.boottime.tv_nsec);
}

PROGRAM("raw_tp")
int identify_observer(void *context)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	observer_level = BPF_CORE_READ(pid, level);
	observer_ktime_ns = bpf_ktime_get_ns();
	observer_boot_offset_ns = boot_offset_ns(task);
	observer_namespace = (__u64)identity_at(pid, observer_level).ns;
	return 0;
}

enum {
	FUSE_MAGIC = 0x65735546 /* fs/fuse/inode.c: fuse, fuseblk, virtiofs */
};

static __always_inline bool is_answered_by_process(struct inode *inode)
{
	struct super_block *super_block = BPF_CORE_READ(inode, i_sb);
	union {
		char text[16];
		__u64 words[2];
	} name = { .words = { 0 } }, hypervisors = { .text = "virtiofs" };

	if (BPF_CORE_READ(super_block, s_magic) != FUSE_MAGIC)
		return false;
	/* virtiofs is served by the hypervisor, not by a process. */
	(void)bpf_probe_read_kernel_str(name.text, sizeof(name.text),
					BPF_CORE_READ(super_block, s_type, name));
	return name.words[0] != hypervisors.words[0] || name.words[1] != hypervisors.words[1];
}

/*
 * Identifies the file that the kernel takes a mapping to be of when it looks for its uprobes:
 * file_inode() of the mapping's own file (valid_vma(), build_map_info() and uprobe_mmap(),
 * kernel/events/uprobes.c, v5.15 to v6.18). On an overlay that is the file in the layer below,
 * which neither fstat() nor /proc/PID/maps (since 6.8) reports; nor do they report whether a
 * process serves that file.
 */
PROGRAM("raw_tp")
int identify_file(struct bpf_raw_tracepoint_args *context)
{
	struct file *file = NULL;
	long r = compat_mapped_file(bpf_get_current_task_btf(), context->args[0], &file);
	struct inode *inode = file ? BPF_CORE_READ(file, f_inode) : NULL;
	__u64 part = context->args[1];

	if (r)
		return (int)r;
	if (!inode)
		return -ENOENT;
	if (is_answered_by_process(inode))
		return -EOPNOTSUPP;
	if (part >= FILE_INODE_PARTS)
		return -EINVAL;
	return (int)((__u64)inode >> part * FILE_INODE_PART_BITS &
		     ((1 << FILE_INODE_PART_BITS) - 1));
}
