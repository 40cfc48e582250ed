/* SPDX-License-Identifier: MIT */
/*
 * Which State is in force in which fiber, and keeping the thread-local of the native thread in step
 * with it across fiber switches, the start and end of threads, and (Ruby 3.3+) threads that move
 * between native threads.
 *
 * What a fiber has set is a fiber-local of Ruby (what Thread#[] reads): it lives as long as the
 * fiber, works in a frozen Fiber, and is found in a few nanoseconds. A fiber that has set nothing
 * borrows: what was in force in the fiber that first resumed it is in force here too, as long as
 * it is set anywhere, also under a State that was put on top of it. All functions want the GVL.
 */
#pragma once

#include "correlator_state.h"

/* Installs the event hooks. */
void fiber_context_define(void);

/* The State in force in the running fiber, nil if none. */
VALUE fiber_context_get(void);

/* What a fiber_context_enter() put aside. To be kept on the stack, where the collector sees it. */
struct fiber_context {
	VALUE set; /* by the fiber itself: a State, false for none, nil for nothing */
	VALUE left; /* in force though nothing was set, by the fiber before: a State or nil */
};

/*
 * Puts state (a State or nil) in force in the running fiber, until fiber_context_leave(). What is
 * put aside stays lent. Raises FrozenError in a frozen Thread; then nothing has changed.
 */
void fiber_context_enter(VALUE state, struct fiber_context *ret_previous);
void fiber_context_leave(const struct fiber_context *previous);

/* The same for good: what was set before is no longer lent. */
void fiber_context_replace(VALUE state);
