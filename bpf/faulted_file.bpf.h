/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The file that a page fault has the kernel read, for stalls: in a fault there is no descriptor to
 * ask. Without --stall it is not loaded.
 */
#pragma once

#include "hold.bpf.h"

#include <correlator/stall.h>

/*
 * The number of page faults that the task is done with, so all of one fault has the same: it grows
 * where a fault ends (mm_account_fault(), mm/memory.c, v6.18).
 */
static __always_inline __u64 faults_done(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

/* The task is on its CPU again, after a wait: notes the file, if it is in the fault that read. */
static __always_inline void faulted_file_note(struct stall_watch *watch, struct task_struct *task)
{
	bool is_known = compat_call(task).number < 0 && watch->read.faults == faults_done(task);

	watch->mapped_inode = is_known ? watch->read.inode : 0;
	watch->mapped_device = watch->read.device;
}

/* The current task asks for a page of a file, in a fault or in a system call. */
static __always_inline int faulted_file_read(struct address_space *mapping)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *thread = thread_find(task);
	struct inode *inode;

	if (!thread || compat_is_in_syscall(task))
		return 0;
	inode = BPF_CORE_READ(mapping, host);
	thread->stall.read.inode = BPF_CORE_READ(inode, i_ino);
	thread->stall.read.device = BPF_CORE_READ(inode, i_sb, s_dev);
	thread->stall.read.faults = faults_done(task);
	return 0;
}

/* Since 6.12: in a fault, unless the page and its neighbours are in memory. */
PROGRAM("?tp_btf/mm_filemap_fault")
int BPF_PROG(on_file_fault, struct address_space *mapping)
{
	return faulted_file_read(mapping);
}

/* Before that: it has the kernel read a page. So the file of a fault is not known that waits for a
 * page which is being read already, as of one that is read ahead. */
PROGRAM("?tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(on_page_read, struct page *page)
{
	return faulted_file_read(BPF_CORE_READ(page, mapping));
}
