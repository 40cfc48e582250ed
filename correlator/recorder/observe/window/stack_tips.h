/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tips of a recording's stacks (correlator/stacks.h): what the kernel side reported about them
 * lately, and the names of their frames. Owned by window_stacks.h; single thread. Logs, once, why
 * frames of the kernel have no names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/stacks.h>

#include "base/cleanup.h"
#include "recorder/symbolize/kernel_symbols.h"
#include "recorder/symbolize/native_callers.h"
#include "recorder/symbolize/native_names.h"

struct stack_tips;

/* NULL: no memory. */
struct stack_tips *stack_tips_new(void);
void stack_tips_free(struct stack_tips *tips);
DEFINE_CLEANUP(struct stack_tips *, stack_tips_free);

/* A native function. */
struct tip_native {
	const char *name; /* "" = not to show */
	const char *file; /* "" = none */
	bool is_ruby; /* in the file with Ruby's interpreter, or generated */
};

struct stack_tip {
	const struct tip_message *message; /* without its stack */
	const struct tip_native *natives; /* the innermost first */
	size_t native_count;
	enum native_end end; /* of natives */
};

/* The native functions of a tip, as they are called now, the innermost first. */
struct tip_names {
	const struct native_name *names;
	size_t count;
	enum native_end end;
};

/* Stores a message of this window. 0; -ENOSPC: too many tips; -ENOMEM. */
int stack_tips_meet(struct stack_tips *tips, const struct tip_message *message,
		    const struct tip_names *natives, uint64_t window);

/* Last message about a tip, valid until stack_tips_meet() or stack_tips_forget(). NULL: none. */
const struct stack_tip *stack_tips_find(const struct stack_tips *tips, uint64_t tip);

/* Keeps a tip as if it were reported again in window: a thread is still there. */
void stack_tips_keep(struct stack_tips *tips, uint64_t tip, uint64_t window);

/* Drops tips that were last reported before window. */
void stack_tips_forget(struct stack_tips *tips, uint64_t window);

/* True if frames of the kernel have names. Reads the kernel's symbols when first called. */
bool stack_tips_have_kernel(struct stack_tips *tips);

/*
 * How many of the innermost addresses of a waiting thread belong to the code that observes it: all
 * above __schedule() (kernel/sched/core.c, v6.18), where it leaves the CPU. 0: __schedule() is not
 * there.
 */
uint32_t stack_tips_count_lookers(struct stack_tips *tips, const struct tip_message *message);

/* The name of address `number` in a tip. Never empty: "[unknown]". */
void stack_tips_name_kernel(struct stack_tips *tips, const struct tip_message *message,
			    uint32_t number, char ret_name[static KERNEL_NAME_BYTES]);
