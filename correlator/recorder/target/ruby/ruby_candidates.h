/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The possible values of each field of a layout (correlator/ruby_stack_layout.h), as far as a
 * process shows them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/ruby_stack_layout.h>

enum {
	RUBY_CANDIDATES_MAX = 4, /* more candidates count as none */
	/* Number of __u32 in a layout, from gc_flags_mask on. */
	RUBY_LAYOUT_FIELDS = (sizeof(struct ruby_stack_layout) -
			      offsetof(struct ruby_stack_layout, gc_flags_mask)) /
			     sizeof(uint32_t),
};

/* Index of a field among the __u32 of the layout. */
#define RUBY_LAYOUT_FIELD(name)                                \
	((offsetof(struct ruby_stack_layout, name) -           \
	  offsetof(struct ruby_stack_layout, gc_flags_mask)) / \
	 sizeof(uint32_t))

/* The possible values of a field, usually one. count 0: nothing is known of the field. */
struct ruby_candidates {
	uint32_t count; /* may exceed RUBY_CANDIDATES_MAX */
	uint32_t values[RUBY_CANDIDATES_MAX];
};

/* True if there are candidates, and at most RUBY_CANDIDATES_MAX. */
bool ruby_candidates_tell(const struct ruby_candidates *candidates);

/* True if value is a candidate; false also if there are too many. */
bool ruby_candidates_have(const struct ruby_candidates *candidates, uint32_t value);

/* Adds a value; a value that is already there is not added again. */
void ruby_candidates_add(struct ruby_candidates *candidates, uint32_t value);
