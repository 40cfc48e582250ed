/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The methods of the chosen stacks: the time of each, itself and including all that it called.
 * Recursive calls count once in the total. Borrows texts from the stacks.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/profile/stacks.h"

/* The key of a tree's node (stack_tree.h) without line and parent. */
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
	uint64_t samples; /* including all that it called */
	uint64_t open_count; /* frames of it on the path being walked */
};

struct stack_methods {
	struct stack_method *table; /* uthash: by self_ns, then total_ns, largest first */
	uint64_t seed;
};

/* After stacks_finish. 0, -ENOMEM. */
int stack_methods_init(struct stack_methods *methods, const struct stacks *stacks);
void stack_methods_deinit(struct stack_methods *methods);
