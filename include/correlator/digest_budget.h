/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Limits the bytes of long values that a family of processes (share.h) may have read at switches,
 * where the run queue is locked and the next thread waits: a burst, then a rate per second at which
 * reading them takes a hundredth of a CPU. Values beyond the limit are read at a later boundary.
 * Pure; the state is one word, the time at which all bytes read so far are paid for.
 */
#pragma once

#include <linux/types.h>

#include <correlator/pace.h>

enum {
	DIGEST_BUDGET_NS_PER_BYTE = 64, /* 15 MB per second, half a nanosecond per byte read */
	DIGEST_BUDGET_BURST_BYTES = 256 * 1024,
};

/* Returns the state after reading `bytes` more bytes; 0 = over the limit now. */
static inline __u64 digest_budget_take(__u64 paid_ns, __u64 now_ns, __u32 bytes)
{
	return pace_take(paid_ns, now_ns,
			 (__u64)DIGEST_BUDGET_BURST_BYTES * DIGEST_BUDGET_NS_PER_BYTE,
			 (__u64)bytes * DIGEST_BUDGET_NS_PER_BYTE);
}
