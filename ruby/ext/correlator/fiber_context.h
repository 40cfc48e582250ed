/* SPDX-License-Identifier: MIT */
/*
 * Which State is in force in which fiber, and keeping the thread-local of the native thread in step
 * with it across fiber switches, and the start and end of threads.
 *
 * What a fiber works for is its Place (place.h), an instance variable of the Fiber that Ruby does
 * not see. It is a fiber-local (what Thread#[] reads), too, which is found sooner, but which
 * servers wipe and libraries copy to other fibers and threads: it names its fiber, and is ignored
 * in any other. So a frozen Thread, or a frozen Fiber, has contexts as any other.
 *
 * A fiber that has set nothing borrows: what was in force in the fiber that first resumed it is in
 * force here too, until it ends there. All functions want the GVL.
 */
#pragma once

#include "correlator_state.h"

/* Installs the event hooks; correlator is the module. */
void fiber_context_define(VALUE correlator);

/* The State in force in the running fiber, nil if none. */
VALUE fiber_context_get(void);

/* How to go back. To be kept on the stack, where the collector sees it. */
struct fiber_context {
	VALUE object; /* the Place of the fiber that entered */
	struct place *place; /* in it */
	size_t frames; /* that it had before */
	VALUE left_object; /* the Place whose context was in force though the fiber had none; nil */
	struct place *left; /* in it; NULL */
};

/*
 * Puts state (a State or nil) in force in the running fiber, until fiber_context_leave(). What is
 * put aside stays lent. Raises FrozenError in a frozen Fiber of a frozen Thread, or NoMemoryError;
 * then nothing has changed.
 */
void fiber_context_enter(VALUE state, struct fiber_context *ret_previous);

/* Publishes what was put in force; after leaving, what was before. */
void fiber_context_show(const struct fiber_context *previous);
void fiber_context_leave(const struct fiber_context *previous);

/* The same for good: what was set before is no longer lent. */
void fiber_context_replace(VALUE state);

/*
 * Puts state in force instead of the State that is: nothing ends, those who have borrowed that one
 * keep it. If none is in force, nothing happens.
 */
void fiber_context_renew(VALUE state);
