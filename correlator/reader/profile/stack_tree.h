/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The chosen stacks as one tree. Top-down, callers are above the frames they call; bottom-up, the
 * innermost frames are the roots and their callers are below them. Frames of one method (name,
 * file, first line and kind) with the same parent share a node, or one node per line (is_by_line).
 * The kernel's innermost frames of waits are left out: all waits end in its scheduler. Borrows
 * texts from the stacks.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/profile/stacks.h"

enum {
	STACK_TREE_NODES_MAX =
		4000000, /* about 170 bytes each; bottom-up, further callers are cut */
};

struct stack_shape {
	bool is_bottom_up;
	bool is_by_line;
	bool folds_recursion; /* consecutive frames of a method share one node */
};

struct stack_node_key {
	struct stack_node *parent; /* NULL: a root */
	const struct frames_text *name;
	const struct frames_text *file; /* NULL: not known */
	uint32_t kind; /* enum frame_kind */
	uint32_t first_line; /* 0 = not known */
	uint32_t line; /* 0 = not known, or not by line */
	uint32_t reserved; /* 0 */
};

struct stack_node {
	UT_hash_handle hh;
	struct stack_node_key key;
	struct stack_node *children; /* largest total_ns first */
	struct stack_node *next; /* next sibling */
	int64_t self_ns; /* stacks that end here; bottom-up: with this as outermost frame */
	int64_t total_ns; /* self_ns of this node and all below it */
	uint64_t self_samples;
	uint64_t samples; /* of this node and all below it */
	uint32_t depth; /* from 1 */
	uint32_t least_repeats; /* fewest consecutive frames of a stack folded into this node */
	uint32_t most_repeats; /* most such frames; 1: no recursion; 0: top-down, not folded */
	uint32_t number; /* in order of creation, from 1; lower than those of its children */
};

struct stack_tree {
	struct stack_node *nodes; /* uthash, each after its parent */
	struct stack_node *roots;
	uint64_t cut_count; /* stacks cut at STACK_TREE_NODES_MAX (bottom-up only) */
	uint64_t seed;
};

/* After stacks_finish. 0, -ENOMEM. */
int stack_tree_init(struct stack_tree *tree, const struct stacks *stacks,
		    const struct stack_shape *shape);
void stack_tree_deinit(struct stack_tree *tree);

/* Iterates the nodes in preorder, siblings by total_ns, largest first: cursor starts at NULL; NULL
 * at the end. */
const struct stack_node *stack_tree_next(const struct stack_tree *tree,
					 const struct stack_node *cursor);
