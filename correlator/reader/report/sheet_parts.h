/* SPDX-License-Identifier: GPL-2.0-only */
/* Parts of rows that several views have: names of code, keys, costs and changes. */
#pragma once

#include "reader/aggregate/diff.h"
#include "reader/aggregate/grouping.h"
#include "reader/profile/frames.h"
#include "reader/report/sheet.h"

/* Puts nothing if the text is NULL: it is not known. Borrows the text like sheet_put. */
void sheet_put_text(struct sheet *sheet, size_t column, const struct frames_text *text);

/* Each sheet_add_ function adds columns and returns the index of the first, for the sheet_put_
 * function below it. */

/* Each key by its name; in JSON a single one is `key', several are in the member `keys'. */
size_t sheet_add_keys(struct sheet *sheet, const struct grouping *grouping);
/* Puts the keys that the group has a value of. */
void sheet_put_keys(struct sheet *sheet, size_t first, const struct grouping *grouping,
		    const struct group *group, bool with_host);

/* The costs, and the time of children. */
size_t sheet_add_costs(struct sheet *sheet, const char *object);
/* Puts the costs that were measured in this recording. */
void sheet_put_costs(struct sheet *sheet, size_t first, const struct costs *costs,
		     const struct recording *recording);

/* A figure before and after in ns; the change, its bounds, its probability, the corrected
 * probability and whether the figure has changed. */
size_t sheet_add_change(struct sheet *sheet, const char *object);
/* Puts nothing if the figure is not known on both sides, and no test if it was not tested. */
void sheet_put_change(struct sheet *sheet, size_t first, const struct diff_figure *figure);
