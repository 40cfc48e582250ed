/* Arguments that more than one subcommand takes. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* Options of -v and -q, for a table of argp's; in its group. */
#define ARGUMENTS_VERBOSITY(group)                                                  \
	{ "verbose", 'v', NULL, 0, "Say more", group },                             \
	{                                                                           \
		"quiet", 'q', NULL, 0, "Say nothing but errors and warnings", group \
	}

/* Obeys those two; false: key is another option's. */
bool arguments_take_verbosity(int key);

/* Parses a process ID. 0, or -EINVAL (logged). */
int arguments_parse_pid(const char *text, pid_t *ret_pid);
