/* SPDX-License-Identifier: GPL-2.0-only */
/* The source files of a page in this folder, embedded in the program. */
#pragma once

#include <stddef.h>

struct page_file {
	const char *bytes; /* static, not NUL-terminated */
	size_t size_bytes;
};

/* page.html, page.css, page.js. */
struct page_file page_file_html(void);
struct page_file page_file_css(void);
struct page_file page_file_js(void);
