/* SPDX-License-Identifier: GPL-2.0-only */
/* Records that had to be dropped, as a `gap` record tells of them: added up until it does. Pure. */
#pragma once

#include <stdint.h>

struct gap {
	uint64_t dropped_records;
	uint64_t dropped_segments; /* each told once, of the process with the most in it */
	uint64_t first_ns; /* EventTime of the oldest and newest record dropped */
	uint64_t last_ns;
	const char *reason; /* static; of the last ones */
	/* Where they are told process by process, or else 0: */
	uint32_t pid; /* whose records they were; 0 = nobody knows */
	uint64_t pid_dropped_records; /* all that it lost, since the start; of pid 0: 0 */
};

/* Adds what was lost now. */
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
