/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Options of a command from a file, by the names that they have on the command line: under
 * [SECTION] a line each, NAME = VALUE (base/ini_reader.h). A switch is yes or no, an option whose
 * value may be left out takes yes for that. Each is parsed by the command's own parser of argp's,
 * so what it refuses there it refuses here, with FILE:LINE in front.
 *
 * What the command line has an option for, the file's lines of that option are not for: it wins,
 * wherever it names the file, and its list takes the place of the file's. -v and -q are one.
 *
 * A parser and its children's may use of argp's state, when they get an option, only the input;
 * their texts are argv's and the file's.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

enum {
	CONFIGURATION_BYTES_MAX = 1 << 16,
	CONFIGURATION_ERRORS_MAX = 20, /* in a file: then it is not read on */
	CONFIGURATION_OPTIONS_MAX = 128,
	CONFIGURATION_CHILDREN_MAX = 4,
};

struct configuration_form {
	const struct argp *parser; /* with its children's, of one level */
	const char *section;
	int option; /* the key of that which names the file, and takes a value */
	const int *repeatable; /* keys of options that may come more than once, up to a 0 */
};

struct configured_option {
	const struct argp_option *option;
	size_t child; /* whose it is, from 1; 0 = the parser's own */
	bool is_given; /* on the command line */
	unsigned int line; /* where the file has it first; 0 = nowhere, or it does not count */
};

struct configuration {
	const struct configuration_form *form;
	const char *path; /* argv's; NULL = none was named */
	char *text; /* of the file */
	size_t text_bytes;
	size_t option_count;
	struct configured_option options[CONFIGURATION_OPTIONS_MAX];
};

/*
 * Parses the command line, ARGP_IN_ORDER, and in front of it the file that it names, if it does.
 * input is the parser's. Once, in the caller's memory; to be deinitialized in any case, when the
 * options' texts are not needed any more. 0; -errno, logged: of the file, all that is wrong with
 * it, or ENOMEM. What an option refuses, its parser has to remember. A wrong command line ends the
 * process, as argp_parse() does.
 */
int configuration_parse(struct configuration *configuration, const struct configuration_form *form,
			int argc, char **argv, void *input);

/* Logs which of the file's lines count, if any do: options that do not go together may be there. */
void configuration_explain(const struct configuration *configuration);

void configuration_deinit(struct configuration *configuration);
