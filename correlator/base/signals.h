/* SPDX-License-Identifier: GPL-2.0-only */
/* The signals that end a command, as a descriptor to poll: each one ends it with all output
 * written. */
#pragma once

#include <stdbool.h>

#include "base/clock.h"

/*
 * Blocks SIGINT, SIGTERM and SIGHUP in the calling thread, permanently; SIGTERM and SIGHUP only if
 * they are not ignored, as nohup(1) expects (a shell ignores SIGINT for each command that a script
 * puts in the background, and the script may well end it by SIGINT). Returns a non-blocking
 * signalfd(2) for them, owned by the caller; or -errno, logged.
 */
int signals_catch(void);
/* Does the same, and also for the signals by which servers are controlled, to forward them:
 * SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH, SIGTTIN, SIGTTOU, SIGALRM, SIGCONT; none that is ignored. */
int signals_catch_for_command(void);
/* Returns the number of the pending signal, or 0 if there is none yet. ret_is_typed: sent by a
 * terminal (SI_KERNEL, sigaction(2)), and so to the whole process group. */
int signals_read(int fd, bool *ret_is_typed);
/* Whether one is pending. */
bool signals_are_pending(void);

/* timeout(1) signals a process, and then its whole group: both within this time count as one
 * signal. */
#define SIGNALS_ECHO_NS (100 * NS_PER_MS)

/*
 * Makes the next SIGINT only print saying (static text), and the one after it end the process; no
 * effect if SIGINT is ignored. For readers of a pipe: a terminal interrupts the writer, too, which
 * then ends. Undone by signals_obey_interrupt. Single thread.
 */
void signals_spare_interrupt(const char *saying);
void signals_obey_interrupt(void);
