/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options of a command from a file, by their names on the command line: one per line under
 * [SECTION], NAME = VALUE (base/ini_reader.h). A switch is yes or no; an option whose value is
 * optional takes yes for no value. The command's own argp parser parses each, so it refuses the
 * same values, with FILE:LINE in front.
 *
 * The command line takes precedence: if it has an option, the file's lines of that option are
 * ignored, and its list replaces the file's. -v and -q count as one option.
 *
 * When parsers (and their children) get an option, they may use only the input of argp's state.
 * Their texts belong to argv and to the file.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum {
	CONFIGURATION_BYTES_MAX = 1 << 16,
	CONFIGURATION_ERRORS_MAX = 20, /* in a file; parsing stops there */
	CONFIGURATION_OPTIONS_MAX = 128,
	CONFIGURATION_CHILDREN_MAX = 4,
};

struct configuration_form {
	const struct argp *parser; /* and of its children, one level */
	const char *section;
	int option; /* the key of the option that names the file; it takes a value */
	const int *repeatable; /* keys of options that may come more than once, up to a 0 */
};

struct configured_option {
	const struct argp_option *option;
	size_t child; /* number of the child parser, from 1; 0 = the parser itself */
	bool is_given; /* on the command line */
	unsigned int line; /* its first line in the file; 0 = none, or it is ignored */
};

struct configuration {
	const struct configuration_form *form;
	const char *path; /* argv's; NULL = none was named */
	char *text; /* owned: the file's text */
	size_t text_bytes;
	size_t option_count;
	struct configured_option options[CONFIGURATION_OPTIONS_MAX];
};

/*
 * Parses the file that the command line names, if any, then the command line (ARGP_IN_ORDER). input
 * is passed to the parser. Call it once; call configuration_deinit() in any case, after the last
 * use of the options' texts. 0; -errno, logged: all errors of the file, or -ENOMEM. A parser has to
 * remember an option that it refuses. A wrong command line ends the process, as with argp_parse().
 */
int configuration_parse(struct configuration *configuration, const struct configuration_form *form,
			int argc, char **argv, void *input);

/* Logs which lines of the file are in force, if any: options that exclude each other may be among
 * them. */
void configuration_explain(const struct configuration *configuration);

void configuration_deinit(struct configuration *configuration);
