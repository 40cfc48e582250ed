/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code in which a span of windows, or the part of it that a condition selects, used CPU and
 * waited: the text of `report --stacks`, made by reader/report/ from the samples that are kept.
 * Single thread.
 */
#pragma once

#include <stddef.h>

#include "reader/top/history.h"

/* All borrowed. condition and filter: KEY=VALUE or KEY~PATTERN as for filter_add
 * (reader/query/filter.h); any other text selects everything. */
struct code_of {
	const struct history *history;
	const struct history_span *span;
	const char *condition;
	const char *filter;
};

/* *ret_text: lines, freed by the caller; NULL if there is no sample. 0, -ENOMEM. */
int code_write(const struct code_of *of, size_t width, char **ret_text);
