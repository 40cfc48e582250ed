/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tips of a recording's stacks (correlator/stacks.h): what the kernel side told of them lately,
 * and what their frames are called. Owned by window_stacks.h; single thread. Logs why frames of the
 * kernel have no names, once.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <correlator/stacks.h>

#include "base/cleanup.h"
#include "recorder/symbolize/kernel_symbols.h"
#include "recorder/symbolize/native_names.h"

struct stack_tips;

/* NULL: no memory. */
struct stack_tips *stack_tips_new(void);
void stack_tips_free(struct stack_tips *tips);
DEFINE_CLEANUP(struct stack_tips *, stack_tips_free);

struct stack_tip {
	const struct tip_message *message;
	const char *native; /* what its native code is called; "" = there is none to show */
	const char *native_file; /* "" = none */
	bool is_in_ruby; /* of the file that has Ruby's interpreter */
};

/*
 * Keeps what was told in that window, and what its native code was called then: NULL = that was not
 * asked for. 0; -ENOSPC: there are too many; -ENOMEM.
 */
int stack_tips_meet(struct stack_tips *tips, const struct tip_message *message,
		    const struct native_name *native, uint64_t window);

/* What was told of a tip last; lives until the next call but those below. NULL: nothing. */
const struct stack_tip *stack_tips_find(const struct stack_tips *tips, uint64_t tip);

/* As if it were told again in that window: a thread is still where it was then. */
void stack_tips_keep(struct stack_tips *tips, uint64_t tip, uint64_t window);

/* Forgets those that were told last before that window. */
void stack_tips_forget(struct stack_tips *tips, uint64_t window);

/* Whether frames of the kernel have names: its symbols are read when that is first asked. */
bool stack_tips_have_kernel(struct stack_tips *tips);

/*
 * How many of the innermost addresses of a thread that waits are of what looks at it: all above
 * __schedule() (kernel/sched/core.c, v6.18), which is where it leaves the CPU. 0: that is not
 * there.
 */
uint32_t stack_tips_count_lookers(struct stack_tips *tips, const struct tip_message *message);

/* Of the address with that number in a tip. Never empty: "[unknown]". */
void stack_tips_name_kernel(struct stack_tips *tips, const struct tip_message *message,
			    uint32_t number, char ret_name[static KERNEL_NAME_BYTES]);
