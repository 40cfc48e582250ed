/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/costs.h"

/* A cost is its field, or, where that is not given, the sum of both parts. */
static const struct {
	const char *name;
	int whole; /* RECORD_PLACE; -1 = there is no such field, or no parts */
	int parts[2];
} fields[_COST_MAX] = {
#define PLACE(member) (int)RECORD_PLACE(cpu, member)
#define WHOLE(member)                                     \
	{                                                 \
		RECORD_FIELD(cpu, member), PLACE(member), \
		{                                         \
			-1, -1                            \
		}                                         \
	}
	[COST_CPU] = { RECORD_FIELD(cpu, cpu_ns),
		       PLACE(cpu_ns),
		       { PLACE(user_ns), PLACE(kernel_ns) } },
	[COST_USER] = WHOLE(user_ns),
	[COST_KERNEL] = WHOLE(kernel_ns),
	[COST_RUN_QUEUE] = WHOLE(run_queue_ns),
	[COST_BLOCKED] = WHOLE(blocked_ns),
	[COST_SLICES] = WHOLE(slices),
	[COST_SWITCHES] = { "switches",
			    -1,
			    { PLACE(switches_voluntary), PLACE(switches_involuntary) } },
	[COST_AMBIGUOUS] = WHOLE(ambiguous_ns),
	[COST_MIGRATIONS] = WHOLE(migrations),
	[COST_STOLEN] = WHOLE(stolen_ns),
	[COST_SPLIT_ERROR] = WHOLE(split_error_ns),
	[COST_UNINTERRUPTIBLE] = WHOLE(uninterruptible_ns),
	[COST_SYSCALLS] = WHOLE(syscalls),
};

static bool read_cost(const struct record_view *record, enum cost cost, int64_t *ret_value)
{
	int whole = fields[cost].whole;
	const int *parts = fields[cost].parts;
	int64_t first, second;

	if (whole >= 0 && record_view_count_at(record, (size_t)whole, ret_value))
		return true;
	if (parts[0] < 0 || !record_view_count_at(record, (size_t)parts[0], &first) ||
	    !record_view_count_at(record, (size_t)parts[1], &second))
		return false;
	*ret_value = saturated_add(first, second);
	return true;
}

struct costs costs_of_record(const struct record_view *record)
{
	struct costs costs = { .record_count = 1 };

	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (!read_cost(record, (enum cost)cost, &costs.sums[cost]))
			costs.missing |= 1U << cost;
	}
	costs.lacks_span =
		!record_view_count_at(record, RECORD_PLACE(cpu, first_ns), &costs.first_ns) ||
		!record_view_count_at(record, RECORD_PLACE(cpu, last_ns), &costs.last_ns) ||
		costs.last_ns < costs.first_ns;
	return costs;
}

void costs_add(struct costs *costs, const struct costs *other)
{
	for (int cost = 0; cost < _COST_MAX; cost++)
		saturated_add_to(&costs->sums[cost], other->sums[cost]);
	costs->missing |= other->missing;
	costs->lacks_span |= other->lacks_span;
	if (other->record_count > 0 &&
	    (costs->record_count == 0 || other->first_ns < costs->first_ns))
		costs->first_ns = other->first_ns;
	if (other->last_ns > costs->last_ns)
		costs->last_ns = other->last_ns;
	costs->record_count += other->record_count;
}

bool costs_wall_ns(const struct costs *costs, int64_t *ret_wall_ns)
{
	if (costs->lacks_span || costs->record_count == 0)
		return false;
	*ret_wall_ns = costs->last_ns - costs->first_ns;
	return true;
}

const char *costs_name(enum cost cost)
{
	return fields[cost].name;
}

bool costs_has(const struct costs *costs, enum cost cost)
{
	return (costs->missing & 1U << cost) == 0;
}

bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent)
{
	if (!costs_has(costs, COST_CPU) || !costs_has(all, COST_CPU) || all->sums[COST_CPU] == 0)
		return false;
	*ret_percent = 100.0 * (double)costs->sums[COST_CPU] / (double)all->sums[COST_CPU];
	return true;
}
