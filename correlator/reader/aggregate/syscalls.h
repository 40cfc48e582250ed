/* SPDX-License-Identifier: GPL-2.0-only */
/* The system calls of requests, and the time inside, for tally.h. A name is that of a call,
 * prefixed by its table's unless that is the machine's own. */
#pragma once

#include "reader/aggregate/tally.h"

enum syscalls_number {
	SYSCALLS_CALLS,
	SYSCALLS_INSIDE_NS,
	_SYSCALLS_NUMBER_MAX,
};

extern const struct tally_subject syscalls_subject;
