/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The data of a page as JSON: texts as lists, numbers by column. A column is a string: base64 of
 * numbers of 7 bits per byte, lowest first, the highest bit set on all bytes but the last.
 * page_columns.c defines the columns; page.js, beside it, reads them.
 */
#pragma once

#include <stdio.h>

#include "reader/report/html/page_data.h"

/* Prints finished data. 0, -ENOMEM; the caller checks ferror(out). */
int page_columns_print(const struct page_data *data, FILE *out);
