/* SPDX-License-Identifier: GPL-2.0-only */
/* The sums of an OpenMetrics export that are not of cpu records: system calls by name, reads and
 * writes by kind of file, long waits by what they were on, and hogs. */
#pragma once

#include <stdio.h>

#include "reader/aggregate/tally.h"
#include "reader/query/filter.h"

enum {
	OPENMETRICS_TALLIES = 3,
};

struct openmetrics_tallies {
	struct tally all[OPENMETRICS_TALLIES];
};

/* by: as for tally_init; borrowed. Copies the filter. 0, -ENOMEM: deinit all the same. */
int openmetrics_tallies_init(struct openmetrics_tallies *tallies, const char *by,
			     const struct filter *filter);
void openmetrics_tallies_deinit(struct openmetrics_tallies *tallies);

/* A record of any kind; of a module that was off it is ignored. recording: as it is known so far,
 * with this record. 0, -ENOMEM. */
int openmetrics_tallies_add(struct openmetrics_tallies *tallies, const struct recording *recording,
			    const struct record_view *record);

/* After the last record; those without any record are left out. 0, -ENOMEM. */
int openmetrics_tallies_print(struct openmetrics_tallies *tallies, FILE *out);
