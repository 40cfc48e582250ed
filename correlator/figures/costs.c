/* SPDX-License-Identifier: GPL-2.0-only */
#include "figures/costs.h"

#include <assert.h>
#include <string.h>

#include "record/record_fields.h"

#define PLACE(member) (int)RECORD_PLACE(cpu, member)

/* A cost is its field, or, if that is missing, the sum of both parts. */
static const struct {
	int whole; /* RECORD_PLACE; -1 = there is no such field, or no parts */
	int parts[2];
} fields[_COST_MAX] = {
#define RECORD(member) \
	PLACE(member), \
	{              \
		-1, -1 \
	}
#define RECORD_OR_SUM(member, a, b) \
	PLACE(member),              \
	{                           \
		PLACE(a), PLACE(b)  \
	}
#define SUM(field, a, b)           \
	-1,                        \
	{                          \
		PLACE(a), PLACE(b) \
	}
#define COST(id, name, title, unit, source, when, text, ...) [COST_##id] = { source },
#define FIGURE(id, ...)
#include "figures/figures.def"
};

/* Exactly one of the two is set. */
struct cost_source {
	const struct record_view *view;
	const struct cpu_record *written;
};

static const struct record_field_info *field_at(size_t place)
{
	const struct record_kind_info *kind = &record_kinds[RECORD_KIND_CPU];

	return &kind->fields[place - kind->first_place];
}

static bool read_written(const struct cpu_record *record, size_t place, int64_t *ret_value)
{
	const struct record_field_info *field = field_at(place);
	const char *bytes = (const char *)record;
	uint64_t value;

	assert(field->type == RECORD_TYPE_U64 || field->type == RECORD_TYPE_WALL);
	if (field->presence == RECORD_PRESENCE_IF && !*(const bool *)(bytes + field->switch_offset))
		return false;
	memcpy(&value, bytes + field->offset, sizeof(value));
	if (field->presence == RECORD_PRESENCE_KNOWN && value == 0)
		return false;
	*ret_value = value > INT64_MAX ? INT64_MAX : (int64_t)value;
	/* As record_view_steady() does. */
	if (field->type == RECORD_TYPE_WALL)
		*ret_value -= record->common.clock_set_ns;
	return true;
}

static bool read_count(const struct cost_source *source, int place, int64_t *ret_value)
{
	return source->written ? read_written(source->written, (size_t)place, ret_value)
			       : record_view_count_at(source->view, (size_t)place, ret_value);
}

static bool read_cost(const struct cost_source *source, enum cost cost, int64_t *ret_value)
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

static bool is_in_each_record(int place)
{
	return place >= 0 && field_at((size_t)place)->presence == RECORD_PRESENCE_ALWAYS;
}

bool costs_is_in_each_record(enum cost cost)
{
	return is_in_each_record(fields[cost].whole) || (is_in_each_record(fields[cost].parts[0]) &&
							 is_in_each_record(fields[cost].parts[1]));
}

/*
 * A missing reason is 0 if other reasons are present, or if there was no time asleep; if all are
 * missing, reasons were not measured.
 */
static void settle_reasons(struct costs *costs)
{
	const uint32_t reasons = (2U << COST_BLOCKED_OTHER) - (1U << COST_BLOCKED_DISK);

	if (!costs_has(costs, COST_BLOCKED))
		costs->missing |= reasons;
	else if (costs->sums[COST_BLOCKED] == 0 || (costs->missing & reasons) != reasons)
		costs->missing &= ~reasons;
}

static bool is_of_child(const struct cost_source *source)
{
	if (source->written)
		return source->written->flags & CPU_RECORD_INHERITED_BY_EXEC;
	return record_view_lists_at(source->view, RECORD_PLACE(cpu, flags), "inherited_by_exec");
}

