/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * User and kernel time of an account, from what the programs booked at their boundaries and from
 * how long a system call's way is between the ring crossing and these: that is moved from user to
 * kernel time. And a bound for how wrong that may be. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/account.h>

/* How long that way is; the last three are for the bound. */
struct split_way {
	double hot_ns; /* of a call among others */
	double spread_ns; /* by how much that differs from CPU to CPU and from moment to moment */
	double lone_excess_ns; /* what one may have in addition that finds the caches cold */
	double slept_excess_ns; /* and one in which the CPU was lost */
};

struct split {
	uint64_t user_ns;
	uint64_t kernel_ns;
	uint64_t error_ns; /* as much of one may be the other's; at most the sum of both */
};

/*
 * Takes what was measured, and sorts it. What there are no samples of stays as it is; without any
 * of hot calls, nothing is known of the way any more but its length.
 */
void split_estimate(double *hot_ns, size_t hot_count, double *lone_ns, size_t lone_count,
		    double *slept_ns, size_t slept_count, struct split_way *way);

void split_account(const struct split_way *way, const struct account_totals *totals,
		   struct split *ret_split);
