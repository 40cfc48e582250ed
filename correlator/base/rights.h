/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rights of the caller, and what we were given beyond them: by capabilities of our file
 * (setcap(8)) or ambient ones. They are for observing. All that the caller names (files, folders,
 * sockets, programs) is opened and started with the caller's own rights, and processes of others
 * are observed for root and the members of a group alone.
 *
 * Rights are a thread's (capabilities(7)): one that is started has those that its maker has in
 * force at that moment. Does nothing for root, who is given nothing. Does not log.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Its members may observe processes of others. */
#define RIGHTS_GROUP "correlator"

/*
 * At the start of a program: only the caller's are in force, and no program that is started has
 * more. -EPERM: our file is setuid or setgid, and we would write and read with rights that are not
 * meant for that.
 */
int rights_begin(void);

/* Whether there is anything beyond the caller's. */
bool rights_are_given(void);

/* For good, in this thread: nothing is left of it. */
void rights_give_up(void);

/* Before our own program is started again, by what was forked for that: it is given the same. */
void rights_pass_on(void);

/* Puts the given rights in force in this thread. */
void rights_raise(void);

/* Leaves only the caller's rights in force in this thread. True: the given ones were, before. */
bool rights_lower(void);

static inline void rights_restorep(const bool *was_raised)
{
	if (*was_raised)
		rights_raise();
}
/* To the end of a block. */
#define RIGHTS_OF_CALLER                                                                   \
	__attribute__((unused)) _cleanup_(rights_restorep) const bool were_rights_raised = \
		rights_lower()

/*
 * Whether the caller may observe the process: nothing was given, or the caller is in that group, or
 * the kernel lets the caller look at it without what was given (a process of the caller's, that has
 * no privilege of its own). Also true if it is gone.
 */
bool rights_reach(pid_t pid);

/* The same of all processes of others: nothing was given, or the caller is in that group. */
bool rights_reach_others(void);
