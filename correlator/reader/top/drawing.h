/* SPDX-License-Identifier: GPL-2.0-only */
/* Draws the picture: a listing between a title and the books (residual, losses, cost). Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "reader/top/listing.h"
#include "reader/top/navigation.h"
#include "reader/top/screen.h"

enum {
	DRAWING_WIDTH_MIN = 40, /* a smaller screen shows only a message */
	DRAWING_HEIGHT_MIN = 10,
};

struct drawing {
	const struct listing *listing;
	const struct navigation *navigation;
	const char *source; /* name of the source: "pid 4242", a file; escaped */
	const char *status; /* status of the source, escaped: why there is nothing yet, or no more;
			       "" = none */
	bool is_plain; /* without keys: no key help, no selected row */
};

/* Rows of the listing that fit a screen of this height. */
size_t drawing_page_rows(const struct drawing *drawing, size_t height);
/* The height at which all rows, but at most rows_max, fit. */
size_t drawing_height(const struct drawing *drawing, size_t rows_max);

/* 0, -ENOMEM. */
int drawing_draw(const struct drawing *drawing, struct screen *screen);
