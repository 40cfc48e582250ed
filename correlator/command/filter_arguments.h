/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments that choose records: --where, --since and --until. What is wrong ends the process
 * with EXIT_CODE_USAGE, and a message. */
#pragma once

#include <argp.h>

#include "reader/query/filter.h"

/* A subcommand's parse_option comes to it: 0 of 'w', 'S' and 'U'; else ARGP_ERR_UNKNOWN. */
error_t filter_arguments_parse(int key, const char *argument, struct filter *filter,
			       struct argp_state *state);
