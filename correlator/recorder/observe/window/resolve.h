/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the process and the context of each row of a window. Single thread. */
#pragma once

#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/window.h"
#include "recorder/probe/session.h"

/*
 * Adds a child whose fork event was lost. Takes each new context from the session and decodes it
 * with the symbols of its image. A symbol without a name, because its process now runs another
 * image or cannot be read, becomes ":0x<id>@<image>". A row whose context is unavailable gets none.
 * 0 or -ENOMEM.
 */
int resolve_rows(struct window *window, struct observed_table *processes,
		 struct context_table *contexts, struct session *session);
