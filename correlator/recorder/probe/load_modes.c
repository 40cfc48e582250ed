/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/probe/load_modes.h"

#include <correlator/stacks.h>

#include "base/clock.h"

/* The default. */
static const struct session_options exact = { .has_kernel_split = true, .has_children = true };

size_t load_modes_basic(const struct kernel_offers *kernel,
			struct load_mode ret_modes[static LOAD_MODES_MAX])
{
	struct load_mode *mode = ret_modes;

	*mode++ = (struct load_mode){ "exact", NULL, exact };
	/* With late keys, too: together they need the longest programs. */
	*mode = (struct load_mode){ "exact with keys otel.", NULL, exact };
	mode->options.watches_otel = true;
	mode->options.late_keys = 1 << 1;
	mode++->options.request_key = 1;
	*mode = (struct load_mode){ "--lean", NULL, exact };
	mode++->options.is_lean = true;
	*mode = (struct load_mode){ "--no-kernel-split", NULL, exact };
	mode++->options.has_kernel_split = false;
	for (struct load_mode *one = ret_modes; one < mode; one++)
		one->options.kernel = kernel;
	return (size_t)(mode - ret_modes);
}

static void add_stacks(struct session_options *options)
{
	options->stacks_hz = STACKS_HZ_DEFAULT;
	options->has_native = options->has_callers = options->has_wait_stacks = true;
}

size_t load_modes_with_modules(const struct kernel_offers *kernel,
			       struct load_mode ret_modes[static LOAD_MODES_MAX])
{
	struct load_mode *all = ret_modes, *mode = ret_modes + 1;

	*all = (struct load_mode){ .name = "with --timeline, --syscalls, --io and --stall",
				   .options = exact };
	all->options.has_timeline = all->options.counts_syscalls = all->options.counts_io = true;
	all->options.stall_least_ns = NS_PER_MS;
	*mode = (struct load_mode){ "--timeline", "what each thread did, and when", exact };
	mode++->options.has_timeline = true;
	*mode = (struct load_mode){ "--syscalls", "system calls by name, and the time in them",
				    exact };
	mode++->options.counts_syscalls = true;
	*mode = (struct load_mode){ "--io", "bytes and calls by file and peer, connects, DNS",
				    exact };
	mode++->options.counts_io = true;
	*mode = (struct load_mode){ "--stall", "long waits: on what, and what ended them; hogs",
				    exact };
	mode++->options.stall_least_ns = NS_PER_MS;
	if (kernel->can_walk_stacks) {
		all->name = "with --timeline, --syscalls, --io, --stall and --stacks=off-cpu";
		add_stacks(&all->options);
		*mode = (struct load_mode){
			"--stacks=off-cpu",
			"methods, native and kernel functions, running or waiting", exact
		};
		add_stacks(&mode++->options);
	}
	for (struct load_mode *one = ret_modes; one < mode; one++)
		one->options.kernel = kernel;
	return (size_t)(mode - ret_modes);
}
