/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/random.h"
#include "base/text.h"
#include "reader/report/html/page_columns.h"
#include "reader/report/html/page_files.h"
#include "reader/report/html/page_tables.h"
#include "reader/report/html/page_text.h"

enum {
	NONCE_BYTES = 16
};

struct page {
	const struct page_recording *recordings;
	size_t count;
	char nonce[2 * NONCE_BYTES + 1];
	FILE *out;
};

static int put_file(const struct page *page, struct page_file file)
{
	(void)fwrite(file.bytes, 1, file.size_bytes, page->out);
	return 0;
}

static int put_css(const struct page *page)
{
	return put_file(page, page_file_css());
}

static int put_js(const struct page *page)
{
	return put_file(page, page_file_js());
}

static int put_nonce(const struct page *page)
{
	(void)fputs(page->nonce, page->out);
	return 0;
}

static int put_title(const struct page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		const struct view_options *options = &page->recordings[i].options;

		if (i > 0)
			(void)fputs(" and ", page->out);
		if (options->file_count > 0)
			page_text_put(page->out, options->files[0].name,
				      strlen(options->files[0].name));
	}
	return 0;
}

static int put_facts(const struct page *page)
{
	for (size_t i = 0; i < page->count; i++) {
		(void)fputs("<dl class=\"facts\">", page->out);
		page_tables_facts(page->recordings[i].totals, &page->recordings[i].options,
				  page->out);
		(void)fputs("\n</dl>\n", page->out);
	}
	return 0;
}

static int put_groups(const struct page *page)
{
	return page_tables_groups(page->recordings[0].totals, &page->recordings[0].options,
				  page->out);
}

static int put_books(const struct page *page)
{
	page_tables_books(page->recordings[0].totals, page->out);
	return 0;
}

/* A section of tables that reports have as text. */
struct section {
	const char *id;
	const char *title;
	const char *hint;
	int (*print)(const struct page_data *data, const char *title_id, FILE *out);
};

static int put_section(const struct page *page, const struct section *section)
{
	char title_id[32];
	int r;

	(void)snprintf(title_id, sizeof(title_id), "%s-title", section->id);
	(void)fprintf(page->out,
		      "<section id=\"%s\" aria-labelledby=\"%s\">\n<h2 id=\"%s\">%s</h2>\n"
		      "<p class=\"hint\">Of the whole recording, whatever is selected: %s</p>\n",
		      section->id, title_id, title_id, section->title, section->hint);
	r = section->print(page->recordings[0].data, title_id, page->out);
	(void)fputs("</section>\n", page->out);
	return r;
}

/* The sections of what was recorded. */
static int put_lists(const struct page *page)
{
	static const struct section stalls = {
		"stalls", "Long waits",
		"what ended them, and the longest ones; then the fibers that kept the thread of an "
		"event loop, if there were any.",
		page_tables_stalls
	};
	static const struct section io = { "io", "Reads and writes",
					   "by kind of file and by peer, the most bytes first.",
					   page_tables_io };
	static const struct section syscalls = { "syscalls", "System calls",
						 "by name, the most calls first.",
						 page_tables_syscalls };
	const struct page_data *data = page->recordings[0].data;
	int r = 0;

	if (data->stalls.count + data->stalls.hog_count > 0)
		r = put_section(page, &stalls);
	if (r == 0 && data->io.has_any)
		r = put_section(page, &io);
	if (r == 0 && data->syscalls.has_any)
		r = put_section(page, &syscalls);
	return r;
}

/* Prints the output of `report --format json` and the columns, each in an element of its own. */
static int put_recording(const struct page_recording *recording, size_t index, FILE *out)
{
	_cleanup_file_ FILE *script = page_text_open_script(out);
	struct view_options options = recording->options;
	int r;

	if (!script)
		return -ENOMEM;
	options.format = FORMAT_JSON;
	(void)fprintf(out, "<script type=\"application/json\" id=\"report-%zu\">\n", index);
	r = totals_view_print(recording->totals, &options, script);
	(void)fflush(script);
	(void)fprintf(out, "</script>\n<script type=\"application/json\" id=\"data-%zu\">\n",
		      index);
	if (r == 0)
		r = page_columns_print(recording->data, script);
	(void)fflush(script);
	(void)fputs("</script>\n", out);
	return r;
}

static int put_data(const struct page *page)
{
	int r = 0;

	for (size_t i = 0; i < page->count && r == 0; i++)
		r = put_recording(&page->recordings[i], i, page->out);
	return r;
}

static const struct {
	const char *name;
	int (*put)(const struct page *page);
} places[] = {
	{ "nonce", put_nonce }, { "title", put_title },	  { "css", put_css },
	{ "facts", put_facts }, { "groups", put_groups }, { "books", put_books },
	{ "lists", put_lists }, { "data", put_data },	  { "js", put_js },
};

/* Prints the part of the page for the place {{name}}. */
static int put_place(const struct page *page, const char *name, size_t name_bytes)
{
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if (strlen(places[i].name) == name_bytes &&
		    memcmp(places[i].name, name, name_bytes) == 0)
			return places[i].put(page);
	assert(!"page.html names a place that there is none of");
	return 0;
}

static int put_template(const struct page *page, struct page_file template)
{
	const char *rest = template.bytes, *end = template.bytes + template.size_bytes;
	int r = 0;

	while (r == 0) {
		const char *open = memmem(rest, (size_t)(end - rest), "{{", 2);
		const char *close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;

		if (!close)
			break;
		(void)fwrite(rest, 1, (size_t)(open - rest), page->out);
		r = put_place(page, open + 2, (size_t)(close - open - 2));
		rest = close + 2;
	}
	(void)fwrite(rest, 1, (size_t)(end - rest), page->out);
	return r;
}

int page_print(const struct page_recording *recordings, size_t count, FILE *out)
{
	struct page page = { .recordings = recordings, .count = count, .out = out };
	uint8_t nonce[NONCE_BYTES];
	int r = random_bytes(nonce, sizeof(nonce));

	assert(count >= 1 && count <= PAGE_RECORDINGS_MAX);
	if (r < 0)
		return r;
	text_hex(nonce, sizeof(nonce), page.nonce);
	return put_template(&page, page_file_html());
}
