/* SPDX-License-Identifier: GPL-2.0-only */
/* What a report is to be of, and how it is to look: the options of `correlator report'. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert/alert_set.h"
#include "reader/aggregate/rows.h"
#include "reader/profile/stacks.h"
#include "reader/query/filter.h"
#include "reader/report/sheet.h"

struct report_options {
	const char *by; /* NULL: the default (totals.h) */
	const char *request; /* the one that is told of; NULL: all are summed up */
	bool is_of_rows; /* some option is of what sums up */
	enum figure sort;
	enum figure columns[_FIGURE_MAX];
	size_t column_count; /* 0: what fits */
	bool has_sort;
	bool is_diff;
	bool is_over_time;
	uint64_t step_ns; /* of it; 0: each window */
	bool is_slowest;
	bool is_stacks;
	bool is_syscalls; /* which system calls were made */
	bool is_bottom_up; /* of them */
	enum stacks_measure measure; /* the same */
	double slowest_percent; /* 0: so many, which is top_count */
	bool has_top;
	size_t top_count;
	bool has_books; /* all of the books */
	bool has_cost; /* all that watching cost */
	enum output_format format;
	struct filter filter;
	const char *html; /* the page to write; NULL: none */
	char *compare; /* the recording that it compares with; NULL: none */
	struct alert_set *alerts; /* owned; NULL: a report is wanted */
	bool is_failed; /* an option was refused, and said why */
	char **paths; /* borrowed from argv */
	size_t path_count;
};

/* Also what they mean together is checked, and what was not asked for is chosen. False: something
 * is wrong, which was said; or it ends the process with EXIT_CODE_USAGE itself. */
bool report_arguments_parse(int argc, char **argv, struct report_options *ret_options);
void report_arguments_deinit(struct report_options *options);
