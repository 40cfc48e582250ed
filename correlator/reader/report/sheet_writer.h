/* SPDX-License-Identifier: GPL-2.0-only */
/* What the formats of a sheet do with it: sheet.c calls the one that is wanted. */
#pragma once

#include "reader/report/sheet.h"

void sheet_csv_header(const struct sheet *sheet);
void sheet_csv_row(const struct sheet *sheet);

void sheet_json_line(struct sheet *sheet);

/* A row of a document is printed when the next one comes that is not inside of it, or its rows
 * end. */
void sheet_json_row(struct sheet *sheet);
void sheet_json_end_rows(struct sheet *sheet);
void sheet_json_name(struct sheet *sheet, const char *name);
