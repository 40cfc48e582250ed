/* SPDX-License-Identifier: MIT */
/*
 * What each native thread publishes, as we know it: a State that we have put in its
 * ruby_profiler_state, noted down in a thread-local that nobody else can reach, and marked by a
 * root as long as it is there. So neither an observer nor we ever meet freed memory, whatever
 * becomes of the fiber, the thread or the fiber-local that the State came from, and whatever
 * another extension stores to the exported variable. The notes of a native thread that ends, and in
 * a forked child those of the parent's other threads, are emptied and used again.
 *
 * The caller runs on the native thread in question and has the GVL, except where it is said.
 */
#pragma once

#include "correlator_state.h"

/* Registers the root. Once, when the extension is loaded; raises if there is no memory. */
void publication_define(void);

/* The State that we published last on this native thread; nil if none. */
VALUE publication_get(void);

/*
 * Publishes a State, whose table is given, or nil with NULL for none. Returns whether that is a
 * change; if not, nothing is stored. Allocates no Ruby object and raises nothing; without memory
 * for the note of a new native thread nothing is published.
 */
bool publication_set(VALUE state, struct Ruby_Profiler_State *table);

/* Stores the same again, where another extension may have stored something else. */
void publication_renew(void);

/* Publishes nothing on this native thread any more, if it is the table. For the collector. */
void publication_withdraw(const struct Ruby_Profiler_State *table);
