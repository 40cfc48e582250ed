/* SPDX-License-Identifier: GPL-2.0-only */
/* The arguments that choose records: --where, --since and --until. What is wrong ends the process
 * with EXIT_CODE_USAGE, and a message. */
#pragma once

#include <argp.h>

#include "report/filter.h"

/* Adds KEY=VALUE or KEY~PATTERN. */
void filter_arguments_add(struct filter *filter, const char *text, struct argp_state *state);

/* Of the option --NAME. */
void filter_arguments_time(const char *name, const char *text, struct filter_time *ret_time,
			   struct argp_state *state);
