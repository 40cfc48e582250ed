/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/costs.h"

#include <assert.h>
#include <string.h>

#include "record/record_fields.h"

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

/* One of both. */
struct source {
	const struct record_view *view;
	const struct cpu_record *written;
};

static bool read_written(const struct cpu_record *record, size_t place, int64_t *ret_value)
{
	const struct record_kind_info *kind = &record_kinds[RECORD_KIND_CPU];
	const struct record_field_info *field = &kind->fields[place - kind->first_place];
	const char *bytes = (const char *)record;
	uint64_t value;

	assert(field->type == RECORD_TYPE_U64);
	if (field->presence == RECORD_PRESENCE_IF && !*(const bool *)(bytes + field->switch_offset))
		return false;
	memcpy(&value, bytes + field->offset, sizeof(value));
	*ret_value = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	return true;
}

static bool read_count(const struct source *source, int place, int64_t *ret_value)
{
	return source->written ? read_written(source->written, (size_t)place, ret_value)
			       : record_view_count_at(source->view, (size_t)place, ret_value);
}

static bool read_cost(const struct source *source, enum cost cost, int64_t *ret_value)
{
	int whole = fields[cost].whole;
	const int *parts = fields[cost].parts;
	int64_t first, second;

	if (whole >= 0 && read_count(source, whole, ret_value))
		return true;
	if (parts[0] < 0 || !read_count(source, parts[0], &first) ||
	    !read_count(source, parts[1], &second))
		return false;
	*ret_value = saturated_add(first, second);
	return true;
}

static struct costs costs_of(const struct source *source)
{
	struct costs costs = { .record_count = 1 };

	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (!read_cost(source, (enum cost)cost, &costs.sums[cost]))
			costs.missing |= 1U << cost;
	}
	costs.lacks_span = !read_count(source, PLACE(first_ns), &costs.first_ns) ||
			   !read_count(source, PLACE(last_ns), &costs.last_ns) ||
			   costs.last_ns < costs.first_ns;
	return costs;
}

struct costs costs_of_record(const struct record_view *record)
{
	return costs_of(&(struct source){ .view = record });
}

struct costs costs_of_written(const struct cpu_record *record)
{
	return costs_of(&(struct source){ .written = record });
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
