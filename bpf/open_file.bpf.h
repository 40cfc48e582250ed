/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a task has open, by file descriptor. */
#pragma once

#include "kernel_compat.bpf.h"

/* The file that the task has open under a descriptor; NULL = none. The task is asleep, about to be,
 * or the current one. */
static __always_inline struct file *open_file(struct task_struct *task, __u64 descriptor)
{
	struct files_struct *files = task->files;
	struct fdtable *table = files ? files->fdt : NULL;
	struct file *file = NULL;

	/* As in the kernel: the upper half is ignored. */
	descriptor = (__u32)descriptor;
	if (!table || descriptor >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor))
		return NULL;
	return file;
}

/* st_mode of that file; 0 = not known. */
static __always_inline __u32 open_file_mode(struct task_struct *task, __u64 descriptor)
{
	struct file *file = open_file(task, descriptor);

	return file ? BPF_CORE_READ(file, f_inode, i_mode) : 0;
}

/*
 * open_file_mode() without the calls of helpers, of which each one is expensive where returns are
 * mitigated (20 to 30 ns on an AMD EPYC). Only in a program itself, if session.can_cast:
 * compat_cast().
 */
static __always_inline __u32 open_file_mode_cast(struct task_struct *task, __u64 descriptor)
{
	struct files_struct *files = task->files;
	struct fdtable *table = files ? files->fdt : NULL;
	struct list_head *slot;
	struct file *file;

	if (!table || descriptor >= table->max_fds)
		return 0;
	/* Its first word, whatever that points to. A load from a wrong address gives 0. */
	slot = compat_cast(table->fd + descriptor, struct list_head);
	file = compat_cast(slot->next, struct file);
	return file->f_inode->i_mode;
}
