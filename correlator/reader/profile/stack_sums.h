/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The time used in each stack, by its innermost frame, summed over the places (stacks.h) of all
 * threads and requests. Borrows the frames. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/profile/stacks.h"

struct stack_sum {
	const struct frame *frame; /* NULL: no place is in this stack */
	int64_t spent_ns;
	uint64_t samples;
};

struct stack_sums {
	struct stack_sum *by_number; /* indexed by frame number */
	size_t count; /* length of by_number */
};

/* After stacks_finish. Starts empty. 0, -ENOMEM. */
int stack_sums_init(struct stack_sums *sums, const struct stacks *stacks);
void stack_sums_deinit(struct stack_sums *sums);

/* Adds a context of the same stacks. */
void stack_sums_add(struct stack_sums *sums, const struct stacks_context *context);

/* Adds all chosen contexts. */
void stack_sums_add_all(struct stack_sums *sums, const struct stacks *stacks);

/* Empties the sums. */
void stack_sums_clear(struct stack_sums *sums);

/* Iterates the stacks with a place, by frame number: cursor starts at NULL; NULL at the end. */
const struct stack_sum *stack_sums_next(const struct stack_sums *sums,
					const struct stack_sum *cursor);
