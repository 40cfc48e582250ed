/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Bounds shared by the kernel programs and userspace. The limits on what is read from the target
 * are here, so that the memory and time that a hostile target can cost are on one page; those of
 * OpenTelemetry records and Ruby frames are in otel_record.h, ruby_frame.h and ruby_frames.h.
 */
#pragma once

enum correlator_limits {
	/* Keys that -k can request; each has one value snapshot in a context. */
	KEYS_MAX = 8,
	/* Bytes captured per value; longer text is cut, flagged, and distinguished by a digest. */
	VALUE_BYTES_MAX = 128,
	/* Bytes of one value that its digest covers: takes about 2 us. */
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
	SLICE_RING_BYTES = 8 * 1024 * 1024, /* 60,000 slices between two polls */
	/*
	 * Files with uprobes at a time: for each process a publisher and a dynamic loader of its
	 * own. Each takes about 2 KiB of kernel memory and a file descriptor (before 6.6, two for
	 * each probed place). The kernel itself has no limit.
	 */
	UPROBED_FILES_MAX = 2 * PROCESSES_MAX,
	/* Ring of events of unobserved processes: 2,000 execs within STRANGERS_PAUSE_NS. */
	STRANGERS_RING_BYTES = 128 * 1024,
	/* Minimum time between two wake-ups of userspace by that ring. */
	STRANGERS_PAUSE_NS = 50 * 1000 * 1000,
};
