/* SPDX-License-Identifier: GPL-2.0-only */
/* Dropped records, accumulated until a `gap` record reports them. Pure. */
#pragma once

#include <stdint.h>

struct gap {
	uint64_t dropped_records;
	uint64_t dropped_segments; /* each counted once, for the process with most bytes in it */
	uint64_t first_ns; /* EventTime of the oldest and newest record dropped */
	uint64_t last_ns;
	const char *reason; /* static; of the latest loss */
	/* All that was lost since the start, of any process, with this; set when it is taken. */
	uint64_t total_dropped_records;
	/* If losses are reported per process, or else 0: */
	uint32_t pid; /* process of the records; 0 = not known */
	uint64_t pid_dropped_records; /* all records that pid lost since the start; 0 for pid 0 */
};

/* Adds a loss. */
static inline void gap_add(struct gap *gap, const struct gap *lost)
{
	if (!gap->dropped_records || lost->first_ns < gap->first_ns)
		gap->first_ns = lost->first_ns;
	if (lost->last_ns > gap->last_ns)
		gap->last_ns = lost->last_ns;
	gap->dropped_records += lost->dropped_records;
	gap->dropped_segments += lost->dropped_segments;
	gap->reason = lost->reason;
}
