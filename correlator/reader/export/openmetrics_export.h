/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a report's sums by one key as OpenMetrics, and those of what other modules recorded. */
#pragma once

#include <stdio.h>

#include "reader/aggregate/totals.h"
#include "reader/export/openmetrics_tallies.h"
#include "reader/query/filter.h"

struct openmetrics_export {
	struct totals totals;
	struct openmetrics_tallies tallies;
};

/* by: the key; NULL: endpoint if it was recorded, else the first default of totals_init. Takes over
 * the filter. 0, -ENOMEM. */
int openmetrics_export_init(struct openmetrics_export *openmetrics, const char *by,
			    struct filter *filter);
void openmetrics_export_deinit(struct openmetrics_export *openmetrics);

/* A record of any kind. 0, -ENOMEM, -E2BIG and -EBADMSG as totals_add. */
int openmetrics_export_add(struct openmetrics_export *openmetrics,
			   const struct record_view *record);

/* After the last record. 0, -ENOMEM. */
int openmetrics_export_print(struct openmetrics_export *openmetrics, FILE *out);
