/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A report as one page of HTML that needs nothing else: no network, no server, and for its tables
 * no script. It shows one recording, or two beside each other. Text of the target is data in it,
 * and stays data (page_text.h); a Content-Security-Policy with a random nonce allows only the
 * page's own script and style.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "reader/report/html/page_data.h"
#include "reader/report/totals_view.h"

enum {
	PAGE_RECORDINGS_MAX = 2
};

struct page_recording {
	const struct totals *totals;
	const struct page_data *data; /* finished, from these totals */
	struct view_options options; /* sort, top_count and files */
};

/* count: 1, or 2 to compare the second with the first. 0; -ENOMEM; -errno of getrandom(2). The
 * caller checks ferror(out). */
int page_print(const struct page_recording *recordings, size_t count, FILE *out);
