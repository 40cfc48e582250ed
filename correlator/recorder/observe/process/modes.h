/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How closely all processes together are watched, and which one is next when watching must cost
 * less, or may cost more. Pure; single thread.
 */
#pragma once

#include <stdbool.h>

#include "recorder/observe/process/observed.h"

/*
 * The mode of the whole recording. Without processes it stays `before` (unless that is
 * WATCH_MODE_NONE, or is_lean). is_lean: the session is lean, whatever its processes are.
 * has_lost_split: user time is not split from kernel time, though it should be.
 */
enum watch_mode modes_of_all(const struct observed_table *table, bool is_lean, bool has_lost_split,
			     enum watch_mode before);

/* True if some process is not watched exactly: it is lean, or has OpenTelemetry contexts. */
bool modes_has_inexact(const struct observed_table *table);

/*
 * The exact process that ends the most stints in a context, the work that lean mode saves. NULL:
 * there is none, or the cost is not theirs: some process, though lean, passes far more boundaries.
 */
struct observed *modes_find_dearest(const struct observed_table *table);

/* The process that the budget made lean last; NULL: none. */
struct observed *modes_find_last(const struct observed_table *table);
