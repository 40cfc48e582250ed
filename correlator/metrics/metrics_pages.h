/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of what is given out, rendered once in each format, and only if somebody asks for it.
 * Who still reads one of before keeps it. Pure; single thread.
 */
#pragma once

#include <stddef.h>

#include "metrics/metrics_text.h"

/* Shared; of nobody who does not hold it. */
struct metrics_page {
	unsigned int holders;
	size_t size_bytes;
	char *text;
};

/* All zeros: none is rendered. */
struct metrics_pages {
	struct metrics_page *pages[_METRICS_FORMAT_MAX];
};

/* The page of these metrics, held by the caller. NULL: no memory. */
struct metrics_page *metrics_pages_hold(struct metrics_pages *pages, const struct metrics *metrics,
					enum metrics_format format);
/* Nothing happens to NULL. */
void metrics_page_release(struct metrics_page *page);

/* The metrics have changed, or it is the end. */
void metrics_pages_forget(struct metrics_pages *pages);
