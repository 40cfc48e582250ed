/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The duty of a container's first process: a process whose parent ends is reparented to it, and
 * stays a zombie until the first process reaps it (wait(2)).
 */
#pragma once

/*
 * If we are process 1: forks, and returns in the child, which continues the work. Process 1 itself:
 *   - forwards signals to the child, except those from a terminal, which both receive,
 *   - reaps all other processes,
 *   - wipes its environment,
 *   - exits as the child does (128 + the signal that killed it).
 * Call before any thread is started or descriptor opened. Returns 0, or -errno of fork(2), logged.
 */
int first_process_leave(void);
