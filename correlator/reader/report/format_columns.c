/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/format_columns.h"

#include "record/blocked.h"

/* The columns of reasons go first where there is no room. */
#define BLOCKED_COLUMN(reason, name) { ROW_FIELD_BLOCKED_##reason, { "on " #name, 11, false } },

static const struct format_column group_columns[] = {
	{ ROW_FIELD_REQUESTS, { "requests", 1, false } },
	{ ROW_FIELD_RATE, { "a second", 6, false } },
	{ ROW_FIELD_CPU, { "cpu", 0, false } },
	{ ROW_FIELD_CHILDREN, { "children", 2, false } },
	{ ROW_FIELD_SHARE, { "share", 0, false } },
	{ ROW_FIELD_CPU_MEAN, { "cpu mean", 6, false } },
	{ ROW_FIELD_CPU_P50, { "cpu p50", 3, false } },
	{ ROW_FIELD_CPU_P90, { "cpu p90", 8, false } },
	{ ROW_FIELD_CPU_P99, { "cpu p99", 1, false } },
	{ ROW_FIELD_CPU_MAX, { "cpu max", 6, false } },
	{ ROW_FIELD_WALL_MEAN, { "wall mean", 8, false } },
	{ ROW_FIELD_WALL_P50, { "wall p50", 3, false } },
	{ ROW_FIELD_WALL_P90, { "wall p90", 8, false } },
	{ ROW_FIELD_WALL_P99, { "wall p99", 1, false } },
	{ ROW_FIELD_WALL_MAX, { "wall max", 6, false } },
	{ ROW_FIELD_PARKED_MEAN, { "parked mean", 2, false } },
	{ ROW_FIELD_PARKED_P50, { "parked p50", 9, false } },
	{ ROW_FIELD_PARKED_P90, { "parked p90", 9, false } },
	{ ROW_FIELD_PARKED_P99, { "parked p99", 8, false } },
	{ ROW_FIELD_PARKED_MAX, { "parked max", 9, false } },
	{ ROW_FIELD_USER, { "user", 5, false } },
	{ ROW_FIELD_KERNEL, { "kernel", 5, false } },
	{ ROW_FIELD_SPLIT_ERROR, { "split ±", 4, false } },
	{ ROW_FIELD_RUN_QUEUE, { "run queue", 4, false } },
	{ ROW_FIELD_BLOCKED, { "blocked", 2, false } },
	{ ROW_FIELD_BLOCKED_ON, { "blocked on", 4, true } },
	BLOCKED_REASONS(BLOCKED_COLUMN){ ROW_FIELD_GVL, { "gvl", 2, false } },
	{ ROW_FIELD_GC, { "gc", 2, false } },
	{ ROW_FIELD_SYSCALLS_MEAN, { "calls/req", 7, false } },
	{ ROW_FIELD_SLICES, { "slices", 10, false } },
	{ ROW_FIELD_SWITCHES, { "switches", 9, false } },
};

static const struct format_column request_columns[] = {
	{ ROW_FIELD_ENDPOINT, { "endpoint", 1, true } },
	{ ROW_FIELD_CPU, { "cpu", 0, false } },
	{ ROW_FIELD_CHILDREN, { "children", 2, false } },
	{ ROW_FIELD_WALL, { "wall", 1, false } },
	{ ROW_FIELD_PARKED, { "parked", 3, false } },
	{ ROW_FIELD_USER, { "user", 3, false } },
	{ ROW_FIELD_KERNEL, { "kernel", 3, false } },
	{ ROW_FIELD_SPLIT_ERROR, { "split ±", 4, false } },
	{ ROW_FIELD_RUN_QUEUE, { "run queue", 2, false } },
	{ ROW_FIELD_BLOCKED, { "blocked", 1, false } },
	{ ROW_FIELD_BLOCKED_ON, { "blocked on", 4, true } },
	BLOCKED_REASONS(BLOCKED_COLUMN){ ROW_FIELD_GVL, { "gvl", 2, false } },
	{ ROW_FIELD_GC, { "gc", 2, false } },
	{ ROW_FIELD_SHARE, { "share", 0, false } },
	{ ROW_FIELD_SYSCALLS, { "calls", 5, false } },
	{ ROW_FIELD_SLICES, { "slices", 7, false } },
	{ ROW_FIELD_SWITCHES, { "switches", 6, false } },
	{ ROW_FIELD_BEGAN, { "began", 8, false } },
};

