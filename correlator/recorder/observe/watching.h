/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How closely each process, and the recording as a whole, is watched: what changes that mode, and
 * what records and the log say about it. Functions that return an int return 0 or -errno (logged).
 */
#pragma once

#include "recorder/observe/recorder_state.h"

/* Why a recording falls back from exact to lean. */
#define WATCHING_REASON_OTEL "OpenTelemetry's contexts change without a probe"

/* The mode of a process: WATCH_MODE_LEAN if the session is lean. */
enum watch_mode watching_mode(const struct recorder *recorder, const struct observed *process);

/* Writes a process record. */
int watching_tell_process(struct recorder *recorder, struct observed *process,
			  enum process_event event, uint64_t ktime_ns);
/* Writes a meta record. reason: why the mode differs from the requested one; NULL: it does not. */
int watching_tell(struct recorder *recorder, const char *reason);

/* Logs the new mode of a process. Its process record has it, too. */
void watching_say(struct recorder *recorder, struct observed *process);
/* Logs, once, that some processes have OpenTelemetry contexts. */
void watching_note_otel(struct recorder *recorder);

/*
 * Writes a process record for each changed mode, and then a meta record if the mode or the split of
 * the whole recording has changed.
 */
int watching_follow(struct recorder *recorder);
/* At the end of a window: adapts the modes to the budget, and to changes that the probes missed. */
int watching_keep(struct recorder *recorder);
