/* SPDX-License-Identifier: GPL-2.0-only */
/* The signals that end a command, as something to wait for: each ends with everything written. */
#pragma once

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in the calling thread, for good. Returns a signalfd(2) for
 * them, non-blocking, the caller's; or -errno, logged.
 */
int signals_catch(void);
/* Which one came: its number; 0: none yet. */
int signals_read(int fd);