static const struct format_column slowest_columns[] = {
	{ ROW_FIELD_ENDPOINT, { "endpoint", 1, true } },
	{ ROW_FIELD_BEGAN, { "began", 1, false } },
	{ ROW_FIELD_WALL, { "wall", 0, false } },
	{ ROW_FIELD_PARKED, { "parked", 3, false } },
	{ ROW_FIELD_CPU, { "cpu", 1, false } },
	{ ROW_FIELD_CHILDREN, { "children", 3, false } },
	{ ROW_FIELD_RUN_QUEUE, { "run queue", 3, false } },
	{ ROW_FIELD_BLOCKED, { "blocked", 2, false } },
	{ ROW_FIELD_BLOCKED_ON, { "blocked on", 4, true } },
	BLOCKED_REASONS(BLOCKED_COLUMN){ ROW_FIELD_GVL, { "gvl", 2, false } },
	{ ROW_FIELD_GC, { "gc", 2, false } },
	{ ROW_FIELD_USER, { "user", 4, false } },
	{ ROW_FIELD_KERNEL, { "kernel", 4, false } },
	{ ROW_FIELD_SYSCALLS, { "calls", 6, false } },
	{ ROW_FIELD_SLICES, { "slices", 8, false } },
	{ ROW_FIELD_SWITCHES, { "switches", 7, false } },
	{ ROW_FIELD_SHARE, { "share", 5, false } },
};

static const struct format_column machine_columns[] = {
	{ ROW_FIELD_THREAD_NAME, { "thread", 4, true } },
	{ ROW_FIELD_COMM, { "comm", 5, true } },
	{ ROW_FIELD_CPU, { "cpu", 0, false } },
	{ ROW_FIELD_USER, { "user", 1, false } },
	{ ROW_FIELD_KERNEL, { "kernel", 1, false } },
	{ ROW_FIELD_SPLIT_ERROR, { "split ±", 3, false } },
	{ ROW_FIELD_RUN_QUEUE, { "run queue", 2, false } },
	{ ROW_FIELD_BLOCKED, { "blocked", 2, false } },
	{ ROW_FIELD_BLOCKED_ON, { "blocked on", 6, true } },
	BLOCKED_REASONS(BLOCKED_COLUMN){ ROW_FIELD_GVL, { "gvl", 3, false } },
	{ ROW_FIELD_GC, { "gc", 3, false } },
	{ ROW_FIELD_CPU_PERCENT, { "% CPU", 0, false } },
	{ ROW_FIELD_MACHINE_PERCENT, { "% machine", 3, false } },
	{ ROW_FIELD_SYSCALLS, { "calls", 6, false } },
	{ ROW_FIELD_MIGRATIONS, { "migrations", 7, false } },
	{ ROW_FIELD_SWITCHES, { "switches", 8, false } },
};

/* Columns that each view can have, if --columns asks for them. */
static const struct format_column more_columns[] = {
	{ ROW_FIELD_SHARE, { "share", 0, false } },
	{ ROW_FIELD_SPLIT_ERROR, { "split ±", 0, false } },
	{ ROW_FIELD_UNINTERRUPTIBLE, { "uninterruptible", 0, false } },
	{ ROW_FIELD_AMBIGUOUS, { "ambiguous", 0, false } },
	{ ROW_FIELD_STOLEN, { "stolen", 0, false } },
	{ ROW_FIELD_GVL_WAITS, { "gvl waits", 0, false } },
	{ ROW_FIELD_GC_RUNS, { "gc runs", 0, false } },
	{ ROW_FIELD_SYSCALLS, { "calls", 0, false } },
	{ ROW_FIELD_SLICES, { "slices", 0, false } },
	{ ROW_FIELD_MIGRATIONS, { "migrations", 0, false } },
	{ ROW_FIELD_CPU_PERCENT, { "% CPU", 0, false } },
	{ ROW_FIELD_MACHINE_PERCENT, { "% machine", 0, false } },
};

#define COLUMN_SET(columns)                                     \
	{                                                       \
		columns, sizeof(columns) / sizeof((columns)[0]) \
	}

struct format_column_set format_columns_of(const struct grouping *grouping,
					   const struct format_options *options)
{
	static const struct format_column_set of_groups = COLUMN_SET(group_columns),
					      of_requests = COLUMN_SET(request_columns),
					      of_slowest = COLUMN_SET(slowest_columns),
					      of_machine = COLUMN_SET(machine_columns);

	if (grouping->has_all_time)
		return of_machine;
	if (options->is_slowest)
		return of_slowest;
	return grouping->is_by_request ? of_requests : of_groups;
}

const struct format_column *format_column(const struct grouping *grouping,
					  const struct format_options *options,
					  enum row_field field)
{
	const struct format_column_set sets[] = { format_columns_of(grouping, options),
						  COLUMN_SET(more_columns) };

	for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++) {
		for (size_t i = 0; i < sets[set].count; i++)
			if (sets[set].columns[i].field == field)
				return &sets[set].columns[i];
	}
	return NULL;
}

size_t format_table_count(const struct totals *totals, const struct format_options *options)
{
	bool has_second = totals->grouping_count > 1 && totals->groupings[1].group_count > 0;

	return !options->is_slowest && has_second ? 2 : 1;
}

bool format_has_field(const struct totals *totals, const struct format_options *options,
		      enum row_field field)
{
	size_t part;

	if (rows_field_part(field, &part))
		return part < totals->groupings[0].key_count;
	for (size_t i = 0; i < format_table_count(totals, options); i++)
		if (format_column(&totals->groupings[i], options, field))
			return true;
	return false;
}
