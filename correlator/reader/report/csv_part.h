/* SPDX-License-Identifier: GPL-2.0-only */
/* Cells of CSV. The caller checks ferror(out). */
#pragma once

#include <stdio.h>

#include "record/record_view.h"

/* Printable text, quoted if necessary. */
void csv_part_text(const char *text, FILE *out);
/* Any bytes, at most COMBINATION_PART_BYTES_MAX, escaped as for a screen. */
void csv_part_label(struct record_text text, FILE *out);
