/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The numbers that identify a process. A pid is reused, often within a window, and an exec puts
 * another program behind the same pid.
 *
 * A life is a process from its fork, or from when it was found, to the end of its last thread. An
 * image is a program that it runs: the first image has the number of the life, each exec begins a
 * new one. One counter of the session numbers both from 1 on, and no number is used twice. State of
 * the process is keyed by its life: books, configuration, probes. State of the program is keyed by
 * its image: contexts, symbol names, frames.
 */
#pragma once

#include <linux/types.h>

/* /proc/PID/stat counts start times in these ticks: USER_HZ is 100 on x86-64 and arm64. */
#define LIFE_NS_PER_TICK (10 * 1000 * 1000)

/* Value of the map `lives`, by tgid: the process that had the pid last. */
struct process_life {
	__u64 life;
	/* Start time of the process: field 22 of the observer's /proc/PID/stat. */
	__u64 start_ticks;
};

/* In place of start_ticks: a child of the observer, which keeps its pid until the observer waits
 * for it. */
#define LIFE_OF_OUR_CHILD (~0ULL)
