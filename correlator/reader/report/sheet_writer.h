/* SPDX-License-Identifier: GPL-2.0-only */
/* The formats of a sheet: sheet.c calls the selected one. */
#pragma once

#include "reader/report/sheet.h"

void sheet_csv_header(const struct sheet *sheet);
void sheet_csv_row(const struct sheet *sheet);

void sheet_json_line(struct sheet *sheet);

/* A row of a document is printed when the next row comes that is not inside it, or at the end of
 * the rows. */
void sheet_json_row(struct sheet *sheet);
void sheet_json_end_rows(struct sheet *sheet);
void sheet_json_name(struct sheet *sheet, const char *name);
