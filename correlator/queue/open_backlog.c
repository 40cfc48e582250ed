/* SPDX-License-Identifier: GPL-2.0-only */
#include "queue/open_backlog.h"

#include <stdlib.h>
#include <sys/timerfd.h>

#include <utlist.h>

#include "base/clock.h"

void backlog_wake_reader_at(struct backlog *backlog, uint64_t due_ns)
{
	struct itimerspec due = { .it_value = clock_timespec(due_ns) };

	(void)timerfd_settime(backlog->timer_fd, TFD_TIMER_ABSTIME, &due, NULL);
}

void backlog_wake_reader(struct backlog *backlog)
{
	/* Long past; 0 would disarm it. */
	backlog_wake_reader_at(backlog, 1);
}

void backlog_wake_keeper(struct backlog *backlog)
{
	(void)pthread_cond_signal(&backlog->work);
}

bool backlog_is_durable(const struct backlog *backlog)
{
	return backlog->store && backlog->store->type->is_durable;
}

uint64_t backlog_due_ns(const struct backlog *backlog, const struct segment *open)
{
	/* While others wait before it there is no haste: fewer, larger files. */
	const uint64_t patience = 5;

	return open->opened_ns +
	       backlog->options.seal_ns * (open == backlog->queue.segments ? 1 : patience);
}

void backlog_seal_segment(struct backlog *backlog, struct segment *segment)
{
	segment_queue_seal(&backlog->queue, segment);
	backlog_wake_keeper(backlog);
	if (!backlog_is_durable(backlog))
		backlog_wake_reader(backlog);
}

void backlog_lose(struct backlog *backlog, struct segment *segment, const char *reason)
{
	segment_queue_count_lost(&backlog->queue, segment, segment->entries, true, reason);
	segment_queue_remove(&backlog->queue, segment);
}

void backlog_throw_away(struct backlog *backlog, struct segment *segment)
{
	if (!segment->is_busy && !segment->number && !segment->written_bytes) {
		segment_free(segment);
		return;
	}
	if (!segment->is_busy)
		free(TAKE_PTR(segment->bytes));
	DL_APPEND(backlog->trash, segment);
	backlog_wake_keeper(backlog);
}
