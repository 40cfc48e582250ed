/* SPDX-License-Identifier: GPL-2.0-only */
/* Cells of CSV. Check ferror(out). */
#pragma once

#include <stdio.h>

#include "figures/costs.h"
#include "reader/aggregate/diff.h"
#include "record/record_view.h"

/* Text that can be shown, quoted where it must be. */
void csv_part_text(const char *text, FILE *out);
/* Any bytes, at most COMBINATION_PART_BYTES_MAX, escaped as for a screen. */
void csv_part_label(struct record_text text, FILE *out);
/* A comma, and the cost if it was measured. */
void csv_part_cost(const struct costs *costs, enum cost cost, FILE *out);
/* A figure's eight cells, each behind a comma: before and after in ns; the change, its bounds, the
 * probability, the corrected one and whether it has changed, all empty if it was not tested. */
void csv_part_figure(const struct diff_figure *figure, FILE *out);
