/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/stack_methods.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"
#include "reader/profile/stack_tree.h"

static int find(struct stack_methods *methods, const struct stack_node *node,
		struct stack_method **ret_method)
{
	const struct stack_method_key key = { .name = node->key.name,
					      .file = node->key.file,
					      .kind = node->key.kind,
					      .first_line = node->key.first_line };
	unsigned int hash = hash_table_key(methods->seed, &key, sizeof(key));
	struct stack_method *method;

	HASH_FIND_BYHASHVALUE(hh, methods->table, &key, sizeof(key), hash, method);
	*ret_method = method;
	if (method)
		return 0;
	method = calloc(1, sizeof(*method));
	if (!method)
		return -ENOMEM;
	method->key = key;
	HASH_ADD_BYHASHVALUE(hh, methods->table, key, sizeof(key), hash, method);
	if (!method->hh.tbl) {
		free(method);
		return -ENOMEM;
	}
	*ret_method = method;
	return 0;
}

static void enter(struct stack_method *method, const struct stack_node *node)
{
	saturated_add_to(&method->self_ns, node->self_ns);
	method->self_samples += node->self_samples;
	if (method->open_count++ > 0)
		return;
	saturated_add_to(&method->total_ns, node->total_ns);
	method->samples += node->samples;
}

static int compare(const struct stack_method *a, const struct stack_method *b)
{
	int order = compare_i64(b->self_ns, a->self_ns);

	return order ? order : compare_i64(b->total_ns, a->total_ns);
}

static int add_all(struct stack_methods *methods, const struct stack_tree *tree)
{
	/* Methods of the node and its callers, by depth. */
	struct stack_method *open[FRAMES_DEPTH_MAX];
	const struct stack_node *node = NULL;
	size_t depth = 0;
	int r;

	while ((node = stack_tree_next(tree, node))) {
		while (depth >= node->depth)
			open[--depth]->open_count--;
		r = find(methods, node, &open[depth]);
		if (r < 0)
			return r;
		enter(open[depth++], node);
	}
	return 0;
}

int stack_methods_init(struct stack_methods *methods, const struct stacks *stacks)
{
	const struct stack_shape top_down = { 0 };
	struct stack_tree tree;
	int r = stack_tree_init(&tree, stacks, &top_down);

	*methods = (struct stack_methods){ .seed = random_seed() };
	if (r == 0)
		r = add_all(methods, &tree);
	if (r == 0)
		HASH_SORT(methods->table, compare);
	stack_tree_deinit(&tree);
	return r;
}

void stack_methods_deinit(struct stack_methods *methods)
{
	struct stack_method *method, *next;

	HASH_ITER(hh, methods->table, method, next) {
		HASH_DELETE(hh, methods->table, method);
		free(method);
	}
	*methods = (struct stack_methods){ 0 };
}
