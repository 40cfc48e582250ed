/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/stack_sums.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"

int stack_sums_init(struct stack_sums *sums, const struct stacks *stacks)
{
	size_t count = stacks->frames.number_count;

	*sums = (struct stack_sums){ calloc(count, sizeof(struct stack_sum)), count };
	return sums->by_number ? 0 : -ENOMEM;
}

void stack_sums_deinit(struct stack_sums *sums)
{
	free(sums->by_number);
	*sums = (struct stack_sums){ 0 };
}

void stack_sums_add(struct stack_sums *sums, const struct stacks_context *context)
{
	for (const struct stacks_place *place = context->places; place; place = place->next) {
		struct stack_sum *sum = &sums->by_number[place->where.frame->number];

		sum->frame = place->where.frame;
		saturated_add_to(&sum->spent_ns, place->spent_ns);
		sum->samples += place->samples;
	}
}

void stack_sums_add_all(struct stack_sums *sums, const struct stacks *stacks)
{
	const struct stacks_context *context = NULL;

	while ((context = stacks_next(stacks, context)))
		stack_sums_add(sums, context);
}

void stack_sums_clear(struct stack_sums *sums)
{
	memset(sums->by_number, 0, sums->count * sizeof(*sums->by_number));
}

const struct stack_sum *stack_sums_next(const struct stack_sums *sums,
					const struct stack_sum *cursor)
{
	const struct stack_sum *end = sums->by_number + sums->count;

	cursor = cursor ? cursor + 1 : sums->by_number;
	while (cursor < end && !cursor->frame)
		cursor++;
	return cursor < end ? cursor : NULL;
}
