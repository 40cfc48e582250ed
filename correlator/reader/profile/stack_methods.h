/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The methods of the chosen stacks: what each one used itself, and with all that it called. One
 * that calls itself counts once in its total. Borrows texts from the stacks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/profile/stacks.h"

/* As frames are told apart in a tree (stack_tree.h), line and callers apart. */
struct stack_method_key {
	const struct frames_text *name;
	const struct frames_text *file; /* NULL: not known */
	uint32_t kind; /* enum frame_kind */
	uint32_t first_line; /* 0: not known */
};

struct stack_method {
	UT_hash_handle hh;
	struct stack_method_key key;
	int64_t self_ns;
	int64_t total_ns;
	uint64_t self_samples;
	uint64_t samples; /* as total_ns */
	uint64_t open_count; /* frames of it among the callers of what is being looked at */
};

struct stack_methods {
	struct stack_method *table; /* uthash: the most self first, then total */
	uint64_t seed;
};

/* After stacks_finish. 0, -ENOMEM. */
int stack_methods_init(struct stack_methods *methods, const struct stacks *stacks);
void stack_methods_deinit(struct stack_methods *methods);
