/* SPDX-License-Identifier: GPL-2.0-only */
/* A report as one page for a browser. */
#pragma once

#include "command/report_arguments.h"

/* Writes the page options->html, with options->compare beside it if that is set. 0; -EBADMSG: a
 * recording is damaged, and the page has what could be read; -errno, logged. */
int report_page_write(const struct report_options *options);
