/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Why a thread is blocked: derived from the system call in which it fell asleep and, for reads and
 * writes, from the type of file. Each sleep has one reason; if that is not certain, it is `other`.
 * Pure: the kernel programs and the unit tests compile this same text.
 */
#pragma once

#include <linux/types.h>

/* Append-only; an off_reason without a reason means `other` (account.h). */
enum blocked_reason {
	BLOCKED_ON_OTHER = 0, /* stopped, file locks, signals, the kernel's own threads */
	BLOCKED_ON_DISK = 1, /* uninterruptible in a system call; a file on a file system */
	BLOCKED_ON_NETWORK = 2, /* any socket, including Unix sockets */
	BLOCKED_ON_POLL = 3, /* any of several events: epoll, poll, select, io_uring */
	BLOCKED_ON_PIPE = 4, /* pipes and FIFOs */
	BLOCKED_ON_FUTEX = 5, /* locks, queues, condition variables, the GVL */
	BLOCKED_ON_SLEEP = 6, /* nanosleep */
	BLOCKED_ON_CHILD = 7, /* a child's exit; for vfork, its exec */
	BLOCKED_ON_FAULT = 8, /* a page, or the address space's lock in mmap and the like */
	_BLOCKED_REASON_MAX,
};

/* X(NAME, name as displayed), in display order. */
#define BLOCKED_REASONS(X)  \
	X(DISK, disk)       \
	X(NETWORK, network) \
	X(POLL, poll)       \
	X(PIPE, pipe)       \
	X(FUTEX, futex)     \
	X(SLEEP, sleep)     \
	X(CHILD, child)     \
	X(FAULT, fault)     \
	X(OTHER, other)

/* In addition to the reasons: the file decides, blocked_reason_of_file(). */
enum {
	BLOCKED_ON_FILE = 15
};

/*
 * X(name, number on x86-64, number on arm64, reason). Sources:
 * arch/x86/entry/syscalls/syscall_64.tbl and include/uapi/asm-generic/unistd.h, which is arm64's
 * (v6.18).
 */
#define BLOCKED_CALLS(X)                               \
	X(read, 0, 63, BLOCKED_ON_FILE)                \
	X(write, 1, 64, BLOCKED_ON_FILE)               \
	X(readv, 19, 65, BLOCKED_ON_FILE)              \
	X(writev, 20, 66, BLOCKED_ON_FILE)             \
	X(pread64, 17, 67, BLOCKED_ON_FILE)            \
	X(pwrite64, 18, 68, BLOCKED_ON_FILE)           \
	X(preadv, 295, 69, BLOCKED_ON_FILE)            \
	X(pwritev, 296, 70, BLOCKED_ON_FILE)           \
	X(preadv2, 327, 286, BLOCKED_ON_FILE)          \
	X(pwritev2, 328, 287, BLOCKED_ON_FILE)         \
	X(sendfile, 40, 71, BLOCKED_ON_FILE)           \
	X(fsync, 74, 82, BLOCKED_ON_DISK)              \
	X(fdatasync, 75, 83, BLOCKED_ON_DISK)          \
	X(sync, 162, 81, BLOCKED_ON_DISK)              \
	X(syncfs, 306, 267, BLOCKED_ON_DISK)           \
	X(sync_file_range, 277, 84, BLOCKED_ON_DISK)   \
	X(msync, 26, 227, BLOCKED_ON_DISK)             \
	X(accept, 43, 202, BLOCKED_ON_NETWORK)         \
	X(accept4, 288, 242, BLOCKED_ON_NETWORK)       \
	X(connect, 42, 203, BLOCKED_ON_NETWORK)        \
	X(sendto, 44, 206, BLOCKED_ON_NETWORK)         \
	X(recvfrom, 45, 207, BLOCKED_ON_NETWORK)       \
	X(sendmsg, 46, 211, BLOCKED_ON_NETWORK)        \
	X(recvmsg, 47, 212, BLOCKED_ON_NETWORK)        \
	X(sendmmsg, 307, 269, BLOCKED_ON_NETWORK)      \
	X(recvmmsg, 299, 243, BLOCKED_ON_NETWORK)      \
	X(ppoll, 271, 73, BLOCKED_ON_POLL)             \
	X(pselect6, 270, 72, BLOCKED_ON_POLL)          \
	X(epoll_pwait, 281, 22, BLOCKED_ON_POLL)       \
	X(epoll_pwait2, 441, 441, BLOCKED_ON_POLL)     \
	X(io_uring_enter, 426, 426, BLOCKED_ON_POLL)   \
	X(futex, 202, 98, BLOCKED_ON_FUTEX)            \
	X(futex_waitv, 449, 449, BLOCKED_ON_FUTEX)     \
	X(nanosleep, 35, 101, BLOCKED_ON_SLEEP)        \
	X(clock_nanosleep, 230, 115, BLOCKED_ON_SLEEP) \
	X(wait4, 61, 260, BLOCKED_ON_CHILD)            \
	X(waitid, 247, 95, BLOCKED_ON_CHILD)           \
	X(clone, 56, 220, BLOCKED_ON_CHILD)            \
	X(clone3, 435, 435, BLOCKED_ON_CHILD)          \
	X(mmap, 9, 222, BLOCKED_ON_FAULT)              \
	X(munmap, 11, 215, BLOCKED_ON_FAULT)           \
	X(mprotect, 10, 226, BLOCKED_ON_FAULT)         \
	X(mremap, 25, 216, BLOCKED_ON_FAULT)           \
	X(madvise, 28, 233, BLOCKED_ON_FAULT)          \
	X(brk, 12, 214, BLOCKED_ON_FAULT)

