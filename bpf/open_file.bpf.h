/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a task has open, by file descriptor. */
#pragma once

#include "kernel_compat.bpf.h"

/* st_mode of an open file of the task, which is asleep or about to be; 0 = not known. */
static __always_inline __u32 open_file_mode(struct task_struct *task, __u64 descriptor)
{
	struct files_struct *files = task->files;
	struct fdtable *table = files ? files->fdt : NULL;
	struct file *file = NULL;

	/* As in the kernel: the upper half is ignored. */
	descriptor = (__u32)descriptor;
	if (!table || descriptor >= table->max_fds ||
	    bpf_probe_read_kernel(&file, sizeof(file), table->fd + descriptor) || !file)
		return 0;
	return BPF_CORE_READ(file, f_inode, i_mode);
}
