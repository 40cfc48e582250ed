/* SPDX-License-Identifier: GPL-2.0-only */
/* Samples of stacks as page.js reads them: columns of frames, each with its caller, and columns of
 * samples. */
#pragma once

#include <stdio.h>

#include "reader/report/html/page_data.h"

/* Prints them as a further member of a JSON object; nothing if there are no samples. After
 * page_data_finish. 0, -ENOMEM. */
int page_code_print(const struct page_data *data, FILE *out);
