/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of one observed process: where they are, and what they are called. Part of what is
 * observed (observed.h), zeroed at first. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/ruby_stack_layout.h>
#include <correlator/stacks.h>

#include "recorder/symbolize/frame_names.h"
#include "recorder/symbolize/native_names.h"
#include "recorder/target/target.h"

struct process_stacks {
	bool has_layout;
	bool is_given_up; /* no layout will be looked for any more */
	unsigned int looks;
	uint64_t next_look_ns; /* CLOCK_MONOTONIC */
	struct ruby_stack_layout layout;
	struct memory_reader reader;
	const struct ruby_symbols *symbols; /* that names were made with */
	struct frame_names *names; /* NULL = none was asked for yet */
	struct native_process *native; /* the same of native code */
};

/*
 * Looks where the frames are, if it is time to and it is not known yet. 1: that was found; 0;
 * -errno: they will not be found, and ret_report says why (not if there was nothing to look at).
 */
int process_stacks_look(struct process_stacks *stacks, const struct target *target, pid_t pid,
			uint64_t now_ns, struct ruby_stack_report *ret_report);

/* A forked child has them where its parent does. */
void process_stacks_inherit(struct process_stacks *child, const struct process_stacks *parent);

/*
 * Begins to name a stack's frames, by names, with what was met, which is borrowed. symbols: NULL =
 * none. 0 or -ENOMEM.
 */
int process_stacks_meet(struct process_stacks *stacks, pid_t pid, struct ruby_symbols *symbols,
			const struct stack_message *message, struct stack_sighting *ret_sighting);

/*
 * What has the code at an address of the process, and whether files may be read for that, as
 * native_names_find() does it. Without memory it is FRAME_UNKNOWN.
 */
void process_stacks_name_native(struct process_stacks *stacks, struct native_names *names,
				pid_t pid, uint64_t address, bool may_read,
				struct native_name *ret_name);

/* After an exec, and at the end. */
void process_stacks_forget(struct process_stacks *stacks);
