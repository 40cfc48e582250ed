/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds shared by the kernel programs and userspace. Every limit on what is read from the
 * target is here, so that the memory and time that a hostile target can cost is on one page.
 */
#pragma once

enum correlator_limits {
	/* Keys that can be asked for with -k; one value snapshot each in a context. */
	KEYS_MAX = 8,
	/* Bytes captured of one value; longer text is cut, flagged, and told apart by a digest. */
	VALUE_BYTES_MAX = 128,
	/* Bytes of one value that its digest is made of: some 2 us. */
	VALUE_DIGEST_BYTES_MAX = 4096,
	/* Slots of a state table that are walked: pairs[capacity], capacity a power of two. */
	STATE_CAPACITY_MAX = 64,
	/* Linux TASK_COMM_LEN (include/linux/sched.h, unchanged since 2.6). */
	COMM_BYTES = 16,
	/* Default sizes of the kernel maps. */
	CONTEXTS_MAX = 32768,
	ACCOUNTS_MAX = 32768,
	PROCESSES_MAX = 4096,
	EVENT_RING_BYTES = 256 * 1024,
	SLICE_RING_BYTES = 8 * 1024 * 1024, /* 60,000 slices, within the time between two looks */
	/*
	 * Files with uprobes at a time, each some 2 KiB of the kernel's memory and a file
	 * descriptor (before 6.6, two for each place): a publisher and a dynamic loader of its own
	 * for each process. The kernel itself has no bound.
	 */
	UPROBED_FILES_MAX = 2 * PROCESSES_MAX,
	/* Of what is told of processes that are not observed: 2,000 execs within the pause. */
	STRANGERS_RING_BYTES = 128 * 1024,
	/* They wake userspace up no more often than that. */
	STRANGERS_PAUSE_NS = 50 * 1000 * 1000,
};
