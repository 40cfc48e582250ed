/* SPDX-License-Identifier: GPL-2.0-only */
/* Changes of processes: reported by the kernel side, or found by a look or by a search. */
#pragma once

#include <correlator/events.h>

#include "recorder/observe/recorder_state.h"

/* A session_event_fn; user: the recorder. */
void process_changes_on_event(void *recorder, const struct event *event);

/* Looks at each process whose look is due. */
void process_changes_look(struct recorder *recorder, uint64_t now_ns);
/* Searches for other processes, if due, and begins to observe them. 0 or -errno (logged). */
int process_changes_search(struct recorder *recorder, uint64_t now_ns);
/* Records that a process is observed from ktime_ns on. 0 or -errno (logged). */
int process_changes_announce(struct recorder *recorder, struct observed *process,
			     uint64_t ktime_ns);
