/* SPDX-License-Identifier: GPL-2.0-only */
#include "command/filter_arguments.h"
#include "command/arguments.h"

#include <errno.h>

#include "base/exit_code.h"

static void add_condition(struct filter *filter, const char *text, struct argp_state *state)
{
	int r = filter_add(filter, text);

	if (r == -E2BIG)
		arguments_fail(state, EXIT_CODE_USAGE, 0, "at most %d conditions",
			       FILTER_CONDITIONS_MAX);
	else if (r == -EINVAL)
		arguments_fail(state, EXIT_CODE_USAGE, 0,
			       "--where takes KEY=VALUE or KEY~PATTERN, not '%s'", text);
	else if (r < 0)
		arguments_fail(state, EXIT_CODE_FAILURE, -r, "cannot take --where");
}

static void parse_time(const char *name, const char *text, struct filter_time *ret_time,
		       struct argp_state *state)
{
	if (filter_parse_time(text, ret_time) < 0)
		arguments_fail(
			state, EXIT_CODE_USAGE, 0,
			"--%s takes a time such as 2026-11-22T10:15:00Z, or 10:15:00 in local time, "
			"or a duration from the first record on such as 30s, not '%s'",
			name, text);
}

error_t filter_arguments_parse(int key, const char *argument, struct filter *filter,
			       struct argp_state *state)
{
	switch (key) {
	case 'w':
		add_condition(filter, argument, state);
		return 0;
	case 'S':
		parse_time("since", argument, &filter->since, state);
		return 0;
	case 'U':
		parse_time("until", argument, &filter->until, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}
