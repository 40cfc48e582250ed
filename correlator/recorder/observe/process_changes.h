/* SPDX-License-Identifier: GPL-2.0-only */
/* What happens to processes: the kernel side tells of it, a look finds it, or a search does. */
#pragma once

#include <correlator/events.h>

#include "recorder/observe/recorder_state.h"

/* A session_event_fn; user: the recorder. */
void process_changes_on_event(void *recorder, const struct event *event);

/* Looks at each process at which a look is due. */
void process_changes_look(struct recorder *recorder, uint64_t now_ns);
/* Looks for others, if that is due, and begins to observe them. 0 or -errno (logged). */
int process_changes_search(struct recorder *recorder, uint64_t now_ns);
/* Writes down that a process is observed from then on. 0 or -errno (logged). */
int process_changes_announce(struct recorder *recorder, struct observed *process,
			     uint64_t ktime_ns);
