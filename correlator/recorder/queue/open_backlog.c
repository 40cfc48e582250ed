/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/open_backlog.h"

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
	/* 1 ns is long past; 0 would disarm the timer. */
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
	const struct segment *segment = backlog->queue.segments;

	while (segment != open && !segment->is_sealed)
		segment = segment->next;
	/* If a sealed segment is ahead of it, there is no hurry: fewer, larger files. */
	if (segment != open)
		return open->opened_ns + 5 * backlog->options.seal_ns;
	while (segment && !segment->is_sealed)
		segment = segment->next;
	/* A sealed segment behind it must not wait long. */
	return open->opened_ns + backlog->options.seal_ns / (segment ? 10 : 1);
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
	segment_queue_lose_segment(&backlog->queue, segment, reason);
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
