/* SPDX-License-Identifier: GPL-2.0-only */
/* The picture: a listing, between a heading and what is known of its truth. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reader/top/listing.h"
#include "reader/top/navigation.h"
#include "reader/top/screen.h"

enum {
	DRAWING_WIDTH_MIN = 40, /* what is smaller says so */
	DRAWING_HEIGHT_MIN = 10,
};

struct drawing {
	const struct listing *listing;
	const struct navigation *navigation;
	const char *source; /* what it is of: "pid 4242", a file; escaped */
	const char *status; /* of the source, escaped: why there is nothing yet, or no more; "" =
			       none */
	bool is_plain; /* nobody presses keys: nothing about them, nothing selected */
};

/* Rows of the listing that fit a screen of this height. */
size_t drawing_page_rows(const struct drawing *drawing, size_t height);
/* The height at which all rows fit, but at most so many. */
size_t drawing_height(const struct drawing *drawing, size_t rows_max);

/* 0, -ENOMEM. */
int drawing_draw(const struct drawing *drawing, struct screen *screen);
