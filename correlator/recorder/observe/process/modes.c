/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/modes.h"

enum {
	SHARE_LEAST = 16 /* at least 1/16 of the boundaries of the process with the most */
};

static bool is_inexact(const struct observed *process)
{
	return process->lean_causes || observed_has_otel(process);
}

enum watch_mode modes_of_all(const struct observed_table *table, bool is_lean, bool has_lost_split,
			     enum watch_mode before)
{
	const struct observed *process = table->processes;
	bool is_all_lean = true;

	for (; process; process = process->hh.next)
		is_all_lean &= process->lean_causes != 0;
	if (!is_lean && !table->processes && before)
		return before;
	if (!is_lean && !modes_has_inexact(table))
		return WATCH_MODE_EXACT;
	if (!is_lean && !is_all_lean)
		return WATCH_MODE_PARTLY_LEAN;
	return has_lost_split ? WATCH_MODE_SWITCH_ONLY : WATCH_MODE_LEAN;
}

bool modes_has_inexact(const struct observed_table *table)
{
	const struct observed *process = table->processes;

	while (process && !is_inexact(process))
		process = process->hh.next;
	return process != NULL;
}

struct observed *modes_find_dearest(const struct observed_table *table)
{
	struct observed *dearest = NULL;
	uint64_t most_boundaries = 0, most = 0;

	for (const struct observed *process = table->processes; process; process = process->hh.next)
		if (process->books.boundaries > most_boundaries)
			most_boundaries = process->books.boundaries;
	for (struct observed *process = table->processes; process; process = process->hh.next) {
		if (process->lean_causes || process->state.stage == PROCESS_EXITED ||
		    process->books.boundaries < most_boundaries / SHARE_LEAST ||
		    process->books.stints <= most)
			continue;
		most = process->books.stints;
		dearest = process;
	}
	return dearest;
}

struct observed *modes_find_last(const struct observed_table *table)
{
	struct observed *process = table->processes, *last = NULL;

	for (; process; process = process->hh.next)
		if ((process->lean_causes & LEAN_BUDGET) &&
		    process->state.stage != PROCESS_EXITED &&
		    (!last || process->budget_turn > last->budget_turn))
			last = process;
	return last;
}
