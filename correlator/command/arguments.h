/* SPDX-License-Identifier: GPL-2.0-only */
/* Arguments that more than one subcommand takes. */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

/* A shorter time is taken for a slip. */
#define ARGUMENTS_TIME_MIN_NS (10 * NS_PER_MS)

/* The options -v and -q for an argp table, in this group. */
#define ARGUMENTS_VERBOSITY(group)                                                   \
	{ "verbose", 'v', NULL, 0, "Say more; twice: all that libbpf says", group }, \
	{                                                                            \
		"quiet", 'q', NULL, 0, "Say nothing but errors and warnings", group  \
	}

/* Handles -v and -q; false: key is another option. */
bool arguments_take_verbosity(int key);

/* Parses a decimal number from minimum to maximum: 0, or -EINVAL, not logged. */
int arguments_parse_number(const char *text, uint64_t minimum, uint64_t maximum,
			   uint64_t *ret_number);

/* Parses the time of option --NAME, at least minimum_ns (1: any). 0, or
 * -EINVAL (logged). */
int arguments_parse_time(const char *name, const char *text, uint64_t minimum_ns, uint64_t *ret_ns);

/* Parses a process ID. 0, or -EINVAL (logged). */
int arguments_parse_pid(const char *text, pid_t *ret_pid);
/* Parses one more -p and appends it to pids, which has *count of at most max entries. -E2BIG
 * (logged): it is full. */
int arguments_add_pid(const char *text, pid_t *pids, size_t max, size_t *count);

/*
 * argp_parse(3), but an unknown option that is not printable ASCII is escaped as by print_line();
 * argp would print it raw. -h is --help. 0 or an errno value.
 */
int arguments_parse(const struct argp *parser, int argc, char **argv, unsigned int flags,
		    void *input);

/* Like argp_failure() and argp_error() (argp.h), with the text escaped as by print_line(). */
__attribute__((format(printf, 4, 5))) void
arguments_fail(const struct argp_state *state, int status, int error, const char *format, ...);
__attribute__((format(printf, 2, 3))) void arguments_refuse(const struct argp_state *state,
							    const char *format, ...);
