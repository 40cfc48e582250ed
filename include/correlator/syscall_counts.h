/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * System calls by number: the count of each and the time inside, for one thread since it was last
 * charged. The kernel programs keep them along with the pending totals (bpf/syscall_counts.bpf.h),
 * and charge both to the same account, so the calls of an account, over all numbers, are its
 * `syscalls`. Pure: the unit tests compile this same text. The caller holds the thread. Times are
 * CLOCK_MONOTONIC, ns.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/kernel_books.h>

enum syscall_counts_sizes {
	SYSCALL_PLACES = 16, /* distinct calls of a thread; a power of two */
	SYSCALL_TRIES = 4, /* places that a call may be in */
	SYSCALL_NUMBERS = 1024, /* the kernel's are below; all others count as this one */
	SYSCALLS_PER_ACCOUNT = 2, /* map entries per entry of accounts: few have many kinds */
};

/* The table that a number belongs to. */
enum syscall_abi {
	SYSCALL_ABI_NATIVE = 0, /* the machine's own, 64 bits */
	SYSCALL_ABI_X32 = 1, /* x86-64's with 32-bit pointers: its bit is taken out of the number */
	SYSCALL_ABI_32 = 2, /* i386 on x86-64, arm on arm64 */
	_SYSCALL_ABI_MAX,
};

/* Bit in the numbers of x32: __X32_SYSCALL_BIT, asm/unistd.h. */
#define SYSCALL_X32_BIT 0x40000000UL

/* Encodes a number and its table; never 0, which means no call. */
static inline __u32 syscall_call(__u64 number, __u32 is_x86, __u32 is_32_bit)
{
	__u32 abi = is_32_bit ? SYSCALL_ABI_32 : SYSCALL_ABI_NATIVE;

	if (is_32_bit)
		number = (__u32)number;
	else if (is_x86 && (__s64)number > 0 && (number & SYSCALL_X32_BIT)) {
		abi = SYSCALL_ABI_X32;
		number &= ~SYSCALL_X32_BIT;
	}
	return abi << 16 | (__u32)(number < SYSCALL_NUMBERS ? number + 1 : SYSCALL_NUMBERS + 1);
}

static inline __u32 syscall_call_abi(__u32 call)
{
	return call >> 16;
}

/* SYSCALL_NUMBERS: a number that no kernel has, or -1, as of a call that a filter has skipped. */
static inline __u32 syscall_call_number(__u32 call)
{
	return (call & 0xffff) - 1;
}

struct syscall_sums {
	__u64 calls; /* calls entered */
	__u64 inside_ns; /* from entry to exit, on the CPU and off it */
};

/* Key of the map behind `syscalls`; its value is struct syscall_sums. */
struct syscall_key {
	struct account_key account; /* that the calls were charged to; its context may be
				       CONTEXT_HASH_OVERFLOW */
	__u32 call; /* syscall_call() */
	__u32 reserved;
};

_Static_assert(sizeof(struct syscall_key) == 32, "layout");

struct syscall_place {
	__u32 call; /* 0 = free */
	__u32 calls;
	__u64 inside_ns;
};

struct syscall_counts {
	struct syscall_place places[SYSCALL_PLACES];
	__u64 charged_hash; /* if is_charged: context of the account to add the calls to */
	__u64 since_ns; /* the current call's time is counted up to here */
	__u32 call; /* the current call; 0 = none, or one that began unseen */
	__u32 has_some; /* some place is used */
	__u32 is_charged; /* the time was charged, the calls not yet */
	__u32 charged_epoch; /* if is_charged: window of that account */
};

_Static_assert(sizeof(struct syscall_counts) == SYSCALL_PLACES * 16 + 2 * 8 + 4 * 4, "layout");

/* Returns the place of a call, used or free; NULL = the calls there must be charged first. */
static inline struct syscall_place *syscall_counts_place(struct syscall_counts *counts, __u32 call)
{
	for (__u32 i = 0; i < SYSCALL_TRIES; i++) {
		struct syscall_place *place = &counts->places[(call + i) & (SYSCALL_PLACES - 1)];

		if (place->call == call || !place->call)
			return place;
	}
	return (void *)0;
}

/* Counts the current call's time up to until_ns, which is not before since_ns. */
static inline void syscall_counts_settle(struct syscall_counts *counts, __u64 until_ns)
{
	__u64 ns = account_growth(until_ns, counts->since_ns);
	struct syscall_place *place;

	if (!counts->call || !ns)
		return;
	place = syscall_counts_place(counts, counts->call);
	if (!place)
		return;
	counts->has_some = 1;
	place->call = counts->call;
	place->inside_ns += ns;
	counts->since_ns += ns;
}

/* Counts one more call. Returns 0 if there is no place for it. */
static inline int syscall_counts_add_call(struct syscall_counts *counts, __u32 call)
{
	struct syscall_place *place = syscall_counts_place(counts, call);

	if (!place)
		return 0;
	counts->has_some = 1;
	place->call = call;
	place->calls++;
	return 1;
}

/* The thread enters a call, for which there is a place. */
static inline void syscall_counts_enter(struct syscall_counts *counts, __u32 call, __u64 now_ns)
{
	counts->call = call;
	counts->since_ns = now_ns;
	(void)syscall_counts_add_call(counts, call);
}

/* The thread leaves its call. A call that began unseen has no time. */
static inline void syscall_counts_leave(struct syscall_counts *counts, __u64 now_ns)
{
	syscall_counts_settle(counts, now_ns);
	counts->call = 0;
}
