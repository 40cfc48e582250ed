/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reading a recording to its end: a file, a pipe, or "-", which is standard input. On a terminal it
 * says how far it is, and what cannot be read is logged here. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/record_reader.h"

/* A recording that was read. */
struct input_file {
	const char *name;
	uint64_t entry_count;
	bool is_truncated;
	uint64_t damaged_places; /* that were passed over */
	uint64_t damaged_bytes; /* in all of them */
	uint64_t checks; /* that held (record/check.h) */
};

/* Gets each record. Returns 0; > 0 to read no further; -errno, logged. */
typedef int (*input_fn)(void *context, struct record_reader *reader,
			const struct record_view *record);

enum input_clock {
	INPUT_AS_WRITTEN,
	INPUT_STEADY, /* record_view_steady() */
};

/*
 * Gives each record of it to fn; fn_prints: that writes to the terminal, which then has no
 * progress. Whoever writes to a pipe may be interrupted by the same Ctrl-C, and then writes its
 * last records: the first one is left to it. 0 and what was read, also when fn gave > 0, with
 * *ret_file borrowing path; -errno, logged.
 */
int input_read(const char *path, enum input_clock clock, bool fn_prints, input_fn fn, void *context,
	       struct input_file *ret_file);
