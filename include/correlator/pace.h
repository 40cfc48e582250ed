/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A limit in one word: the time up to which everything so far is paid for. It may run ahead of the
 * clock, which is the burst, and each thing moves it by its cost, which is the rate. Pure.
 */
#pragma once

#include <linux/types.h>

/* Returns the time after one thing of cost_ns; 0 = paid_ns is more than ahead_ns ahead: over the
 * limit now. */
static inline __u64 pace_take(__u64 paid_ns, __u64 now_ns, __u64 ahead_ns, __u64 cost_ns)
{
	__u64 from_ns = paid_ns > now_ns ? paid_ns : now_ns;

	return from_ns - now_ns > ahead_ns ? 0 : from_ns + cost_ns;
}
