/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads a recording to its end: a file, a pipe, or "-" (standard input). Shows progress on a
 * terminal, and logs what cannot be read. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/record_reader.h"

/* A recording that was read to its end. */
struct input_file {
	const char *name;
	uint64_t entry_count;
	bool is_truncated;
	uint64_t damaged_places; /* ranges that were skipped */
	uint64_t damaged_bytes; /* total of all ranges */
	uint64_t checks; /* checks that held (record/check.h) */
};

/* Called for each record. Returns 0; > 0 to stop reading; -errno, logged. */
typedef int (*input_fn)(void *context, struct record_reader *reader,
			const struct record_view *record);

enum input_clock {
	INPUT_AS_WRITTEN,
	INPUT_STEADY, /* after record_view_steady() */
};

/*
 * Passes each record to fn. fn_prints: fn writes to the terminal, which then shows no progress. If
 * path is a pipe, the same Ctrl-C may interrupt its writer, which then writes its last records: the
 * first one is left to the writer. Returns 0 and *ret_file, which borrows path, also if fn returned
 * > 0; -errno, logged.
 */
int input_read(const char *path, enum input_clock clock, bool fn_prints, input_fn fn, void *context,
	       struct input_file *ret_file);
