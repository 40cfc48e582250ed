/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments that select records: --where, --since and --until. An error ends the process with
 * a message and EXIT_CODE_USAGE. */
#pragma once

#include <argp.h>

#include "reader/query/filter.h"

/* Called by the parse_option of a subcommand: 0 for 'w', 'S' and 'U'; else ARGP_ERR_UNKNOWN. */
error_t filter_arguments_parse(int key, const char *argument, struct filter *filter,
			       struct argp_state *state);
