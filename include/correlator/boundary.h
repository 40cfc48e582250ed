/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a boundary of a thread's books is: what can be known there, and what ends. All that is done
 * at one follows from it (bpf/boundary.bpf.h).
 */
#pragma once

enum boundary_trait {
	/* The memory of the thread's process is there: what ends belongs to what is in force. */
	BOUNDARY_READS = 1 << 0,
	/* If a thread is lean and nobody counts its changes, only the words of the table are
	 * compared (context_is_same()). */
	BOUNDARY_IS_CHEAP = 1 << 1,
	/* What is pending is charged, and the context goes on. */
	BOUNDARY_CHARGES = 1 << 2,
	/* The context ends. The store that changes it may be ahead: what is in force is not known.
	 */
	BOUNDARY_ENDS_CONTEXT = 1 << 3,
	/* And with it what this native thread was: what is in the variable is not its own. */
	BOUNDARY_ENDS_NAME = 1 << 4,
	/* The program ends, and another one begins in its process. */
	BOUNDARY_ENDS_IMAGE = 1 << 5,
	/* One of these. */
	BOUNDARY_ENDS = BOUNDARY_ENDS_CONTEXT | BOUNDARY_ENDS_NAME | BOUNDARY_ENDS_IMAGE,
	/* The thread charges to the window that is open now; up to here its books balance. */
	BOUNDARY_ENDS_WINDOW = 1 << 6,
	/* Nothing of the program runs on the thread any more: no store is ahead. */
	BOUNDARY_IS_LAST = 1 << 7,
};

/* Each boundary that there is. */
enum boundary {
	/* A function that changes the thread-local is entered. Of a lean thread it ends nothing. */
	BOUNDARY_PROBE = BOUNDARY_READS | BOUNDARY_ENDS_CONTEXT,
	/* A system call begins: with probes in place; where the context changes unprobed, or its
	 * configuration is new; and where what is pending has no room for one more number. */
	BOUNDARY_CALL = 0,
	BOUNDARY_CALL_READ = BOUNDARY_READS | BOUNDARY_IS_CHEAP,
	BOUNDARY_CALL_FULL = BOUNDARY_CALL_READ | BOUNDARY_CHARGES,
	/* It ends. The pointer is the user's: no call changes it. */
	BOUNDARY_RETURN = 0,
	/* The thread leaves its CPU: in an old window, or for the last time; and where the wait
	 * that begins is to be told from the one before. */
	BOUNDARY_LEAVING_WINDOW = BOUNDARY_ENDS_WINDOW,
	BOUNDARY_LEAVING_WAIT = BOUNDARY_CHARGES,
	/* A clock meets it. */
	BOUNDARY_SAMPLE = BOUNDARY_READS | BOUNDARY_CHARGES,
	/* A window ends: it is met on its CPU; or off it, or after the programs were stopped. */
	BOUNDARY_FLUSH = BOUNDARY_READS | BOUNDARY_ENDS_WINDOW,
	BOUNDARY_FLUSH_OFF_CPU = BOUNDARY_ENDS_WINDOW,
	/* It names itself. */
	BOUNDARY_RENAME = BOUNDARY_READS | BOUNDARY_ENDS_NAME,
	/* Its process is about to run another program, and still has the name of this one. */
	BOUNDARY_PREPARE_EXEC = BOUNDARY_READS | BOUNDARY_CHARGES,
	/* It does: the old one's memory is gone. */
	BOUNDARY_EXEC = BOUNDARY_ENDS_IMAGE,
	/* It exits. */
	BOUNDARY_EXIT = BOUNDARY_FLUSH | BOUNDARY_IS_LAST,
};