/* X(name, number, reason): calls that arm64 does not have. */
#define BLOCKED_CALLS_X86(X)                \
	X(poll, 7, BLOCKED_ON_POLL)         \
	X(select, 23, BLOCKED_ON_POLL)      \
	X(epoll_wait, 232, BLOCKED_ON_POLL) \
	X(vfork, 58, BLOCKED_ON_CHILD)

enum {
	BLOCKED_CALLS_ROOM = 512 /* greater than each of these numbers */
};

/* Their numbers on this machine: BLOCKED_CALL_read, ... */
#define BLOCKED_CALL_NUMBER_X86(name, x86, arm64, reason)   BLOCKED_CALL_##name = (x86),
#define BLOCKED_CALL_NUMBER_ARM64(name, x86, arm64, reason) BLOCKED_CALL_##name = (arm64),
#define BLOCKED_CALL_NUMBER_ONLY_X86(name, x86, reason)	    BLOCKED_CALL_##name = (x86),
enum blocked_call {
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
	BLOCKED_CALLS(BLOCKED_CALL_NUMBER_ARM64)
#else
	BLOCKED_CALLS(BLOCKED_CALL_NUMBER_X86) BLOCKED_CALLS_X86(BLOCKED_CALL_NUMBER_ONLY_X86)
#endif
};

#define BLOCKED_CALL_OF_X86(name, x86, arm64, reason)	[x86] = (reason),
#define BLOCKED_CALL_OF_ARM64(name, x86, arm64, reason) [arm64] = (reason),
#define BLOCKED_CALL_ONLY_OF_X86(name, x86, reason)	[x86] = (reason),

/* Reason by number; 0 (BLOCKED_ON_OTHER) for calls that are not listed. */
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
static const __u8 blocked_calls[BLOCKED_CALLS_ROOM] = { BLOCKED_CALLS(BLOCKED_CALL_OF_ARM64) };
#else
static const __u8 blocked_calls[BLOCKED_CALLS_ROOM] = { BLOCKED_CALLS(
	BLOCKED_CALL_OF_X86) BLOCKED_CALLS_X86(BLOCKED_CALL_ONLY_OF_X86) };
#endif

/*
 * Masks an index that was already compared with `below`, a power of two. Before 6.2 the kernel's
 * verifier does not apply the result of a comparison to a word that the compiler has copied in
 * between.
 */
static inline __u32 blocked_index(__u32 index, __u32 below)
{
	__asm__ volatile("" : "+r"(index));
	return index & (below - 1);
}

/*
 * Returns the reason of a thread that sleeps in the system call `number` of the machine's native
 * ABI; number < 0: in none, so in a page fault. Returns enum blocked_reason, or BLOCKED_ON_FILE:
 * the file that the first argument names decides.
 */
static inline __u32 blocked_reason_of_call(__s64 number, __u32 is_uninterruptible)
{
	__u32 reason = BLOCKED_ON_OTHER;

	if (number < 0)
		return BLOCKED_ON_FAULT;
	if (number < BLOCKED_CALLS_ROOM)
		reason = blocked_calls[blocked_index((__u32)number, BLOCKED_CALLS_ROOM)];
	if (reason == BLOCKED_ON_OTHER && is_uninterruptible)
		return BLOCKED_ON_DISK;
	return reason;
}

/* mode: st_mode of the file being read or written; 0 = no such file. Types: linux/stat.h. */
static inline __u32 blocked_reason_of_file(__u32 mode, __u32 is_uninterruptible)
{
	switch (mode & 0170000) {
	case 0140000: /* S_IFSOCK */
		return BLOCKED_ON_NETWORK;
	case 0010000: /* S_IFIFO */
		return BLOCKED_ON_PIPE;
	case 0100000: /* S_IFREG */
	case 0060000: /* S_IFBLK */
	case 0040000: /* S_IFDIR */
		return BLOCKED_ON_DISK;
	default:
		return is_uninterruptible ? BLOCKED_ON_DISK : BLOCKED_ON_OTHER;
	}
}
