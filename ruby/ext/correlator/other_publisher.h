/* SPDX-License-Identifier: MIT */
/*
 * Another extension that publishes the same variable and was loaded after this one: the gem
 * ruby-profiler, when the application loads it later. Ruby loads extensions into one namespace, so
 * what it stores lands in our variable, at its apply! and at each switch of fibers (NULL for a
 * fiber without a state of its own), its hook before ours. What it stores is not read: it is asked,
 * by what it makes public, a fiber's @ruby_profiler_state and that object's apply!.
 */
#pragma once

#include <stdbool.h>

/* Once, when the extension is loaded. */
void other_publisher_define(void);

/* Whether there is one. Cheap; looks for it when Ruby has loaded something since. Any Ractor. */
bool other_publisher_is_there(void);

/*
 * Has it publish what the running fiber has of it; nothing if it has nothing. It is Ruby code: it
 * may raise what another thread raises here, but not that the Fiber is frozen.
 */
void other_publisher_restore(void);
