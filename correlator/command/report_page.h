/* SPDX-License-Identifier: GPL-2.0-only */
/* A report as one page for a browser. */
#pragma once

#include "command/report_arguments.h"

/* Writes options->html, of options->compare, too, if there is one. 0; -EBADMSG: of what can be read
 * of damaged recordings; -errno, logged. */
int report_page_write(const struct report_options *options);
