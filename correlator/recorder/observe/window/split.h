/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Splits an account's time into user and kernel time. Starts from what the programs booked at their
 * boundaries, and moves the way of each system call, between the ring crossing and these
 * boundaries, from user to kernel time. Also bounds the error of that. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/account.h>

/* The length of that way; the last three members are for the bound. */
struct split_way {
	double hot_ns; /* of a call among others */
	double spread_ns; /* how much hot_ns varies between CPUs and over time */
	double lone_excess_ns; /* extra time that a call with cold caches may take */
	double slept_excess_ns; /* extra time that a call that lost the CPU may take */
};

struct split {
	uint64_t user_ns;
	uint64_t kernel_ns;
	uint64_t error_ns; /* how much of one may belong to the other; at most their sum */
};

/*
 * Sets way from the samples, and sorts them in place. Figures without samples stay as they are;
 * without samples of hot calls the spread becomes hot_ns: only the length of the way is known.
 */
void split_estimate(double *hot_ns, size_t hot_count, double *lone_ns, size_t lone_count,
		    double *slept_ns, size_t slept_count, struct split_way *way);

void split_account(const struct split_way *way, const struct account_totals *totals,
		   struct split *ret_split);
