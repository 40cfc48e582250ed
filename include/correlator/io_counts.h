/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads and writes of one thread by system calls, by kind of file and peer, since it was last
 * charged. The kernel programs keep them along with the pending totals (bpf/io_counts.bpf.h), and
 * charge both to the same account. Pure: the kernel programs and the unit tests compile this same
 * text. The caller holds the thread. Times are CLOCK_MONOTONIC, ns.
 */
#pragma once

#include <linux/types.h>

#include <correlator/account.h>
#include <correlator/blocked_reason.h>
#include <correlator/kernel_books.h>
#include <correlator/socket_end.h>

/* The kind of file that a call reads or writes. */
enum io_on {
	IO_ON_NOTHING = 0,
	IO_ON_OTHER = 1, /* a terminal, an eventfd, ... */
	IO_ON_FILE = 2, /* on a file system, or a block device */
	IO_ON_PIPE = 3, /* pipes and FIFOs */
	IO_ON_SOCKET = 4, /* of a family without a kind of its own */
	IO_ON_TCP = 5,
	IO_ON_UDP = 6,
	IO_ON_DNS = 7, /* UDP, and the peer's port is 53 */
	IO_ON_UNIX = 8,
	_IO_ON_MAX,
};

/* X(NAME, name in records) */
#define IO_ONS(X)         \
	X(OTHER, other)   \
	X(FILE, file)     \
	X(PIPE, pipe)     \
	X(SOCKET, socket) \
	X(TCP, tcp)       \
	X(UDP, udp)       \
	X(DNS, dns)       \
	X(UNIX, unix)

enum io_sizes {
	IO_PLACES = 8, /* objects that a thread has counts of */
	IO_PER_CALL = 2, /* objects of one call */
	IO_PER_ACCOUNT = 2, /* map entries per entry of accounts: few have many peers */
	IO_PATHS_MAX = 1024, /* paths of Unix sockets */
	IO_OPENINGS_MAX = 4096, /* connects and queries under way */
	IO_MESSAGES_MAX = 16, /* messages of one sendmmsg() or recvmmsg() whose bytes are counted */
	IO_DNS_PORT = 53,
};

/* Calls on equal objects are counted together. The address of a Unix socket begins with the hash of
 * its path; 0: it has none. */
struct io_object {
	struct socket_end end; /* of a socket over IP */
	__u32 on; /* enum io_on */
} __attribute__((aligned(8)));

_Static_assert(sizeof(struct io_object) == 24, "compared and hashed whole");

/* The path of a Unix socket, with zeros behind it. */
struct io_path {
	union {
		char text[SOCKET_PATH_BYTES];
		__u64 words[(SOCKET_PATH_BYTES + 7) / 8];
	};
};

struct io_sums {
	__u64 calls; /* including those that failed */
	__u64 in_bytes;
	__u64 out_bytes;
	__u64 waits; /* connects that ended; of DNS: answers */
	__u64 wait_ns; /* from connect(), a query or the answer before, to there */
};

/* Key of the map behind `io`; its value is struct io_sums. */
struct io_key {
	struct account_key account; /* that the calls were charged to; its context may be
				       CONTEXT_HASH_OVERFLOW */
	struct io_object object;
};

_Static_assert(sizeof(struct io_key) == 48, "layout");

struct io_place {
	struct io_object object; /* IO_ON_NOTHING = the place is free, and so are all behind it */
	struct io_sums sums;
};

struct io_counts {
	struct io_place places[IO_PLACES];
	__u64 charged_hash; /* if is_charged: context of the account to add the counts to */
	__u64 entered_ns; /* the last connect() began */
	__u32 is_charged; /* the time was charged, these not yet */
	__u32 charged_epoch; /* if is_charged: window of that account */
	__u32 has_some; /* some place is used */
	__u32 is_full; /* fewer places are free than one call may take */
	struct io_place now; /* scratch space, of the call that is counted */
};

/* How a call moves data: bits of io_calls. */
enum io_way {
	IO_IN = 1 << 0, /* its result is what it read from its first argument, a descriptor */
	IO_OUT = 1 << 1, /* what it wrote to it */
	IO_MESSAGES = 1 << 2, /* its result is a number of messages */
	IO_CONNECTS = 1 << 3,
	IO_ASKS = 1 << 4, /* getsockopt(): may show how a connect ended */
	IO_FROM_SECOND = 1 << 5, /* what it wrote was read from its second argument */
	IO_TO_THIRD = 1 << 6, /* what it read was written to its third argument */
	IO_SYNCS = 1 << 7, /* is counted, but moves nothing itself */
};

