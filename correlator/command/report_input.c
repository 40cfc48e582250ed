/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/report_input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/recorded_keys.h"

int report_input_choose_request(const struct report_options *options, struct filter *filter)
{
	_cleanup_free_ char *condition = NULL;
	int r = 0;

	if (!options->request)
		return 0;
	if (asprintf(&condition, "request_id=%s", options->request) < 0) {
		condition = NULL;
		r = -ENOMEM;
	}
	if (r == 0)
		r = filter_add(filter, condition);
	return r < 0 ? log_error_errno(r, "cannot choose the request %s", options->request) : 0;
}

int report_input_read(const struct report_options *options, input_fn add_record, void *context,
		      bool *ret_is_damaged)
{
	int r = 0;

	*ret_is_damaged = false;
	for (size_t i = 0; i < options->path_count && r == 0; i++) {
		struct input_file file = { 0 };

		r = input_read(options->paths[i], INPUT_STEADY, false, add_record, context, &file);
		*ret_is_damaged |= file.damaged_places > 0;
	}
	return r;
}

int report_input_check(const struct report_options *options, const struct selection *selection,
		       bool has_wanted, uint64_t left_out)
{
	if (selection->recording.record_count == 0)
		return log_error(ENODATA, "no records to report");
	if (!has_wanted && options->request)
		return log_error(ENOENT, "no request %s in the recording", options->request);
	if (!has_wanted)
		return recorded_keys_explain_nothing(&selection->recording, &selection->filter);
	recorded_keys_warn_given_up(selection->given_up);
	if (left_out > 0)
		log_warning("%" PRIu64 " records did not fit in memory: select less with "
			    "--where, --since and --until",
			    left_out);
	return options->by ? recorded_keys_check(&selection->recording, options->by, "--by") : 0;
}
