/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/stack_tree.h"

#include <errno.h>
#include <stdlib.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"
#include "reader/profile/stack_sums.h"

static int find_node(struct stack_tree *tree, const struct stack_shape *shape,
		     struct stack_node *parent, const struct frame *frame,
		     struct stack_node **ret_node)
{
	const struct stack_node_key key = { .parent = parent,
					    .name = frame->name,
					    .file = frame->file,
					    .kind = (uint32_t)frame->kind,
					    .first_line = frame->first_line,
					    .line = shape->is_by_line ? frame->line : 0 };
	unsigned int hash = hash_table_key(tree->seed, &key, sizeof(key));
	struct stack_node *node;

	HASH_FIND_BYHASHVALUE(hh, tree->nodes, &key, sizeof(key), hash, node);
	*ret_node = node;
	if (node)
		return 0;
	node = calloc(1, sizeof(*node));
	if (!node)
		return -ENOMEM;
	node->key = key;
	node->depth = parent ? parent->depth + 1 : 1;
	HASH_ADD_BYHASHVALUE(hh, tree->nodes, key, sizeof(key), hash, node);
	if (!node->hh.tbl) {
		free(node);
		return -ENOMEM;
	}
	node->number = (uint32_t)HASH_COUNT(tree->nodes);
	*ret_node = node;
	return 0;
}

/* Whether the frame repeats the node's method, so that it folds into the node. */
static bool is_folded(const struct stack_shape *shape, const struct stack_node *node,
		      const struct frame *frame)
{
	return shape->folds_recursion && node && node->key.name == frame->name &&
	       node->key.file == frame->file && node->key.kind == (uint32_t)frame->kind &&
	       node->key.first_line == frame->first_line;
}

static void note_repeats(struct stack_node *node, uint32_t repeats)
{
	if (repeats > node->most_repeats)
		node->most_repeats = repeats;
	if (node->least_repeats == 0 || repeats < node->least_repeats)
		node->least_repeats = repeats;
}

/* Notes for each node on a stack's path how many consecutive frames it stands for. */
static void note_all_repeats(const struct frame *frame, struct stack_node *const *nodes)
{
	while (frame) {
		struct stack_node *node = nodes[frame->number];
		uint32_t repeats = 0;

		for (; frame && nodes[frame->number] == node; frame = frame->parent)
			repeats++;
		note_repeats(node, repeats);
	}
}

/* Finds or adds the frame's node, below those of its callers. nodes: by number, the node of each
 * frame visited so far. path: room for one chain. Adds at most one node per frame, so needs no
 * limit. */
static int add_callers_first(struct stack_tree *tree, const struct stack_shape *shape,
			     const struct frame *frame, struct stack_node **nodes,
			     const struct frame **path, struct stack_node **ret_node)
{
	struct stack_node *node = NULL;
	size_t count = 0;
	int r = 0;

	for (; frame && !nodes[frame->number]; frame = frame->parent)
		path[count++] = frame;
	if (frame)
		node = nodes[frame->number];
	while (count-- > 0 && r == 0) {
		if (!is_folded(shape, node, path[count]))
			r = find_node(tree, shape, node, path[count], &node);
		nodes[path[count]->number] = node;
	}
	*ret_node = node;
	return r;
}

/* Finds or adds the nodes of frame and its callers, callers below. Returns the node of the
 * outermost caller, or of the last one below STACK_TREE_NODES_MAX. */
static int add_callers_last(struct stack_tree *tree, const struct stack_shape *shape,
			    const struct frame *frame, struct stack_node **ret_node)
{
	struct stack_node *node = NULL;
	uint32_t repeats = 1;
	int r = 0;

	for (; frame && r == 0; frame = frame->parent) {
		if (is_folded(shape, node, frame)) {
			repeats++;
			continue;
		}
		if (node && HASH_COUNT(tree->nodes) >= STACK_TREE_NODES_MAX) {
			tree->cut_count++;
			break;
		}
		if (node)
			note_repeats(node, repeats);
		repeats = 1;
		r = find_node(tree, shape, node, frame, &node);
	}
	if (node)
		note_repeats(node, repeats);
	*ret_node = node;
	return r;
}

static int compare(const struct stack_node *a, const struct stack_node *b)
{
	return compare_i64(b->total_ns, a->total_ns);
}

/* Each node comes after its parent in the list: backwards, a node's children are summed before
 * it. */
static void sum_up(struct stack_tree *tree)
{
	struct stack_node *node = tree->nodes;

	while (node && node->hh.next)
		node = node->hh.next;
	for (; node; node = node->hh.prev) {
		struct stack_node *parent = node->key.parent;

		saturated_add_to(&node->total_ns, node->self_ns);
		node->samples += node->self_samples;
		LL_SORT(node->children, compare);
		if (!parent) {
			LL_PREPEND(tree->roots, node);
			continue;
		}
		saturated_add_to(&parent->total_ns, node->total_ns);
		parent->samples += node->samples;
		LL_PREPEND(parent->children, node);
	}
	LL_SORT(tree->roots, compare);
}

/* Adds the sum of a stack to the node in which the stack ends. */
static int add_stack(struct stack_tree *tree, const struct stack_shape *shape,
		     const struct frame *frame, const struct stack_sum *sum,
		     struct stack_node **nodes, const struct frame **path)
{
	struct stack_node *node;
	int r = shape->is_bottom_up ? add_callers_last(tree, shape, frame, &node)
				    : add_callers_first(tree, shape, frame, nodes, path, &node);

	if (r < 0)
		return r;
	if (shape->folds_recursion && !shape->is_bottom_up)
		note_all_repeats(frame, nodes);
	saturated_add_to(&node->self_ns, sum->spent_ns);
	node->self_samples += sum->samples;
	return 0;
}

int stack_tree_init(struct stack_tree *tree, const struct stacks *stacks,
		    const struct stack_shape *shape)
{
	_cleanup_free_ struct stack_node **nodes =
		calloc(stacks->frames.number_count, sizeof(struct stack_node *));
	_cleanup_free_ const struct frame **path = calloc(FRAMES_DEPTH_MAX, sizeof(struct frame *));
	_cleanup_(stack_sums_deinit) struct stack_sums sums;
	const struct stack_sum *sum = NULL;
	int r = stack_sums_init(&sums, stacks);

	*tree = (struct stack_tree){ .seed = random_seed() };
	if (r < 0 || !nodes || !path)
		return -ENOMEM;
	stack_sums_add_all(&sums, stacks);
	while (r == 0 && (sum = stack_sums_next(&sums, sum)))
		r = add_stack(tree, shape, stacks_shown_frame(stacks->measure, sum->frame), sum,
			      nodes, path);
	if (r == 0)
		sum_up(tree);
	return r;
}

const struct stack_node *stack_tree_next(const struct stack_tree *tree,
					 const struct stack_node *cursor)
{
	if (!cursor)
		return tree->roots;
	if (cursor->children)
		return cursor->children;
	while (cursor && !cursor->next)
		cursor = cursor->key.parent;
	return cursor ? cursor->next : NULL;
}

void stack_tree_deinit(struct stack_tree *tree)
{
	struct stack_node *node, *next;

	HASH_ITER(hh, tree->nodes, node, next) {
		HASH_DELETE(hh, tree->nodes, node);
		free(node);
	}
	*tree = (struct stack_tree){ 0 };
}
