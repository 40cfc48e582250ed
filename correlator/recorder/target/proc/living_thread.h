/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The thread through which a process's memory and files are reached. A leader that has exited
 * (pthread_exit(3)) no longer has either, while the remaining threads do: then it is one of these.
 * Each thread has a directory of its own below /proc, although no listing shows it. Any thread;
 * holds nothing. Facts: fs/proc/base.c proc_pid_lookup() (v6.18).
 */
#pragma once

#include <sys/types.h>

/*
 * Returns the leader unless it has exited. Also returns pid if no living thread is among the first
 * ones listed, and for a caller that may not observe processes of others (rights.h): ownership
 * would be checked on one thread and another one read. Call it where pid itself has failed.
 */
pid_t living_thread_of(pid_t pid);
