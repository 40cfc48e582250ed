/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * By which thread a process's memory and files are reached. A leader that has exited
 * (pthread_exit(3)) has neither any more, while its threads go on with both: then it is one of
 * these. A thread has a folder of its own below /proc, though no listing has it. Any thread; holds
 * nothing. Facts: fs/proc/base.c proc_pid_lookup() (v6.18).
 */
#pragma once

#include <sys/types.h>

/*
 * The leader unless it has exited; the pid, too, where no living thread is among the first that are
 * listed, and for a caller that may not observe processes of others (rights.h): of a thread it
 * would be asked who owns it, and another one read. To be called where the pid has failed.
 */
pid_t living_thread_of(pid_t pid);
