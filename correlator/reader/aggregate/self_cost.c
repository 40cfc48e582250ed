/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/self_cost.h"

#include <string.h>

#include "base/text.h"

static const char prefix[] = "bpf_";

static const struct {
	const char *used;
	const char *limit;
} maps[_OWN_COST_MAP_MAX] = {
	[SELF_COST_MAP_CONTEXTS] = { "contexts", "contexts_max" },
	[SELF_COST_MAP_ACCOUNTS] = { "accounts", "accounts_max" },
	[SELF_COST_MAP_PROCESSES] = { "processes", "processes_max" },
};

const char *self_cost_map_name(enum self_cost_map map)
{
	return maps[map].used;
}

static void add_fill(struct self_cost_fill *fill, const struct record_view *record,
		     enum self_cost_map map)
{
	int64_t used, limit;

	if (!record_view_count(record, maps[map].used, &used) ||
	    !record_view_count(record, maps[map].limit, &limit) || limit == 0)
		return;
	if (fill->limit == 0 ||
	    (double)used / (double)limit > (double)fill->used / (double)fill->limit)
		*fill = (struct self_cost_fill){ used, limit };
}

/* Returns NULL if the table is full. */
static struct self_cost_program *find_program(struct self_cost *cost, struct record_text name)
{
	char clean[SELF_COST_NAME_BYTES];
	struct self_cost_program *program;

	(void)text_escape(name.bytes, name.size_bytes, 0, clean, sizeof(clean));
	for (size_t i = 0; i < cost->program_count; i++) {
		if (strcmp(cost->programs[i].name, clean) == 0)
			return &cost->programs[i];
	}
	if (cost->program_count == SELF_COST_PROGRAMS_MAX)
		return NULL;
	program = &cost->programs[cost->program_count++];
	memcpy(program->name, clean, sizeof(clean));
	return program;
}

/* Extracts NAME from bpf_NAME<suffix>. */
static bool program_name(struct record_text field, const char *suffix, struct record_text *ret_name)
{
	size_t prefix_bytes = sizeof(prefix) - 1, suffix_bytes = strlen(suffix);

	if (field.size_bytes <= prefix_bytes + suffix_bytes ||
	    memcmp(field.bytes, prefix, prefix_bytes) != 0 ||
	    memcmp(field.bytes + field.size_bytes - suffix_bytes, suffix, suffix_bytes) != 0)
		return false;
	*ret_name = (struct record_text){ field.bytes + prefix_bytes,
					  field.size_bytes - prefix_bytes - suffix_bytes };
	return true;
}

/* Returns whether it is a field of a program. */
static bool add_program_field(struct self_cost *cost, const struct record_field *field)
{
	struct self_cost_program *program;
	struct record_text name;
	bool is_time;

	if (field->value != RECORD_VALUE_INTEGER || field->integer < 0)
		return false;
	is_time = program_name(field->name, "_ns", &name);
	if (!is_time && !program_name(field->name, "_runs", &name))
		return false;
	program = find_program(cost, name);
	if (is_time) {
		saturated_add_to(&cost->run_ns, field->integer);
		if (program)
			saturated_add_to(&program->run_ns, field->integer);
	} else {
		saturated_add_to(&cost->run_count, field->integer);
		if (program)
			saturated_add_to(&program->run_count, field->integer);
	}
	return true;
}

/* Call after the fields of the programs were added. */
static void add_measured(struct self_cost *cost, const struct record_view *record,
			 bool has_programs)
{
	struct record_text error;
	int64_t window_ns = 0, measured_ns;

	(void)record_view_count(record, RECORD_FIELD(self, window_ns), &window_ns);
	if (record_view_text(record, RECORD_FIELD(self, programs_error), &error)) {
		(void)text_escape(error.bytes, error.size_bytes, 0, cost->programs_error,
				  sizeof(cost->programs_error));
		return;
	}
	saturated_add_to(&cost->windows_ns, window_ns);
	if (!has_programs)
		return;
	cost->has_programs = true;
	saturated_add_to(&cost->programs_windows_ns, window_ns);
	measured_ns = window_ns;
	(void)record_view_count(record, RECORD_FIELD(self, programs_measured_ns), &measured_ns);
	saturated_add_to(&cost->programs_measured_ns, measured_ns);
	(void)record_view_add(record, RECORD_FIELD(self, programs_samples),
			      &cost->programs_samples);
}

static int64_t scale(const struct self_cost *cost, int64_t value)
{
	double scaled =
		(double)value * (double)cost->windows_ns / (double)cost->programs_windows_ns;

	return scaled < (double)INT64_MAX ? (int64_t)scaled : INT64_MAX;
}

void self_cost_finish(struct self_cost *cost)
{
	if (cost->programs_windows_ns == 0 || cost->programs_windows_ns >= cost->windows_ns)
		return;
	cost->run_count = scale(cost, cost->run_count);
	cost->run_ns = scale(cost, cost->run_ns);
	for (size_t i = 0; i < cost->program_count; i++) {
		cost->programs[i].run_count = scale(cost, cost->programs[i].run_count);
		cost->programs[i].run_ns = scale(cost, cost->programs[i].run_ns);
	}
	cost->programs_windows_ns = cost->windows_ns;
}

void self_cost_add(struct self_cost *cost, const struct record_view *record)
{
	bool has_programs = false;
	int64_t count;

	cost->record_count++;
	(void)record_view_add(record, RECORD_FIELD(self, own_cpu_ns), &cost->cpu_ns);
	(void)record_view_add(record, RECORD_FIELD(self, skipped_runs), &cost->skipped_runs);
	if (record_view_count(record, RECORD_FIELD(self, own_rss_bytes), &count) &&
	    count > cost->rss_bytes_max)
		cost->rss_bytes_max = count;
	for (int map = 0; map < _OWN_COST_MAP_MAX; map++)
		add_fill(&cost->fills[map], record, (enum self_cost_map)map);
	for (size_t i = 0; i < record->field_count; i++)
		has_programs |= add_program_field(cost, &record->fields[i]);
	add_measured(cost, record, has_programs);
}
