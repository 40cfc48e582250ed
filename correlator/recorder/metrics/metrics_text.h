/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Metrics as text: OpenMetrics 1.0 ("OpenMetrics, a cloud-native, highly scalable metrics
 * protocol", https://github.com/prometheus/OpenMetrics), or the older format of Prometheus, which
 * node_exporter's textfile collector reads. Pure; any thread.
 */
#pragma once

#include <stddef.h>

#include "recorder/metrics/metrics.h"

enum metrics_format {
	METRICS_FORMAT_OPENMETRICS = 0,
	METRICS_FORMAT_CLASSIC = 1,
	_METRICS_FORMAT_MAX,
};

/* 0, and *ret_text, which the caller frees; or -ENOMEM. */
int metrics_text(const struct metrics *metrics, enum metrics_format format, char **ret_text,
		 size_t *ret_size_bytes);
