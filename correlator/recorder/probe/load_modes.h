/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ways to record, each with different kernel programs, to check whether a kernel accepts them
 * (`doctor`, tests/kernels/load_modes.c). Pure.
 */
#pragma once

#include <stddef.h>

#include "recorder/probe/features.h"
#include "recorder/probe/session.h"

struct load_mode {
	const char *name; /* static, as a user would ask for it: "--lean" */
	const char *adds; /* static: the data that it adds to a recording; NULL: no module */
	struct session_options options; /* its kernel is borrowed */
};

enum {
	LOAD_MODES_MAX = 6
};

/* Writes the modes without modules to ret_modes; returns their number. */
size_t load_modes_basic(const struct kernel_offers *kernel,
			struct load_mode ret_modes[static LOAD_MODES_MAX]);

/*
 * Writes the modes with modules (--timeline, --syscalls, --io, --stall, --stacks as far as the
 * kernel can walk stacks): first all modules together, then each alone. Returns their number, at
 * least 2.
 */
size_t load_modes_with_modules(const struct kernel_offers *kernel,
			       struct load_mode ret_modes[static LOAD_MODES_MAX]);
