/* SPDX-License-Identifier: GPL-2.0-only */
/* A process as windows see it: its balance, and counts of what it does in them. Plain data. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/observe/process/balance.h"
#include "recorder/observe/process/unseen_changes.h"
#include "recorder/probe/session.h"

struct window_process {
	uint32_t pid;
	uint32_t ns_pid; /* in its own pid namespace; 0 = not known */
	bool mixes_threads; /* its contexts may be those of other Ruby threads */
	struct balance balance;
	enum session_way way; /* of its system calls */
	bool has_both_ways; /* its mode changed in the window */
	/* In this window, plus half of the value before it: */
	uint64_t stints; /* on a CPU */
	uint64_t boundaries; /* ends of stints, and edges of system calls */
	uint64_t window_stints; /* in this window alone */
	struct unseen_changes unseen;
};
