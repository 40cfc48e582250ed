/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The members of a JSON document that describe the recording as a whole: threads in no context,
 * requests in force from the start, the books, the cost of watching, and its sources and times.
 */
#pragma once

#include "reader/aggregate/totals.h"
#include "reader/report/sheet.h"
#include "reader/report/totals_view.h"

/* Adds the members; call it after sheet_end_rows. Does nothing for other formats. */
void recording_json_add(struct sheet *sheet, const struct totals *totals,
			const struct view_options *options);
