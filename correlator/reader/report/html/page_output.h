/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes a page to a file or to standard output. */
#pragma once

#include "reader/report/html/page.h"

/*
 * Checks, before anything is read, whether path may be written:
 *
 * - "-" is standard output.
 * - An empty file and a page are replaced.
 * - A path that is not a regular file (a device, a pipe) is written to as by output_file_open()
 *   (base/output_file.h), which refuses a link: -EPERM.
 * - Any other file is kept: -EEXIST. It may be a recording whose name was given by mistake.
 *
 * 0; -errno, logged.
 */
int page_output_check(const char *path);

/* Writes the page. A regular file is written whole or not at all, with mode 0600. Standard output
 * is neither flushed nor closed: the caller does that. 0; -errno, logged. */
int page_output_write(const char *path, const struct page_recording *recordings, size_t count);
