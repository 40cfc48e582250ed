/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two ways that the edges of a system call can take (session.h): how long each is, and which
 * one each process took. The long way is measured only while some process takes it. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/split.h"
#include "recorder/probe/session.h"

struct ways {
	bool is_long_measured; /* or an attempt was made */
	unsigned int looks_without; /* successive looks without a process on the long way */
};

/*
 * Starts or stops measuring the long way into the kernel, as the modes of the processes require.
 * Call it whenever they may have changed. If it fails, the bound of the split is wider.
 */
void ways_follow(struct ways *ways, struct session *session, const struct observed_table *table);
/* The split was given up, and all measurements with it. */
void ways_give_up(struct ways *ways);

/*
 * Evaluates the samples since since_ns. If the long way is not measured, it gets the values of the
 * short one, with a wider spread. Values without samples stay as they are.
 */
void ways_measure(struct session *session, uint64_t since_ns,
		  struct split_way ret_ways[static _SESSION_WAY_MAX]);

/* Notes which way each process takes in the window that ends, and whether it took both. */
void ways_note(struct observed_table *table, const struct session *session);
