/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The duty of the first process of a container: a process whose parent ends becomes its child, and
 * stays as a zombie until the first process asks for its status (wait(2)).
 */
#pragma once

/*
 * If we are process 1: forks, and returns in the child, which goes on with the work. Process 1
 * itself passes signals on to it, but for those of a terminal, which both get; asks for the status
 * of all other processes; wipes its environment; and ends as the child does (128 + the signal that
 * killed it). Before any thread is started or descriptor opened. 0; -errno of fork(2), logged.
 */
int first_process_leave(void);
