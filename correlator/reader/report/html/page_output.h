/* SPDX-License-Identifier: GPL-2.0-only */
/* Where a page is written to. */
#pragma once

#include "reader/report/html/page.h"

/*
 * Before anything is read: whether path may be written. "-" is standard output. An empty file and a
 * page are replaced, what is not a file (a device, a pipe) is written to as output_file_open() does
 * (base/output_file.h), which refuses a link: -EPERM; anything else is kept, as it may be a
 * recording whose name was given by mistake: -EEXIST. 0; -errno, logged.
 */
int page_output_check(const char *path);

/* Writes the page: a file whole or not at all, of mode 0600, and not standard output's end, which
 * is the caller's. 0; -errno, logged. */
int page_output_write(const char *path, const struct page_recording *recordings, size_t count);
