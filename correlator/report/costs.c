/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/costs.h"

/* A cost is its first field, or the sum of both parts; `whole` is preferred where both are given.
 */
static const struct {
	const char *whole;
	const char *parts[2];
} fields[_COST_MAX] = {
	[COST_CPU] = { RECORD_FIELD(cpu, cpu_ns),
		       { RECORD_FIELD(cpu, user_ns), RECORD_FIELD(cpu, kernel_ns) } },
	[COST_USER] = { .whole = RECORD_FIELD(cpu, user_ns) },
	[COST_KERNEL] = { .whole = RECORD_FIELD(cpu, kernel_ns) },
	[COST_RUN_QUEUE] = { .whole = RECORD_FIELD(cpu, run_queue_ns) },
	[COST_BLOCKED] = { .whole = RECORD_FIELD(cpu, blocked_ns) },
	[COST_SLICES] = { .whole = RECORD_FIELD(cpu, slices) },
	[COST_SWITCHES] = { .parts = { RECORD_FIELD(cpu, switches_voluntary),
				       RECORD_FIELD(cpu, switches_involuntary) } },
	[COST_AMBIGUOUS] = { .whole = RECORD_FIELD(cpu, ambiguous_ns) },
	[COST_MIGRATIONS] = { .whole = RECORD_FIELD(cpu, migrations) },
	[COST_STOLEN] = { .whole = RECORD_FIELD(cpu, stolen_ns) },
	[COST_SPLIT_ERROR] = { .whole = RECORD_FIELD(cpu, split_error_ns) },
	[COST_UNINTERRUPTIBLE] = { .whole = RECORD_FIELD(cpu, uninterruptible_ns) },
	[COST_SYSCALLS] = { .whole = RECORD_FIELD(cpu, syscalls) },
};

static bool read_cost(const struct record_view *record, enum cost cost, int64_t *ret_value)
{
	int64_t first, second;

	if (fields[cost].whole && record_view_count(record, fields[cost].whole, ret_value))
		return true;
	if (!fields[cost].parts[0] || !record_view_count(record, fields[cost].parts[0], &first) ||
	    !record_view_count(record, fields[cost].parts[1], &second))
		return false;
	*ret_value = first;
	saturated_add_to(ret_value, second);
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
		!record_view_count(record, RECORD_FIELD(cpu, first_ns), &costs.first_ns) ||
		!record_view_count(record, RECORD_FIELD(cpu, last_ns), &costs.last_ns) ||
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
	return fields[cost].whole ? fields[cost].whole : "switches";
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