/*
 * X(name, number on x86-64, number on arm64), of calls that blocked_reason.h does not name.
 * Sources: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h, v6.18.
 */
#define IO_OTHER_CALLS(X)      \
	X(getsockopt, 55, 209) \
	X(splice, 275, 76)     \
	X(copy_file_range, 326, 285)

enum io_other_call {
#if defined(__TARGET_ARCH_arm64) || defined(__aarch64__)
#define IO_CALL_NUMBER(name, x86, arm64) IO_CALL_##name = (arm64),
#else
#define IO_CALL_NUMBER(name, x86, arm64) IO_CALL_##name = (x86),
#endif
	IO_OTHER_CALLS(IO_CALL_NUMBER)
#undef IO_CALL_NUMBER
};

/* By number: bits of enum io_way; 0 = moves no data. */
static const __u8 io_calls[BLOCKED_CALLS_ROOM] = {
	[BLOCKED_CALL_read] = IO_IN,
	[BLOCKED_CALL_readv] = IO_IN,
	[BLOCKED_CALL_pread64] = IO_IN,
	[BLOCKED_CALL_preadv] = IO_IN,
	[BLOCKED_CALL_preadv2] = IO_IN,
	[BLOCKED_CALL_recvfrom] = IO_IN,
	[BLOCKED_CALL_recvmsg] = IO_IN,
	[BLOCKED_CALL_recvmmsg] = IO_IN | IO_MESSAGES,
	[BLOCKED_CALL_write] = IO_OUT,
	[BLOCKED_CALL_writev] = IO_OUT,
	[BLOCKED_CALL_pwrite64] = IO_OUT,
	[BLOCKED_CALL_pwritev] = IO_OUT,
	[BLOCKED_CALL_pwritev2] = IO_OUT,
	[BLOCKED_CALL_sendto] = IO_OUT,
	[BLOCKED_CALL_sendmsg] = IO_OUT,
	[BLOCKED_CALL_sendmmsg] = IO_OUT | IO_MESSAGES,
	[BLOCKED_CALL_sendfile] = IO_OUT | IO_FROM_SECOND,
	[IO_CALL_splice] = IO_IN | IO_TO_THIRD,
	[IO_CALL_copy_file_range] = IO_IN | IO_TO_THIRD,
	[BLOCKED_CALL_connect] = IO_CONNECTS,
	[IO_CALL_getsockopt] = IO_ASKS,
	[BLOCKED_CALL_fsync] = IO_SYNCS,
	[BLOCKED_CALL_fdatasync] = IO_SYNCS,
};

/* Bits of enum io_way of a native call; 0 = moves no data. */
static inline __u32 io_way(__s64 number)
{
	if (number < 0 || number >= BLOCKED_CALLS_ROOM)
		return 0;
	return io_calls[blocked_index((__u32)number, BLOCKED_CALLS_ROOM)];
}

static inline int io_object_equals(const struct io_object *a, const struct io_object *b)
{
	const __u64 *first = (const void *)a, *second = (const void *)b;

	return first[0] == second[0] && first[1] == second[1] && first[2] == second[2];
}

static inline void io_sums_add(struct io_sums *sums, const struct io_sums *more)
{
	sums->calls += more->calls;
	sums->in_bytes += more->in_bytes;
	sums->out_bytes += more->out_bytes;
	sums->waits += more->waits;
	sums->wait_ns += more->wait_ns;
}

/* Adds to the counts of the object. Returns 0 if there is no place for it. */
static inline int io_counts_add(struct io_counts *counts, const struct io_object *object,
				const struct io_sums *sums)
{
	for (__u32 i = 0; i < IO_PLACES; i++) {
		struct io_place *place = &counts->places[i];

		if (place->object.on && !io_object_equals(&place->object, object))
			continue;
		place->object = *object;
		io_sums_add(&place->sums, sums);
		counts->has_some = 1;
		counts->is_full |= i + IO_PER_CALL >= IO_PLACES;
		return 1;
	}
	return 0;
}
