/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many bytes of long values a family of processes (share.h) may have read at switches, where
 * the run queue is locked and the next thread waits: some at once, and then so many a second that
 * reading them takes a hundredth of a CPU. What is over is read at a later boundary. Pure; the
 * state is one word, the time at which all that was read is paid for.
 */
#pragma once

#include <linux/types.h>

enum {
	DIGEST_BUDGET_NS_PER_BYTE = 64, /* 15 MB a second, of which each takes half a nanosecond */
	DIGEST_BUDGET_BURST_BYTES = 256 * 1024,
};

/* The word once as many bytes more are read; 0 = not now. */
static inline __u64 digest_budget_take(__u64 paid_ns, __u64 now_ns, __u32 bytes)
{
	__u64 from_ns = paid_ns > now_ns ? paid_ns : now_ns;

	if (from_ns - now_ns > (__u64)DIGEST_BUDGET_BURST_BYTES * DIGEST_BUDGET_NS_PER_BYTE)
		return 0;
	return from_ns + (__u64)bytes * DIGEST_BUDGET_NS_PER_BYTE;
}
