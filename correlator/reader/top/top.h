/* SPDX-License-Identifier: GPL-2.0-only */
/* The loop: records in, pictures out, keys between them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/top/navigation.h"

enum {
	TOP_BATCH_ROWS = 20, /* groups in a frame of text */
	TOP_BATCH_WIDTH = 160, /* of a frame, where nobody says */
};

struct top_options {
	const char *path; /* a recording, or "-"; NULL: live */
	char *const *recorder; /* live: the arguments that it is started with */
	double speed; /* of a replay; 0 = as fast as it goes */
	const char *name; /* what it is of */
	bool is_batch; /* frames of text */
	uint64_t frame_count; /* of them; 0 = until the end */
	size_t width; /* of them */
	bool has_colour;
	struct navigation *start; /* where the user is at first */
};

/* Until the user quits, a signal ends it, or, in batch, there is no more, or a frame cannot be
 * written: the caller's to say, with *ret_write_error, an errno; 0 otherwise. The exit status: the
 * recorder's, if it failed. Other errors are logged. */
int top_run(const struct top_options *options, int *ret_write_error);
