/* SPDX-License-Identifier: GPL-2.0-only */
/* Shared by the reports of records other than cpu records: they select records, read them, and say
 * why there is nothing to report. */
#pragma once

#include <stdbool.h>

#include "command/report_arguments.h"
#include "reader/query/input.h"
#include "reader/query/selection.h"

/* Filters by the request of --request, if given. 0; -errno, logged. */
int report_input_choose_request(const struct report_options *options, struct filter *filter);

/* Passes all records of all files to add_record. Sets *ret_is_damaged if some could not be read.
 * 0; -errno, logged. */
int report_input_read(const struct report_options *options, input_fn add_record, void *context,
		      bool *ret_is_damaged);

/*
 * Logs what is wrong with what was selected. has_wanted: the filter let a cpu record pass.
 * left_out: records that did not fit. 0; -errno: there is nothing to report.
 */
int report_input_check(const struct report_options *options, const struct selection *selection,
		       bool has_wanted, uint64_t left_out);
