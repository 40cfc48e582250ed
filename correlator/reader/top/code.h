/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * In which code a span of windows used its CPU, and where it waited, or what a condition chooses of
 * it: the text of `report --stacks`, made by reader/report/ of the samples that are kept. Single
 * thread.
 */
#pragma once

#include <stddef.h>

#include "reader/top/history.h"

/* All borrowed. The last two: KEY=VALUE or KEY~PATTERN as of filter_add (reader/query/filter.h),
 * what is none lets everything pass. */
struct code_of {
	const struct history *history;
	const struct history_span *span;
	const char *condition;
	const char *filter;
};

/* *ret_text: lines, free it; NULL without a sample. 0, -ENOMEM. */
int code_write(const struct code_of *of, size_t width, char **ret_text);
