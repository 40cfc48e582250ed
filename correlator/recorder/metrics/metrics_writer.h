/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of a page of metrics (metrics_text.h): families and samples. Pure; any thread. */
#pragma once

#include <stdio.h>

#include "base/openmetrics.h"
#include "figures/costs.h"
#include "recorder/metrics/metrics_text.h"

enum {
	METRICS_NAME_BYTES = 128 /* of a family, with its NUL */
};

/* The beginning of each family's name. */
#define METRICS_PREFIX "correlator_"

struct metrics_writer {
	FILE *file;
	enum metrics_format format;
};

/* Begins a family; name: without METRICS_PREFIX. unit: NULL = a count. Returns the suffix of its
 * samples' names. */
const char *metrics_writer_begin(const struct metrics_writer *writer, enum openmetrics_type type,
				 const char *name, const char *unit, const char *help);
/* Writes a family of one sample. */
void metrics_writer_put_count(const struct metrics_writer *writer, enum openmetrics_type type,
			      const char *name, const char *unit, const char *help, uint64_t value);
/* Writes the end of a sample's line. */
void metrics_writer_put_seconds(FILE *file, int64_t ns);

/* A counter of a cost: process_cpu_seconds, or of requests, request_cpu_seconds. */
struct cost_family {
	enum cost cost;
	char name[METRICS_NAME_BYTES - sizeof(METRICS_PREFIX)];
	const char *unit; /* NULL = a count */
	const char *help;
};

/* The families of FIGURE_VIEW_METRICS; of: "process", "request". Returns how many. */
size_t cost_families(const char *of, struct cost_family ret_families[static _COST_MAX]);
