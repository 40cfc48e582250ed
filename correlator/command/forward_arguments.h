/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options for sending to collectors, shared by `record` and `forward`: a child parser for argp,
 * whose input is a struct forward_arguments.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "recorder/forward/forwarding.h"

struct forward_arguments {
	struct forwarding_options options; /* texts are borrowed from argv */
	const char *first_option; /* given besides URLs; NULL = none */
	bool is_failed; /* an option was refused; the reason was logged */
};

/* Sets the defaults. */
void forward_arguments_init(struct forward_arguments *arguments);

/* Adds one collector: 0, or -EINVAL, logged. */
int forward_arguments_add_url(struct forward_arguments *arguments, const char *text);

/* The parser, to be a child of the command's. */
extern const struct argp forward_arguments_argp;

/* Checks options that depend on each other: 0, or -EINVAL, logged. */
int forward_arguments_check(const struct forward_arguments *arguments);
