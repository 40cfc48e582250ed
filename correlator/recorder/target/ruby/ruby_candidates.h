/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What each figure of a layout (correlator/ruby_stack_layout.h) can be, as far as a process shows
 * it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/ruby_stack_layout.h>

enum {
	RUBY_CANDIDATES_MAX = 4, /* more of them are as good as none */
	/* The __u32 of a layout, in its order. */
	RUBY_LAYOUT_FIELDS = (sizeof(struct ruby_stack_layout) -
			      offsetof(struct ruby_stack_layout, gc_flags_mask)) /
			     sizeof(uint32_t),
};

/* Number of a field: its name's place in the layout. */
#define RUBY_LAYOUT_FIELD(name)                                \
	((offsetof(struct ruby_stack_layout, name) -           \
	  offsetof(struct ruby_stack_layout, gc_flags_mask)) / \
	 sizeof(uint32_t))

/* What a field can be, as far as can be seen: usually one value. None: nothing is known of it. */
struct ruby_candidates {
	uint32_t count; /* may be above what there is room for */
	uint32_t values[RUBY_CANDIDATES_MAX];
};

/* There are some, and not too many. */
bool ruby_candidates_tell(const struct ruby_candidates *candidates);

/* False, too: there are too many. */
bool ruby_candidates_have(const struct ruby_candidates *candidates, uint32_t value);

/* Told twice, a value is one. */
void ruby_candidates_add(struct ruby_candidates *candidates, uint32_t value);
