/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The chosen stacks as one tree. Top-down has callers above what they call; bottom-up has what ran
 * at the top, and what called it below. Frames of the same method (name, file, first line and kind)
 * with the same one above them are one node, whatever the line, or by line. Of waits the kernel's
 * frames are left out: all of them end in its scheduler. Borrows texts from the stacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/profile/stacks.h"

enum {
	STACK_TREE_NODES_MAX = 4000000, /* some 170 bytes each; further callers are left out */
};

struct stack_shape {
	bool is_bottom_up;
	bool is_by_line;
	bool folds_recursion; /* a method that calls itself is one node with its callers of that
				 name */
};

struct stack_node_key {
	struct stack_node *parent; /* NULL: a root */
	const struct frames_text *name;
	const struct frames_text *file; /* NULL: not known */
	uint32_t kind; /* enum frame_kind */
	uint32_t first_line; /* these are 0 when not known */
	uint32_t line; /* also 0 when not by line */
	uint32_t reserved; /* 0 */
};

struct stack_node {
	UT_hash_handle hh;
	struct stack_node_key key;
	struct stack_node *children; /* the most CPU first */
	struct stack_node *next; /* of the same parent */
	int64_t self_ns; /* of stacks that end here: bottom-up those that nothing else called */
	int64_t total_ns; /* with all below it */
	uint64_t self_samples;
	uint64_t samples; /* as total_ns */
	uint32_t depth; /* from 1 */
	uint32_t least_repeats; /* of what calls itself, folded: in the shallowest of its stacks, */
	uint32_t most_repeats; /* and in the deepest; else 0 */
	uint32_t number; /* in order of appearance, from 1: a parent's is less */
};

struct stack_tree {
	struct stack_node *nodes; /* uthash, each behind its parent */
	struct stack_node *roots;
	uint64_t cut_count; /* stacks whose further callers found no room (bottom-up only) */
	uint64_t seed;
};

/* After stacks_finish. 0, -ENOMEM. */
int stack_tree_init(struct stack_tree *tree, const struct stacks *stacks,
		    const struct stack_shape *shape);
void stack_tree_deinit(struct stack_tree *tree);

/* Each node, a parent before its children, the most CPU first: starts at NULL; NULL at the end. */
const struct stack_node *stack_tree_next(const struct stack_tree *tree,
					 const struct stack_node *cursor);
