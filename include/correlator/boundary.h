/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kinds of boundaries in a thread's books: what can be read at each, and what ends there. Every
 * step that is taken at a boundary follows from these traits (bpf/boundary.bpf.h).
 */
#pragma once

enum boundary_trait {
	/* The process's memory is readable: the time that ends belongs to the context in force. */
	BOUNDARY_READS = 1 << 0,
	/* For a lean thread without a count of changes, only the table's words are compared
	 * (context_is_same()). */
	BOUNDARY_IS_CHEAP = 1 << 1,
	/* Pending time is charged; the context continues. */
	BOUNDARY_CHARGES = 1 << 2,
	/* The context ends. The store that changes it may still be ahead: the context in force next
	 * is not known. */
	BOUNDARY_ENDS_CONTEXT = 1 << 3,
	/* The native thread becomes another thread: what the thread-local holds is not its own. */
	BOUNDARY_ENDS_NAME = 1 << 4,
	/* The program ends, and another one begins in the same process. */
	BOUNDARY_ENDS_IMAGE = 1 << 5,
	/* Any of the three above. */
	BOUNDARY_ENDS = BOUNDARY_ENDS_CONTEXT | BOUNDARY_ENDS_NAME | BOUNDARY_ENDS_IMAGE,
	/* From here on the thread charges to the open window; up to here its books balance. */
	BOUNDARY_ENDS_WINDOW = 1 << 6,
	/* No code of the program runs on the thread any more: no store is ahead. */
	BOUNDARY_IS_LAST = 1 << 7,
};

/* All boundaries. */
enum boundary {
	/* Entry of a function that changes the thread-local. For a lean thread it ends nothing. */
	BOUNDARY_PROBE = BOUNDARY_READS | BOUNDARY_ENDS_CONTEXT,
	/*
	 * Entry of a system call. CALL: with probes in place. CALL_READ: the context changes
	 * unprobed, or the configuration is new. CALL_FULL: the pending calls have no place for
	 * another number.
	 */
	BOUNDARY_CALL = 0,
	BOUNDARY_CALL_READ = BOUNDARY_READS | BOUNDARY_IS_CHEAP,
	BOUNDARY_CALL_FULL = BOUNDARY_CALL_READ | BOUNDARY_CHARGES,
	/* Exit of a system call. Only user code changes the pointer, no call does. */
	BOUNDARY_RETURN = 0,
	/*
	 * The thread leaves its CPU. LEAVING_WINDOW: its window has ended, or it leaves for the
	 * last time. LEAVING_WAIT: the wait that begins must be kept apart from the one before.
	 */
	BOUNDARY_LEAVING_WINDOW = BOUNDARY_ENDS_WINDOW,
	BOUNDARY_LEAVING_WAIT = BOUNDARY_CHARGES,
	/* A sampling clock interrupts the thread. */
	BOUNDARY_SAMPLE = BOUNDARY_READS | BOUNDARY_CHARGES,
	/*
	 * A window ends. FLUSH: the thread is on its CPU. FLUSH_OFF_CPU: it is off the CPU, or the
	 * programs were stopped.
	 */
	BOUNDARY_FLUSH = BOUNDARY_READS | BOUNDARY_ENDS_WINDOW,
	BOUNDARY_FLUSH_OFF_CPU = BOUNDARY_ENDS_WINDOW,
	/* The thread renames itself. */
	BOUNDARY_RENAME = BOUNDARY_READS | BOUNDARY_ENDS_NAME,
	/* The process is about to exec, and still has the name of the old program. */
	BOUNDARY_PREPARE_EXEC = BOUNDARY_READS | BOUNDARY_CHARGES,
	/* The exec is done: the old program's memory is gone. */
	BOUNDARY_EXEC = BOUNDARY_ENDS_IMAGE,
	/* The thread exits. */
	BOUNDARY_EXIT = BOUNDARY_FLUSH | BOUNDARY_IS_LAST,
};
