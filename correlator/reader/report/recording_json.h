/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a JSON document says of the recording beside its rows: threads in no context, requests that
 * were there from the start, the books, what watching cost, and of what and when it is.
 */
#pragma once

#include "reader/aggregate/totals.h"
#include "reader/report/format.h"
#include "reader/report/sheet.h"

/* Adds it as members, after sheet_end_rows. Other formats have none of it. */
void recording_json_add(struct sheet *sheet, const struct totals *totals,
			const struct format_options *options);
