/* SPDX-License-Identifier: GPL-2.0-only */
/* A slice record, read and checked: the only place that decides which slices can be shown. Pure;
 * any thread. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "record/record_view.h"
#include "record/sched_state.h"

struct slice_view {
	enum sched_state state;
	int32_t cpu_number; /* running; -1 = not known */
	int64_t start_ns; /* wall clock */
	int64_t end_ns; /* not before start_ns */
	int64_t cpu_ns; /* running: without what the hypervisor stole; else 0 */
	int64_t fiber; /* 0 = not known */
	int64_t woken_by_pid; /* both 0 = not known */
	int64_t woken_by_tid;
	int blocked_on; /* asleep: enum blocked_reason; -1 = not known */
};

/* Reads a record of kind slice. Returns false if it lacks its state or its time, has a state of no
 * known name, or ends before it begins: it cannot be shown. */
bool slice_view_read(const struct record_view *record, struct slice_view *ret_slice);

/* Its contribution to the time in its state: the CPU time if it was running, else its length. */
static inline int64_t slice_view_spent_ns(const struct slice_view *slice)
{
	return slice->state == SCHED_RUNNING ? slice->cpu_ns : slice->end_ns - slice->start_ns;
}
