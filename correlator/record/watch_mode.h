/* SPDX-License-Identifier: GPL-2.0-only */
/* How closely a process is watched, or all of them together (reader/report/README.md, "Modes").
 * Constant; any thread. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* X(constant, name in records). */
#define WATCH_MODES(X)                \
	X(EXACT, "exact")             \
	X(PARTLY_LEAN, "partly-lean") \
	X(LEAN, "lean")               \
	X(SWITCH_ONLY, "switch-only") /* lean, and without the requested kernel split */

enum watch_mode {
	WATCH_MODE_NONE = 0, /* not known */
#define WATCH_MODE_CONSTANT(mode, name) WATCH_MODE_##mode,
	WATCH_MODES(WATCH_MODE_CONSTANT)
#undef WATCH_MODE_CONSTANT
	_WATCH_MODE_MAX,
};

/* Returns its name in records; NULL for WATCH_MODE_NONE. */
static inline const char *watch_mode_name(enum watch_mode mode)
{
	static const char *const names[_WATCH_MODE_MAX] = {
#define WATCH_MODE_NAME(mode, name) [WATCH_MODE_##mode] = (name),
		WATCH_MODES(WATCH_MODE_NAME)
#undef WATCH_MODE_NAME
	};

	return names[mode];
}

/* Whether a record's mode name is a mode other than exact; false for "" (no mode). */
static inline bool watch_mode_is_inexact(const char *name)
{
	return name[0] != '\0' && strcmp(name, watch_mode_name(WATCH_MODE_EXACT)) != 0;
}
