/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * By which number a process is known. A pid comes again, often within a window, and an exec puts
 * another program behind the same one.
 *
 * A life is a process from its fork, or from when it was found, to the end of its last thread. An
 * image is a program that it runs: the first one has the number of the life, each exec begins
 * another one. All are numbered from 1 on by one counter of the session, and no number is used
 * twice. What is the process's is known by its life: books, configuration, probes. What is the
 * program's, by the image: contexts, names of symbols, frames.
 */
#pragma once

#include <linux/types.h>

/* /proc/PID/stat counts start times in these ticks: USER_HZ is 100 on x86-64 and arm64. */
#define LIFE_NS_PER_TICK (10 * 1000 * 1000)

/* Value of the map `lives`, by tgid: whose that pid was last. */
struct process_life {
	__u64 life;
	/* When the process started, as /proc/PID/stat of the observer says it: field 22. */
	__u64 start_ticks;
};

/* In place of start_ticks: a child of the observer's, which has its pid until that waits for it. */
#define LIFE_OF_OUR_CHILD (~0ULL)
