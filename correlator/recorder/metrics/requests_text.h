/* SPDX-License-Identifier: GPL-2.0-only */
/* The part of a page of metrics (metrics_text.h) that is of requests. Pure; any thread. */
#pragma once

#include "recorder/metrics/metrics_writer.h"
#include "recorder/metrics/request_figures.h"

/* Writes all families of the figures. */
void requests_text_put(const struct metrics_writer *writer, const struct request_figures *figures);
