/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two ways that the edges of a system call go (session.h): how long each is, and which one the
 * processes went. The long one is measured only while some process goes it. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/observe/process/observed.h"
#include "recorder/observe/window/split.h"
#include "recorder/probe/session.h"

struct ways {
	bool is_long_measured; /* or it was tried */
	unsigned int looks_without; /* one that goes it, since there was one */
};

/* At each look at the modes: has the long way measured, or no more. If that fails, the bound is
 * wider. */
void ways_follow(struct ways *ways, struct session *session, const struct observed_table *table);
/* The split was given up, and each measurement with it. */
void ways_give_up(struct ways *ways);

/* What was measured since then. A long way that is not is taken for the short one, and doubted.
 * What there are no samples of stays as it is. */
void ways_measure(struct session *session, uint64_t since_ns,
		  struct split_way ret_ways[static _SESSION_WAY_MAX]);

/* Which way each process went in the window that ends, or went in part. */
void ways_note(struct observed_table *table, const struct session *session);
