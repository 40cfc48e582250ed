/* SPDX-License-Identifier: GPL-2.0-only */
/* The options of `correlator report'. */
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
	const char *request; /* the request of a story; NULL: all are summed up */
	bool is_of_rows; /* an option was given that applies to tables of groups */
	enum figure sort;
	enum figure columns[_FIGURE_MAX];
	size_t column_count; /* 0: those that fit */
	bool has_sort;
	bool is_diff;
	bool is_over_time;
	uint64_t step_ns; /* of --over-time; 0: one step per window */
	bool is_slowest;
	bool is_stacks;
	bool is_syscalls; /* which system calls were made */
	bool is_io; /* what was read and written */
	bool is_stalls; /* which long waits there were */
	bool is_bottom_up; /* of stacks */
	enum stacks_measure measure; /* of stacks */
	double slowest_percent; /* 0: top_count of them */
	bool has_top;
	size_t top_count;
	bool has_books; /* all of the books */
	bool has_cost; /* all that watching cost */
	enum output_format format;
	struct filter filter;
	const char *html; /* path of the page to write; NULL: none */
	char *compare; /* the recording to compare with; NULL: none */
	struct alert_set *alerts; /* owned; NULL: a report is wanted */
	bool is_failed; /* an option was refused; the reason was logged */
	char **paths; /* borrowed from argv */
	size_t path_count;
};

/* Parses the options, checks their combinations and sets defaults. False: an error, logged; some
 * errors end the process with EXIT_CODE_USAGE. */
bool report_arguments_parse(int argc, char **argv, struct report_options *ret_options);
void report_arguments_deinit(struct report_options *options);
