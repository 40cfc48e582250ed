/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The rights of the caller, and those we were given beyond them by file capabilities (setcap(8)) or
 * ambient ones. The given rights are for observing only. Everything the caller names (files,
 * folders, sockets, programs) is opened and started with the caller's own rights, and other users'
 * processes are observed only for root and for the members of a group.
 *
 * Rights are per thread (capabilities(7)): a new thread starts with the effective rights of its
 * creator at that moment. Does nothing for root, who is given nothing. Does not log.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/cleanup.h"

/* Its members may observe other users' processes. */
#define RIGHTS_GROUP "correlator"

/*
 * Call at program start: leaves only the caller's rights in force, and lets no program that we
 * start have more. -EPERM: our file is setuid or setgid, so we would read and write with rights
 * that are not meant for that.
 */
int rights_begin(void);

/* Whether we were given any rights beyond the caller's. */
bool rights_are_given(void);

/* Drops the given rights in this thread for good. */
void rights_give_up(void);

/* Call in a forked child before it execs our own program again: passes the given rights on. */
void rights_pass_on(void);

/* Puts the given rights in force in this thread. */
void rights_raise(void);

/* Leaves only the caller's rights in force in this thread. Returns true if the given ones were in
 * force before. */
bool rights_lower(void);

static inline void rights_restorep(const bool *was_raised)
{
	if (*was_raised)
		rights_raise();
}
/* Lowers the rights until the end of the block. */
#define RIGHTS_OF_CALLER                                                                   \
	__attribute__((unused)) _cleanup_(rights_restorep) const bool were_rights_raised = \
		rights_lower()

/*
 * Whether the caller may observe the process. True if
 *   - nothing was given,
 *   - the caller is a member of RIGHTS_GROUP,
 *   - the kernel lets the caller inspect it without the given rights (a process of the caller's
 *     that has no privileges of its own), or
 *   - the process is gone.
 */
bool rights_reach(pid_t pid);

/* Whether the caller may observe all processes of other users: nothing was given, or the caller is
 * a member of RIGHTS_GROUP. */
bool rights_reach_others(void);
