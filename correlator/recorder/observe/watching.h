/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How closely each process is watched, and all of them together: what changes it, and what records
 * and the log say of that. All but watching_mode() and watching_say() return 0 or -errno (logged).
 */
#pragma once

#include "recorder/observe/recorder_state.h"

/* Why a recording is not exact that was not asked to be lean. */
#define WATCHING_REASON_OTEL "OpenTelemetry's contexts change without a probe"

/* Of a process, as the session is. */
enum watch_mode watching_mode(const struct recorder *recorder, const struct observed *process);

/* Writes a process record. */
int watching_tell_process(struct recorder *recorder, struct observed *process,
			  enum process_event event, uint64_t ktime_ns);
/* Writes a meta record. reason: why the mode is another one than was asked for; NULL: it is not. */
int watching_tell(struct recorder *recorder, const char *reason);

/* Logs the mode of a process that has changed it. Its record says it, too. */
void watching_say(struct recorder *recorder, struct observed *process);
/* And that some have contexts of OpenTelemetry, once. */
void watching_note_otel(struct recorder *recorder);

/*
 * Writes down what changed: of a process, and then, if that is another one by now, of all together.
 */
int watching_follow(struct recorder *recorder);
/* At the end of a window: brings the modes to what they may cost, and to what is seen. */
int watching_keep(struct recorder *recorder);
