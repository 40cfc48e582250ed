/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data of a page as JSON: texts as lists, numbers by the column, each column a text: base64 of
 * numbers of 7 bits a byte, the lowest first, the highest bit set on all bytes but the last. What
 * each column is stands in page_columns.c, beside page.js, which reads them.
 */
#pragma once

#include <stdio.h>

#include "reader/report/html/page_data.h"

/* Of finished data. 0, -ENOMEM; errors of writing are out's. */
int page_columns_print(const struct page_data *data, FILE *out);
