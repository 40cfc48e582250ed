/*
 * Which State is in force in which fiber, and keeping the thread-local of the native thread in step
 * with it across fiber switches, the start and end of threads, and (Ruby 3.3+) threads that move
 * between native threads.
 *
 * The State of a fiber is a fiber-local of Ruby (what Thread#[] reads): it lives as long as the
 * fiber, works in a frozen Fiber, and is found in a few nanoseconds. All functions want the GVL.
 */
#pragma once

#include "correlator_state.h"

/* Installs the event hooks. Raises ThreadError on Ruby 3.3+ if no thread-specific key is left. */
void fiber_context_define(void);

/* The State in force in the running fiber, nil if none. */
VALUE fiber_context_get(void);

/*
 * Puts state (a State or nil) in force in the running fiber. Raises FrozenError in a frozen Thread;
 * then nothing has changed.
 */
void fiber_context_set(VALUE state);
