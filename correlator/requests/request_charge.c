/* SPDX-License-Identifier: GPL-2.0-only */
#include "requests/request_charge.h"

#include <string.h>

#include "record/record_fields.h"
#include "requests/attribution.h"

#define REQUEST_ID "request_id"

static int64_t clamp(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static struct record_text value_of(const struct cpu_record *record, const char *key)
{
	for (size_t i = 0; key && i < record->keys_count; i++) {
		const char *value = record->keys[i].value;

		if (value && strcmp(record->keys[i].name, key) == 0)
			return (struct record_text){ value, strlen(value) };
	}
	return (struct record_text){ 0 };
}

/* Under no context every key is there, and "". */
static bool has_context(const struct cpu_record *record)
{
	bool has_key = false;

	for (size_t i = 0; i < record->keys_count; i++) {
		if (record->keys[i].value && record->keys[i].value[0])
			return true;
		has_key |= record->keys[i].value != NULL;
	}
	return !has_key;
}

struct request_charge request_charge_of_record(const struct cpu_record *record, const char *key)
{
	struct request_charge charge = {
		.is_attributed = !(record->flags & (CPU_RECORD_OVERFLOW | CPU_RECORD_UNKNOWN)) &&
				 has_context(record),
		.costs = { .sums = { [REQUEST_CPU] = clamp(record->cpu_ns),
				     [REQUEST_RUN_QUEUE] = clamp(record->run_queue_ns),
				     [REQUEST_BLOCKED] = clamp(record->blocked_ns) },
			   .has_span = true,
			   .first_ns = clamp(record->first_ns),
			   .last_ns = clamp(record->last_ns) },
	};

	if (record->has_kernel_split) {
		charge.costs.sums[REQUEST_USER] = clamp(record->user_ns);
		charge.costs.sums[REQUEST_KERNEL] = clamp(record->kernel_ns);
	} else {
		charge.costs.missing = 1U << REQUEST_USER | 1U << REQUEST_KERNEL;
	}
	if (charge.is_attributed) {
		charge.id = value_of(record, REQUEST_ID);
		charge.value = value_of(record, key);
	}
	return charge;
}

static const char *const view_fields[_REQUEST_FIGURE_MAX] = {
	[REQUEST_CPU] = RECORD_FIELD(cpu, cpu_ns),
	[REQUEST_USER] = RECORD_FIELD(cpu, user_ns),
	[REQUEST_KERNEL] = RECORD_FIELD(cpu, kernel_ns),
	[REQUEST_RUN_QUEUE] = RECORD_FIELD(cpu, run_queue_ns),
	[REQUEST_BLOCKED] = RECORD_FIELD(cpu, blocked_ns),
};

static struct request_costs costs_of_view(const struct record_view *view)
{
	struct request_costs costs = { .has_span = true };

	for (int figure = 0; figure < _REQUEST_FIGURE_MAX; figure++)
		if (view_fields[figure] &&
		    !record_view_count(view, view_fields[figure], &costs.sums[figure]))
			costs.missing |= 1U << figure;
	if (!record_view_count(view, RECORD_FIELD(cpu, first_ns), &costs.first_ns) ||
	    !record_view_count(view, RECORD_FIELD(cpu, last_ns), &costs.last_ns))
		costs.missing |= 1U << REQUEST_WALL;
	return costs;
}

struct request_charge request_charge_of_view(const struct record_view *view, const char *key)
{
	struct request_charge charge = {
		.is_attributed = attribution_has_context(attribution_of(view)),
		.costs = costs_of_view(view),
	};

	if (charge.is_attributed) {
		(void)record_view_text(view, REQUEST_ID, &charge.id);
		if (key)
			(void)record_view_text(view, key, &charge.value);
	}
	return charge;
}

void request_costs_add(struct request_costs *costs, const struct request_costs *other)
{
	for (int figure = 0; figure < _REQUEST_FIGURE_MAX; figure++)
		saturated_add_to(&costs->sums[figure], other->sums[figure]);
	costs->missing |= other->missing;
	if (other->has_span && (!costs->has_span || other->first_ns < costs->first_ns))
		costs->first_ns = other->first_ns;
	if (other->has_span && (!costs->has_span || other->last_ns > costs->last_ns))
		costs->last_ns = other->last_ns;
	costs->has_span |= other->has_span;
}

bool request_costs_figure(const struct request_costs *costs, enum request_figure figure,
			  int64_t *ret_ns)
{
	if (costs->missing & 1U << figure)
		return false;
	if (figure == REQUEST_WALL && (!costs->has_span || costs->last_ns < costs->first_ns))
		return false;
	*ret_ns = figure == REQUEST_WALL ? costs->last_ns - costs->first_ns : costs->sums[figure];
	return true;
}
