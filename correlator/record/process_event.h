/* SPDX-License-Identifier: GPL-2.0-only */
/* The events that process records report. Constant; any thread. */
#pragma once

#include <stddef.h>

/* X(constant, name in records). Append-only. */
#define PROCESS_EVENTS(X)                                                       \
	X(FOUND, "found") /* it is observed from now on */                      \
	X(FORK, "fork") /* so is this child of an observed process */           \
	X(EXEC, "exec") /* it runs another program */                           \
	X(LOAD, "load") /* its contexts are read from now on */                 \
	X(UNLOAD, "unload") /* it has no contexts to read any more */           \
	X(MODE, "mode") /* it is watched more or less closely (watch_mode.h) */ \
	X(EXIT, "exit")

enum process_event {
#define PROCESS_EVENT_CONSTANT(event, name) PROCESS_EVENT_##event,
	PROCESS_EVENTS(PROCESS_EVENT_CONSTANT)
#undef PROCESS_EVENT_CONSTANT
	_PROCESS_EVENT_MAX,
};

static inline const char *process_event_name(enum process_event event)
{
	static const char *const names[_PROCESS_EVENT_MAX] = {
#define PROCESS_EVENT_NAME(event, name) [PROCESS_EVENT_##event] = (name),
		PROCESS_EVENTS(PROCESS_EVENT_NAME)
#undef PROCESS_EVENT_NAME
	};

	return names[event];
}
