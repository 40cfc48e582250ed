/* SPDX-License-Identifier: GPL-2.0-only */
/* The signals that end a command, as something to wait for: each ends with everything written. */
#pragma once

#include <stdbool.h>

#include "base/clock.h"

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in the calling thread, for good; SIGTERM and SIGHUP not if they
 * are ignored, as nohup(1) wants it (a shell ignores SIGINT for each command that a script puts in
 * the background, and the script may well end it by that). Returns a signalfd(2) for them,
 * non-blocking, the caller's; or -errno, logged.
 */
int signals_catch(void);
/* The same, and of those by which servers are told something, to be passed on: SIGUSR1, SIGUSR2,
 * SIGQUIT, SIGWINCH, SIGTTIN, SIGTTOU, SIGALRM, SIGCONT; none that is ignored. */
int signals_catch_for_command(void);
/* Which one came: its number; 0: none yet. ret_is_typed: a terminal sent it (SI_KERNEL,
 * sigaction(2)): so it did to the whole process group. */
int signals_read(int fd, bool *ret_is_typed);
/* True: one waits to be read. */
bool signals_are_pending(void);

/* What timeout(1) sends to a process, and then to its whole group, is one signal. */
#define SIGNALS_ECHO_NS (100 * NS_PER_MS)

/*
 * The next SIGINT is only said (saying: static), and the one after it ends the process; unless it
 * is ignored. For who reads a pipe: a terminal interrupts the writer, too, which then ends. Undone
 * by signals_obey_interrupt. Single thread.
 */
void signals_spare_interrupt(const char *saying);
void signals_obey_interrupt(void);
