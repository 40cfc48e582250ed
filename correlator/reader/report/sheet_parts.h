/* SPDX-License-Identifier: GPL-2.0-only */
/* Columns that several views have: keys, costs, and what changed. */
#pragma once

#include "reader/aggregate/diff.h"
#include "reader/aggregate/grouping.h"
#include "reader/report/sheet.h"

/* Each adds columns and returns the index of the first, for the one below it. */

/* A key by its name, in JSON as `key', or of several in the member `keys'. */
size_t sheet_add_keys(struct sheet *sheet, const struct grouping *grouping);
/* Those that the group has a value of. */
void sheet_put_keys(struct sheet *sheet, size_t first, const struct grouping *grouping,
		    const struct group *group, bool with_host);

/* The costs, and what children used. */
size_t sheet_add_costs(struct sheet *sheet, const char *object);
/* Those that were measured in this recording. */
void sheet_put_costs(struct sheet *sheet, size_t first, const struct costs *costs,
		     const struct recording *recording);

/* A figure before and after in ns; the change, its bounds, the probability, the corrected one and
 * whether it has changed. */
size_t sheet_add_change(struct sheet *sheet, const char *object);
/* Nothing of one that is not known on both sides, and no test of one that was not tested. */
void sheet_put_change(struct sheet *sheet, size_t first, const struct diff_figure *figure);
