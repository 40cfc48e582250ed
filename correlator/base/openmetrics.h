/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The syntax of OpenMetrics 1.0 ("OpenMetrics, a cloud-native, highly scalable metrics protocol",
 * https://github.com/prometheus/OpenMetrics), and of the older format of Prometheus. Pure.
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
 * The head of a family of this name. The older format has no units, and a counter's suffix in the
 * name of its family, too. unit NULL: a number of things. Returns the suffix of its samples.
 */
const char *openmetrics_begin(FILE *out, bool is_older, enum openmetrics_type type,
			      const char *name, const char *unit, const char *help);
/* Inside of quotes; text must be printable. */
void openmetrics_put_label(FILE *out, const char *text);
/* Exactly. */
void openmetrics_put_seconds(FILE *out, int64_t ns);
