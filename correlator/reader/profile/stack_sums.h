/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was used in each stack, by its innermost frame: the places of many threads and requests
 * (stacks.h) are one sum. Borrows the frames. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "reader/profile/stacks.h"

struct stack_sum {
	const struct frame *frame; /* NULL: nothing was seen in it */
	int64_t spent_ns;
	uint64_t samples;
};

struct stack_sums {
	struct stack_sum *by_number; /* of the frame */
	size_t count; /* of numbers */
};

/* After stacks_finish: none yet. 0, -ENOMEM. */
int stack_sums_init(struct stack_sums *sums, const struct stacks *stacks);
void stack_sums_deinit(struct stack_sums *sums);

/* One of the same stacks. */
void stack_sums_add(struct stack_sums *sums, const struct stacks_context *context);

/* Those that are chosen. */
void stack_sums_add_all(struct stack_sums *sums, const struct stacks *stacks);

/* None again. */
void stack_sums_clear(struct stack_sums *sums);

/* Each stack that was seen, in the order of the frames' numbers: starts at NULL; NULL at the end.
 */
const struct stack_sum *stack_sums_next(const struct stack_sums *sums,
					const struct stack_sum *cursor);
