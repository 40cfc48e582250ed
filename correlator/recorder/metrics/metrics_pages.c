/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/metrics/metrics_pages.h"

#include <stdlib.h>

#include "base/cleanup.h"

/* The reference is held by the pages. */
static struct metrics_page *render(const struct metrics *metrics, enum metrics_format format)
{
	_cleanup_free_ struct metrics_page *page = calloc(1, sizeof(*page));

	if (!page || metrics_text(metrics, format, &page->text, &page->size_bytes) < 0)
		return NULL;
	page->holders = 1;
	return TAKE_PTR(page);
}

struct metrics_page *metrics_pages_hold(struct metrics_pages *pages, const struct metrics *metrics,
					enum metrics_format format)
{
	struct metrics_page *page = pages->pages[format];

	if (!page)
		page = pages->pages[format] = render(metrics, format);
	if (!page)
		return NULL;
	page->holders++;
	atomic_fetch_add(&pages->held, 1);
	return page;
}

void metrics_page_release(struct metrics_page *page)
{
	if (!page || --page->holders)
		return;
	free(page->text);
	free(page);
}

void metrics_pages_forget(struct metrics_pages *pages)
{
	for (int i = 0; i < _METRICS_FORMAT_MAX; i++)
		metrics_page_release(TAKE_PTR(pages->pages[i]));
}
