/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The native functions that called each other, from a copy of the top of a thread's stack: unwound
 * by the rules of the files that the code is in (unwind_frame.h), up to Ruby's interpreter. One
 * object for all processes, with a cache of rules; owned by the code that names its stacks; single
 * thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/user_stack.h>

#include "base/cleanup.h"
#include "recorder/symbolize/native_names.h"

enum {
	NATIVE_FRAMES_MAX = 64,
	NATIVE_RULES_MAX = 16384, /* in the cache, of 500 bytes each; one more empties it */
};

struct native_callers;

/* names: borrowed. NULL: out of memory. */
struct native_callers *native_callers_new(struct native_names *names);
void native_callers_free(struct native_callers *callers);
DEFINE_CLEANUP(struct native_callers *, native_callers_free);

/* How the frames end. */
enum native_end {
	NATIVE_END_WHOLE, /* at the thread's outermost function, or where Ruby called */
	NATIVE_END_CUT, /* the copy, a rule or NATIVE_FRAMES_MAX did not reach further */
	NATIVE_END_GENERATED, /* at code that is in no file */
};

struct native_frames {
	uint64_t addresses[NATIVE_FRAMES_MAX]; /* to name; the innermost first */
	size_t count; /* at least 1: where the thread is */
	enum native_end end;
};

/*
 * Finds the frames of a thread of the process. If the thread is in Ruby's interpreter, that is the
 * only frame; otherwise frames of the interpreter are none. now_ns, may_read: as
 * native_names_find().
 */
void native_callers_find(struct native_callers *callers, struct native_process *process,
			 const struct user_stack *stack, uint64_t now_ns, bool may_read,
			 struct native_frames *ret_frames);