static struct costs costs_of(const struct cost_source *source)
{
	struct costs costs = { .record_count = 1 };

	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (!read_cost(source, (enum cost)cost, &costs.sums[cost]))
			costs.missing |= 1U << cost;
	}
	settle_reasons(&costs);
	if (is_of_child(source) && costs_has(&costs, COST_CPU))
		costs.children_ns = costs.sums[COST_CPU];
	costs.lacks_span = !read_count(source, PLACE(first_ns), &costs.first_ns) ||
			   !read_count(source, PLACE(last_ns), &costs.last_ns) ||
			   costs.last_ns < costs.first_ns;
	return costs;
}

struct costs costs_of_record(const struct record_view *record)
{
	return costs_of(&(struct cost_source){ .view = record });
}

struct costs costs_of_written(const struct cpu_record *record)
{
	return costs_of(&(struct cost_source){ .written = record });
}

void costs_add(struct costs *costs, const struct costs *other)
{
	for (int cost = 0; cost < _COST_MAX; cost++)
		saturated_add_to(&costs->sums[cost], other->sums[cost]);
	saturated_add_to(&costs->children_ns, other->children_ns);
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

bool costs_parked_ns(const struct costs *costs, int64_t *ret_parked_ns)
{
	static const enum cost on_thread[] = { COST_CPU, COST_RUN_QUEUE, COST_BLOCKED,
					       COST_STOLEN };
	int64_t on_thread_ns = 0;

	if (!costs_wall_ns(costs, ret_parked_ns))
		return false;
	for (size_t i = 0; i < sizeof(on_thread) / sizeof(on_thread[0]); i++) {
		if (!costs_has(costs, on_thread[i]))
			return false;
		saturated_add_to(&on_thread_ns, costs->sums[on_thread[i]]);
	}
	*ret_parked_ns = *ret_parked_ns > on_thread_ns ? *ret_parked_ns - on_thread_ns : 0;
	return true;
}

enum cost costs_blocked_on(uint32_t reason)
{
	return reason == BLOCKED_ON_OTHER ? COST_BLOCKED_OTHER
					  : (enum cost)(COST_BLOCKED_DISK + (int)reason - 1);
}

int costs_most_blocked_on(const struct costs *costs)
{
	uint32_t most = BLOCKED_ON_OTHER;

	if (!costs_has(costs, COST_BLOCKED_OTHER))
		return -1;
	for (uint32_t reason = 0; reason < _BLOCKED_REASON_MAX; reason++)
		if (costs->sums[costs_blocked_on(reason)] > costs->sums[costs_blocked_on(most)])
			most = reason;
	return (int)most;
}

bool costs_has(const struct costs *costs, enum cost cost)
{
	return (costs->missing & 1U << cost) == 0;
}

/* False: not measured. */
static bool io_of(const struct costs *costs, double *ret_io_ns, double *ret_cpu_ns)
{
	if (!costs_has(costs, COST_CPU) || !costs_has(costs, COST_BLOCKED_FUTEX))
		return false;
	*ret_io_ns = (double)(costs->sums[COST_BLOCKED] - costs->sums[COST_BLOCKED_FUTEX]);
	/* Records that were read back may say anything. */
	if (*ret_io_ns < 0)
		*ret_io_ns = 0;
	*ret_cpu_ns = (double)costs->sums[COST_CPU];
	return true;
}

bool costs_io_percent(const struct costs *costs, double *ret_percent)
{
	double io_ns, cpu_ns;

	if (!io_of(costs, &io_ns, &cpu_ns) || io_ns + cpu_ns == 0)
		return false;
	*ret_percent = 100.0 * io_ns / (io_ns + cpu_ns);
	return true;
}

bool costs_usable_threads(const struct costs *costs, double *ret_threads)
{
	double io_ns, cpu_ns;

	if (!io_of(costs, &io_ns, &cpu_ns) || cpu_ns == 0)
		return false;
	*ret_threads = (io_ns + cpu_ns) / cpu_ns;
	return true;
}

bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent)
{
	if (!costs_has(costs, COST_CPU) || !costs_has(all, COST_CPU) || all->sums[COST_CPU] == 0)
		return false;
	*ret_percent = 100.0 * (double)costs->sums[COST_CPU] / (double)all->sums[COST_CPU];
	return true;
}
