/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whose each drained account is: finds the process and the context of each row of a window. Single
 * thread.
 */
#pragma once

#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

/*
 * A child whose fork event was lost is known from here on. A context that is met for the first time
 * is taken from the session and decoded, with the symbols of its image; a symbol whose name cannot
 * be had, because its process runs another image by now or cannot be read, is ":0x<id>@<image>".
 * A row whose context cannot be had is left without one. 0 or -ENOMEM.
 */
int resolve_rows(struct window *window, struct observed_table *processes,
		 struct context_table *contexts, struct session *session);
