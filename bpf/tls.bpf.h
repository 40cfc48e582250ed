/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the address of a thread-local variable of a thread. */
#pragma once

#include "kernel_compat.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include <correlator/config.h>
#include <correlator/table_probe.h>

enum tls_resolution {
	TLS_UNRESOLVED = 0,
	TLS_RESOLVED = 1,
	TLS_UNALLOCATED = 2, /* this thread never touched the variable: no context */
};

/* Reads a word of a task's memory. 0, or nonzero: it cannot be read. */
typedef long (*tls_read_fn)(struct task_struct *task, __u64 address, __u64 *ret_word);

static __always_inline long tls_read_current(struct task_struct *task, __u64 address,
					     __u64 *ret_word)
{
	return bpf_probe_read_user(ret_word, sizeof(*ret_word), (void *)address);
}

/* Walks the thread's DTV as __tls_get_addr does, without allocating (glibc 2.36 dl-tls.c). */
static __always_inline __u32 tls_locate_dynamic(const struct tls_location *tls,
						struct task_struct *task, __u64 thread_pointer,
						tls_read_fn read, __u64 *ret_address)
{
	__u64 dtv, length, block;
	__u64 entry_bytes = tls->dtv_entry_bytes;

	if (read(task, thread_pointer + (__u64)(__s64)tls->dtv_pointer_offset, &dtv))
		return TLS_UNRESOLVED;
	dtv = compat_untag(dtv);
	if (!table_pointer_is_sane(dtv))
		return TLS_UNRESOLVED;
	if (read(task, tls->dtv_has_length ? dtv - entry_bytes : dtv, &length))
		return TLS_UNRESOLVED;
	/* The thread's DTV has not caught up with dlopen() yet. */
	if (tls->module > length)
		return TLS_UNALLOCATED;
	if (read(task, dtv + tls->module * entry_bytes, &block))
		return TLS_UNRESOLVED;
	if (!block || (block & 1))
		return TLS_UNALLOCATED;
	*ret_address = compat_untag(block) + (__u64)tls->offset;
	return TLS_RESOLVED;
}

/* Finds the variable of any thread; read() reads its memory. Returns enum tls_resolution. */
static __always_inline __u32 tls_locate_by(tls_read_fn read, const struct tls_location *tls,
					   struct task_struct *task, __u64 *ret_address)
{
	__u64 thread_pointer = compat_thread_pointer(task);

	if (!thread_pointer)
		return TLS_UNRESOLVED;
	if (tls->model == TLS_MODEL_DYNAMIC)
		return tls_locate_dynamic(tls, task, thread_pointer, read, ret_address);
	if (tls->model != TLS_MODEL_STATIC)
		return TLS_UNRESOLVED;
	*ret_address = thread_pointer + (__u64)tls->offset;
	return TLS_RESOLVED;
}

/* Finds the variable of the current thread; TLS_RESOLVED is final. Returns enum tls_resolution. */
static __always_inline __u32 tls_locate(const struct tls_location *tls, struct task_struct *task,
					__u64 *ret_address)
{
	return tls_locate_by(tls_read_current, tls, task, ret_address);
}
