/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The syntax of OpenMetrics 1.0 ("OpenMetrics, a cloud-native, highly scalable metrics protocol",
 * https://github.com/prometheus/OpenMetrics), and of Prometheus' older format. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum openmetrics_type {
	OPENMETRICS_COUNTER = 0, /* its samples end in _total */
	OPENMETRICS_GAUGE = 1,
	OPENMETRICS_SUMMARY = 2,
	OPENMETRICS_HISTOGRAM = 3,
};

/*
 * Writes the header of the metric family name. The older format has no units, and puts a counter's
 * suffix into the family name, too. unit NULL: a plain number. Returns the suffix of the samples.
 */
const char *openmetrics_begin(FILE *out, bool is_older, enum openmetrics_type type,
			      const char *name, const char *unit, const char *help);
/* Writes text for use inside quotes; it must be printable. */
void openmetrics_put_label(FILE *out, const char *text);
/* Writes ns as seconds, without loss. */
void openmetrics_put_seconds(FILE *out, int64_t ns);
