/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a register or a word of memory holds while code is traced (x86_trace.h), in terms of what
 * the code was given: a sum of at most two things that are not known, each times a number, and of a
 * constant. A thing is a node: an argument, what was loaded from such a sum, what the loader put
 * somewhere. Equal ones are one node, so values are compared by their fields. Bounded; pure; single
 * thread; does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CODE_NODES_MAX = 1024, /* an accessor of Ruby's makes some dozens */
	CODE_TERMS_MAX = 2,
	CODE_FACTOR_MAX = 4096,
};

enum code_node_kind {
	CODE_NODE_UNKNOWN = 0, /* number: the instruction that made it */
	CODE_NODE_ARGUMENT = 1, /* number: 0 = the first */
	CODE_NODE_STACK = 2, /* the stack pointer at the start */
	CODE_NODE_THREAD = 3, /* the thread pointer */
	CODE_NODE_TLS = 4, /* number: address of the slot that the loader made it of */
	CODE_NODE_LOAD = 5, /* number: bytes; of: the address */
	CODE_NODE_SHIFTED = 6, /* number: bits to the right; of: what */
	CODE_NODE_MASKED = 7, /* number: the mask; of: what */
};

struct code_term {
	uint32_t node; /* 0 = no term */
	int32_t factor;
};

/* Terms in the order of their nodes, those without a node behind. */
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
	struct code_node list[CODE_NODES_MAX]; /* 0 is none, 1 what there was no room for */
	uint32_t count;
};

void code_nodes_init(struct code_nodes *nodes);

/* The value that is this node alone; of: NULL = none. */
struct code_value code_value_node(struct code_nodes *nodes, enum code_node_kind kind,
				  uint64_t number, const struct code_value *of);
static inline struct code_value code_value_constant(int64_t constant)
{
	return (struct code_value){ .constant = constant };
}

/* False: there are more than two terms, or larger factors than any array has. */
bool code_value_add(const struct code_value *a, const struct code_value *b,
		    struct code_value *ret_sum);
bool code_value_multiply(const struct code_value *value, int64_t factor,
			 struct code_value *ret_product);
static inline bool code_value_is_constant(const struct code_value *value)
{
	return value->terms[0].node == 0;
}
bool code_value_equal(const struct code_value *a, const struct code_value *b);

/* What the value is, if it is one node and nothing else; else NULL. */
const struct code_node *code_value_single(const struct code_nodes *nodes,
					  const struct code_value *value);
/*
 * True if the value was loaded from a constant behind another value without one: base[offset].
 * width in bytes.
 */
bool code_value_is_load(const struct code_nodes *nodes, const struct code_value *value,
			struct code_value *ret_base, int64_t *ret_offset, uint64_t *ret_width);
