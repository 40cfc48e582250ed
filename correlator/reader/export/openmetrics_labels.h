/* SPDX-License-Identifier: GPL-2.0-only */
/* The labels of an OpenMetrics export's samples, and their timestamp: that of the end of the
 * recording, so that it can be backfilled at the right time. */
#pragma once

#include <stdio.h>

#include "reader/query/recording.h"
#include "record/record_view.h"

/* Writes {row="group",endpoint="GET /"; the caller adds more labels, and closes it. by: the key,
 * whose label begins with key_ if it has the name of another label. value NULL: the row is of no
 * one value. */
void openmetrics_labels_begin(FILE *out, const char *row, const char *by,
			      const struct record_text *value);
/* Writes ,label="value". */
void openmetrics_labels_put(FILE *out, const char *label, struct record_text value);
/* Ends a sample. */
void openmetrics_labels_put_time(FILE *out, const struct recording *recording);
