/* SPDX-License-Identifier: GPL-2.0-only */
/* The sums of a report by one key as OpenMetrics: each sample at the end of the recording, so that
 * it can be filled in where it belongs. */
#pragma once

#include <stdio.h>

#include "reader/aggregate/totals.h"
#include "reader/query/filter.h"

struct openmetrics_export {
	struct totals totals; /* records are added to these */
};

/* by: the key; NULL: endpoint where it was recorded, else the first one of totals_init. Takes the
 * filter. 0, -ENOMEM. */
int openmetrics_export_init(struct openmetrics_export *openmetrics, const char *by,
			    struct filter *filter);
void openmetrics_export_deinit(struct openmetrics_export *openmetrics);

/* After the last record. 0, -ENOMEM. */
int openmetrics_export_print(struct openmetrics_export *openmetrics, FILE *out);
