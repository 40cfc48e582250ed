/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Metrics as text, rendered on demand, once per format. A page that is being sent outlives the next
 * publication: its holder keeps it. Pure; single thread.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/metrics/metrics_text.h"

/* Freed when its last holder releases it. */
struct metrics_page {
	unsigned int holders;
	size_t size_bytes;
	char *text;
};

/* All zeros: nothing rendered. */
struct metrics_pages {
	struct metrics_page *pages[_METRICS_FORMAT_MAX];
	_Atomic uint64_t held; /* number of holds; readable from any thread */
};

/* The page of these metrics, held by the caller. NULL: out of memory. */
struct metrics_page *metrics_pages_hold(struct metrics_pages *pages, const struct metrics *metrics,
					enum metrics_format format);
/* Accepts NULL. */
void metrics_page_release(struct metrics_page *page);

/* Call when the metrics have changed, and at the end. */
void metrics_pages_forget(struct metrics_pages *pages);
