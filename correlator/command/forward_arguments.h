/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The options of sending to collectors, which `record` and `forward` share: a child parser for
 * argp, whose input is a struct forward_arguments.
 */
#pragma once

#include <argp.h>
#include <stdbool.h>

#include "recorder/forward/forwarding.h"

struct forward_arguments {
	struct forwarding_options options; /* texts are argv's */
	const char *first_option; /* that was given besides URLs; NULL = none */
	bool is_failed; /* an option was refused, and said why */
};

/* The defaults. */
void forward_arguments_init(struct forward_arguments *arguments);

/* Adds one collector: 0, or -EINVAL, logged. */
int forward_arguments_add_url(struct forward_arguments *arguments, const char *text);

/* To be a child of the command's parser, in the group of that number. */
extern const struct argp forward_arguments_argp;

/* What fits together only as a whole: 0, or -EINVAL, logged. */
int forward_arguments_check(const struct forward_arguments *arguments);
