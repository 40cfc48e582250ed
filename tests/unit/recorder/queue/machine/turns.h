/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Two that take turns in one thread, by a clock that stands: the story, which appends and reads,
 * and the backlog's keeper, in place of its thread. libc's condition variables, its clock and
 * thread_start are here. Each may go on wherever the other waits, or calls the disk.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The clock of the next story; nobody is there but the story itself. */
void turns_begin(uint64_t now_ns);
uint64_t turns_now_ns(void);
void turns_advance(uint64_t ns);

/* A call of the disk takes this long. With 0 the other one has a turn meanwhile. */
void turns_pause(uint64_t ns);

/* Lets the keeper go on until it waits, or is at its next call. False: it has nothing to do now. */
bool turns_run_keeper(void);

/* Something waited for what never comes. */
bool turns_are_stuck(void);
