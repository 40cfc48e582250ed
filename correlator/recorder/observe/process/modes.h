/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How closely all processes together are watched, and whose turn it is when that has to cost less,
 * or may cost more. Pure; single thread.
 */
#pragma once

#include <stdbool.h>

#include "recorder/observe/process/observed.h"

/*
 * What holds for all; of none, what held before (WATCH_MODE_NONE: nothing). is_lean: the session,
 * whatever they are. has_lost_split: it was to split user from kernel time, and does not.
 */
enum watch_mode modes_of_all(const struct observed_table *table, bool is_lean, bool has_lost_split,
			     enum watch_mode before);

/* Whether some process is watched less than exactly, by itself or for OpenTelemetry's contexts. */
bool modes_has_inexact(const struct observed_table *table);

/*
 * The exact process that ends the most stints in a context, which is what lean does without;
 * NULL: there is none, or the cost is not theirs: some process, though lean, passes far more
 * boundaries.
 */
struct observed *modes_find_dearest(const struct observed_table *table);

/* Of those that the budget made lean, the last one; NULL: there is none. */
struct observed *modes_find_last(const struct observed_table *table);
