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
