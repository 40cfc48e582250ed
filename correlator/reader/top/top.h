/* SPDX-License-Identifier: GPL-2.0-only */
/* The main loop: reads records, handles keys, draws pictures. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/top/navigation.h"

enum {
	TOP_BATCH_ROWS = 20, /* groups in a text frame */
	TOP_BATCH_WIDTH = 160, /* default width of a text frame */
};

struct top_options {
	const char *path; /* a recording, or "-"; NULL: live */
	char *const *recorder; /* live: arguments to start the recorder with */
	double speed; /* of a replay; 0 = as fast as possible */
	const char *name; /* name of the source */
	bool is_batch; /* prints text frames */
	uint64_t frame_count; /* number of text frames; 0 = until the end */
	size_t width; /* of text frames */
	bool has_colour;
	struct navigation *start; /* where the user starts */
};

/* Runs until the user quits, a signal arrives, or the recorder fails; in batch also until the input
 * ends, frame_count frames are printed, or a frame cannot be written. A write error sets
 * *ret_write_error to an errno, which the caller reports; it is 0 otherwise. Returns the exit
 * status: the recorder's, if it failed. Other errors are logged. */
int top_run(const struct top_options *options, int *ret_write_error);
