/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments that more than one subcommand takes. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

/* Shorter times than that are slips. */
#define ARGUMENTS_TIME_MIN_NS (10 * NS_PER_MS)

/* Options of -v and -q, for a table of argp's; in its group. */
#define ARGUMENTS_VERBOSITY(group)                                                   \
	{ "verbose", 'v', NULL, 0, "Say more; twice: all that libbpf says", group }, \
	{                                                                            \
		"quiet", 'q', NULL, 0, "Say nothing but errors and warnings", group  \
	}

/* Obeys those two; false: key is another option's. */
bool arguments_take_verbosity(int key);

/* Parses a decimal number of a range: 0, or -EINVAL, not logged. */
int arguments_parse_number(const char *text, uint64_t minimum, uint64_t maximum,
			   uint64_t *ret_number);

/* Parses the time that option --NAME takes, of at least minimum_ns: 1, or ARGUMENTS_TIME_MIN_NS. 0,
 * or -EINVAL (logged). */
int arguments_parse_time(const char *name, const char *text, uint64_t minimum_ns, uint64_t *ret_ns);

/* Parses a process ID. 0, or -EINVAL (logged). */
int arguments_parse_pid(const char *text, pid_t *ret_pid);
/* The same of one more of -p, behind *count of at most max. -E2BIG (logged): there are as many. */
int arguments_add_pid(const char *text, pid_t *pids, size_t max, size_t *count);

/*
 * argp_parse(3), which prints an unknown option as it is: this refuses one that is not printable
 * ASCII before, and escapes it as print_line() does. -h is --help. 0 or an errno value.
 */
int arguments_parse(const struct argp *parser, int argc, char **argv, unsigned int flags,
		    void *input);

/* As argp_failure() and argp_error() (argp.h), and escaped as print_line() does it. */
__attribute__((format(printf, 4, 5))) void
arguments_fail(const struct argp_state *state, int status, int error, const char *format, ...);
__attribute__((format(printf, 2, 3))) void arguments_refuse(const struct argp_state *state,
							    const char *format, ...);
