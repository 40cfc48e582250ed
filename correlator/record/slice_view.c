/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/slice_view.h"

#include "record/blocked.h"
#include "record/record_fields.h"

static bool read_state(const struct record_view *record, enum sched_state *ret_state)
{
	struct record_text name;
	int state;

	if (!record_view_text(record, RECORD_FIELD(slice, state), &name))
		return false;
	state = sched_state_find(name);
	if (state < 0)
		return false;
	*ret_state = (enum sched_state)state;
	return true;
}

static void read_running(const struct record_view *record, struct slice_view *slice)
{
	int64_t cpu_number;

	(void)record_view_count(record, RECORD_FIELD(slice, cpu_ns), &slice->cpu_ns);
	if (record_view_count(record, RECORD_FIELD(slice, cpu_number), &cpu_number) &&
	    cpu_number <= INT32_MAX)
		slice->cpu_number = (int32_t)cpu_number;
}

/* Both or neither: half of a waker identifies no thread. */
static void read_waker(const struct record_view *record, struct slice_view *slice)
{
	int64_t pid, tid;

	if (record_view_count(record, RECORD_FIELD(slice, woken_by_pid), &pid) &&
	    record_view_count(record, RECORD_FIELD(slice, woken_by_tid), &tid) && tid > 0) {
		slice->woken_by_pid = pid;
		slice->woken_by_tid = tid;
	}
}

static int read_reason(const struct record_view *record)
{
	struct record_text name;
	int reason;

	if (!record_view_text(record, RECORD_FIELD(slice, blocked_on), &name))
		return -1;
	reason = blocked_find(name.bytes, name.size_bytes);
	return reason < 0 ? -1 : reason;
}

bool slice_view_read(const struct record_view *record, struct slice_view *ret_slice)
{
	struct slice_view slice = { .cpu_number = -1, .blocked_on = -1 };

	if (!read_state(record, &slice.state) ||
	    !record_view_count(record, RECORD_FIELD(slice, start_ns), &slice.start_ns) ||
	    !record_view_count(record, RECORD_FIELD(slice, end_ns), &slice.end_ns) ||
	    slice.end_ns < slice.start_ns)
		return false;
	(void)record_view_count(record, RECORD_FIELD(slice, fiber), &slice.fiber);
	read_waker(record, &slice);
	if (slice.state == SCHED_RUNNING)
		read_running(record, &slice);
	if (sched_state_is_asleep(slice.state))
		slice.blocked_on = read_reason(record);
	*ret_slice = slice;
	return true;
}
