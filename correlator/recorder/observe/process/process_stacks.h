/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The stack frames of one observed process (observed.h): their layout, and their names.
 * Zero-initialized. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/ruby_stack_layout.h>
#include <correlator/stacks.h>

#include "recorder/symbolize/frame_names.h"
#include "recorder/symbolize/native_callers.h"
#include "recorder/symbolize/native_names.h"
#include "recorder/target/target.h"

struct process_stacks {
	bool has_layout;
	bool is_given_up; /* the layout is no longer searched for */
	unsigned int looks;
	uint64_t next_look_ns; /* CLOCK_MONOTONIC */
	struct ruby_stack_layout layout;
	struct memory_reader reader;
	const struct ruby_symbols *symbols; /* that names was created with */
	struct frame_names *names; /* NULL = not needed yet */
	struct native_process *native; /* names of native code; NULL = not needed yet */
};

/*
 * Searches for the layout of the frames, if it is unknown and a search is due. 1: found; 0; -errno:
 * it will not be found, and ret_report says why (unless there was nothing to inspect).
 */
int process_stacks_look(struct process_stacks *stacks, const struct target *target, pid_t pid,
			uint64_t now_ns, struct ruby_stack_report *ret_report);

/* A forked child has the layout of its parent. */
void process_stacks_inherit(struct process_stacks *child, const struct process_stacks *parent);

/*
 * Begins to name the frames of a stack by stacks->names; ret_sighting borrows message. symbols:
 * NULL = none. 0 or -ENOMEM.
 */
int process_stacks_meet(struct process_stacks *stacks, pid_t pid, struct ruby_symbols *symbols,
			const struct stack_message *message, struct stack_sighting *ret_sighting);

/*
 * Names the code at an address of the process, as native_names_find(). may_read: files may be read
 * for that. Without memory the name is FRAME_UNKNOWN.
 */
void process_stacks_name_native(struct process_stacks *stacks, struct native_names *names,
				pid_t pid, uint64_t address, uint64_t now_ns, bool may_read,
				struct native_name *ret_name);

/* The file that an address is in, as native_names_place(); reads nothing. -ENOMEM, too. */
int process_stacks_place_native(struct process_stacks *stacks, struct native_names *names,
				pid_t pid, uint64_t address, struct native_place *ret_place);

/* Finds the native frames of a thread, as native_callers_find(). Without memory there are none. */
void process_stacks_find_callers(struct process_stacks *stacks, struct native_callers *callers,
				 pid_t pid, const struct user_stack *stack, uint64_t now_ns,
				 bool may_read, struct native_frames *ret_frames);

/* Call after an exec, and at the end. */
void process_stacks_forget(struct process_stacks *stacks);
