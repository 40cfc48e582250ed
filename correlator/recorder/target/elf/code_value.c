/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/elf/code_value.h"

#include <string.h>

enum {
	NODE_NONE = 0,
	NODE_NO_ROOM = 1
};

void code_nodes_init(struct code_nodes *nodes)
{
	nodes->list[NODE_NONE] = (struct code_node){ .kind = CODE_NODE_UNKNOWN };
	nodes->list[NODE_NO_ROOM] = (struct code_node){ .kind = CODE_NODE_UNKNOWN };
	nodes->count = NODE_NO_ROOM + 1;
}

bool code_value_equal(const struct code_value *a, const struct code_value *b)
{
	for (size_t i = 0; i < CODE_TERMS_MAX; i++)
		if (a->terms[i].node != b->terms[i].node ||
		    a->terms[i].factor != b->terms[i].factor)
			return false;
	return a->constant == b->constant;
}

static uint32_t find_or_add(struct code_nodes *nodes, const struct code_node *wanted)
{
	for (uint32_t i = NODE_NO_ROOM + 1; i < nodes->count; i++) {
		const struct code_node *node = &nodes->list[i];

		if (node->kind == wanted->kind && node->number == wanted->number &&
		    code_value_equal(&node->of, &wanted->of))
			return i;
	}
	if (nodes->count == CODE_NODES_MAX)
		return NODE_NO_ROOM;
	nodes->list[nodes->count] = *wanted;
	return nodes->count++;
}

struct code_value code_value_node(struct code_nodes *nodes, enum code_node_kind kind,
				  uint64_t number, const struct code_value *of)
{
	struct code_node node = { .kind = kind, .number = number };

	if (of)
		node.of = *of;
	return (struct code_value){ .terms[0] = { find_or_add(nodes, &node), 1 } };
}

/* Adds a term to a value. False: it would be one term too many. */
static bool add_term(struct code_value *value, struct code_term term)
{
	struct code_term *terms = value->terms;

	for (size_t i = 0; i < CODE_TERMS_MAX; i++) {
		if (terms[i].node != term.node)
			continue;
		terms[i].factor += term.factor;
		if (terms[i].factor == 0) {
			memmove(&terms[i], &terms[i + 1],
				(CODE_TERMS_MAX - 1 - i) * sizeof(terms[0]));
			terms[CODE_TERMS_MAX - 1] = (struct code_term){ 0 };
		}
		return true;
	}
	if (terms[CODE_TERMS_MAX - 1].node)
		return false;
	if (terms[0].node && terms[0].node < term.node) {
		terms[1] = term;
	} else {
		terms[1] = terms[0];
		terms[0] = term;
	}
	return true;
}

static bool has_small_factors(const struct code_value *value)
{
	for (size_t i = 0; i < CODE_TERMS_MAX; i++)
		if (value->terms[i].factor < -CODE_FACTOR_MAX ||
		    value->terms[i].factor > CODE_FACTOR_MAX)
			return false;
	return true;
}

bool code_value_add(const struct code_value *a, const struct code_value *b,
		    struct code_value *ret_sum)
{
	struct code_value sum = *a;

	for (size_t i = 0; i < CODE_TERMS_MAX; i++)
		if (b->terms[i].node && !add_term(&sum, b->terms[i]))
			return false;
	sum.constant = (int64_t)((uint64_t)a->constant + (uint64_t)b->constant);
	if (!has_small_factors(&sum))
		return false;
	*ret_sum = sum;
	return true;
}

bool code_value_multiply(const struct code_value *value, int64_t factor,
			 struct code_value *ret_product)
{
	struct code_value product = *value;

	if (factor < -CODE_FACTOR_MAX || factor > CODE_FACTOR_MAX)
		return false;
	if (factor == 0)
		product = (struct code_value){ 0 };
	for (size_t i = 0; i < CODE_TERMS_MAX; i++)
		product.terms[i].factor *= (int32_t)factor;
	product.constant = (int64_t)((uint64_t)value->constant * (uint64_t)factor);
	if (!has_small_factors(&product))
		return false;
	*ret_product = product;
	return true;
}

const struct code_node *code_value_single(const struct code_nodes *nodes,
					  const struct code_value *value)
{
	const struct code_term *terms = value->terms;

	if (!terms[0].node || terms[0].factor != 1 || terms[1].node || value->constant)
		return NULL;
	return &nodes->list[terms[0].node];
}

bool code_value_is_load(const struct code_nodes *nodes, const struct code_value *value,
			struct code_value *ret_base, int64_t *ret_offset, uint64_t *ret_width)
{
	const struct code_node *node = code_value_single(nodes, value);

	if (!node || node->kind != CODE_NODE_LOAD)
		return false;
	*ret_base = node->of;
	ret_base->constant = 0;
	*ret_offset = node->of.constant;
	*ret_width = node->number;
	return true;
}
