/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbolic value of a register or a memory word while code is traced (x86_trace.h), in terms of
 * the code's inputs: a sum of at most two unknowns, each times a factor, and a constant. An unknown
 * is a node: an argument, a word loaded from such a sum, or a value that the loader provides. Equal
 * unknowns share one node, so values are compared by their fields. Bounded; pure; single thread;
 * does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CODE_NODES_MAX = 1024, /* a Ruby accessor makes a few dozen */
	CODE_TERMS_MAX = 2,
	CODE_FACTOR_MAX = 4096,
};

enum code_node_kind {
	CODE_NODE_UNKNOWN = 0, /* number: the instruction that made it */
	CODE_NODE_ARGUMENT = 1, /* number: 0 = the first */
	CODE_NODE_STACK = 2, /* the stack pointer at the start */
	CODE_NODE_THREAD = 3, /* the thread pointer */
	CODE_NODE_TLS = 4, /* number: address of the slot that the loader filled for it */
	CODE_NODE_LOAD = 5, /* number: width in bytes; of: the address */
	CODE_NODE_SHIFTED = 6, /* number: right shift in bits; of: the shifted value */
	CODE_NODE_MASKED = 7, /* number: the mask; of: the masked value */
};

struct code_term {
	uint32_t node; /* 0 = no term */
	int32_t factor;
};

/* Terms are sorted by node; empty terms come last. */
struct code_value {
	struct code_term terms[CODE_TERMS_MAX];
	int64_t constant;
};

struct code_node {
	enum code_node_kind kind;
	uint64_t number;
	struct code_value of;
};

struct code_nodes {
	struct code_node list[CODE_NODES_MAX]; /* 0 = none, 1 = any node that did not fit */
	uint32_t count;
};

void code_nodes_init(struct code_nodes *nodes);

/* The value that consists of this node alone; of: NULL = none. */
struct code_value code_value_node(struct code_nodes *nodes, enum code_node_kind kind,
				  uint64_t number, const struct code_value *of);
static inline struct code_value code_value_constant(int64_t constant)
{
	return (struct code_value){ .constant = constant };
}

/*
 * False: more than CODE_TERMS_MAX terms, or a factor above CODE_FACTOR_MAX: no array has such large
 * elements.
 */
bool code_value_add(const struct code_value *a, const struct code_value *b,
		    struct code_value *ret_sum);
bool code_value_multiply(const struct code_value *value, int64_t factor,
			 struct code_value *ret_product);
static inline bool code_value_is_constant(const struct code_value *value)
{
	return value->terms[0].node == 0;
}
bool code_value_equal(const struct code_value *a, const struct code_value *b);

/* Returns the node if the value is one node and nothing else; else NULL. */
const struct code_node *code_value_single(const struct code_nodes *nodes,
					  const struct code_value *value);
/*
 * True if the value was loaded from base[offset]: *ret_offset is the constant of the address,
 * *ret_base the address without it. *ret_width in bytes.
 */
bool code_value_is_load(const struct code_nodes *nodes, const struct code_value *value,
			struct code_value *ret_base, int64_t *ret_offset, uint64_t *ret_width);
