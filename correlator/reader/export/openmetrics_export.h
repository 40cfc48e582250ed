/* SPDX-License-Identifier: GPL-2.0-only */
/* Prints a report's sums by one key as OpenMetrics. The timestamp of each sample is the end of the
 * recording, so that it can be backfilled at the right time. */
#pragma once

#include <stdio.h>

#include "reader/aggregate/totals.h"
#include "reader/query/filter.h"

struct openmetrics_export {
	struct totals totals; /* add records to these */
};

/* by: the key; NULL: endpoint if it was recorded, else the first default of totals_init. Takes over
 * the filter. 0, -ENOMEM. */
int openmetrics_export_init(struct openmetrics_export *openmetrics, const char *by,
			    struct filter *filter);
void openmetrics_export_deinit(struct openmetrics_export *openmetrics);

/* After the last record. 0, -ENOMEM. */
int openmetrics_export_print(struct openmetrics_export *openmetrics, FILE *out);
