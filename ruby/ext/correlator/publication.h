/* SPDX-License-Identifier: MIT */
/*
 * What each Ruby thread publishes, as we know it: a State whose table we have put in the
 * ruby_profiler_state of its native thread, and the Place that it comes from. It is noted down
 * where nobody else can reach it, and marked by a root as long as it is there. So neither an
 * observer nor we ever meet freed memory, whatever becomes of the fiber, the thread or the Place
 * that the State came from, and whatever another extension stores to the exported variable.
 *
 * From Ruby 3.3 on Ruby's threads may share native ones (RUBY_MN_THREADS=1, and threads of other
 * Ractors): a native thread changes its Ruby thread without any switch of fibers. Then the
 * variable is set anew from the note of the thread that goes on. The notes of a thread that ends,
 * and in a forked child those of the parent's other threads, are emptied and used again.
 *
 * The caller runs on the native thread in question and has the GVL, except where it is said.
 */
#pragma once

#include "correlator_state.h"

struct place;

/* Registers the root and the hooks. Once, when the extension is loaded; raises without memory. */
void publication_define(void);

/*
 * The Place that was last given for this Ruby thread, NULL if none was yet: it lives as long as it
 * is the last one. And whether a State is published, which then is that Place's.
 */
struct place *publication_place(bool *ret_is_published);

/*
 * Publishes a State, whose table is given, or nil with NULL for none, as what is in force in place
 * (NULL: in a fiber that has none). Returns whether the table is another one than before; if not,
 * nothing is stored. Allocates no Ruby object and raises nothing; without memory for the note of a
 * new thread nothing is published.
 */
bool publication_set(VALUE state, struct Ruby_Profiler_State *table, struct place *place);

/* A Ruby thread begins or ends: nothing is published, and what was noted down is forgotten. */
void publication_end(void);

/* Stores the same again, where another extension may have stored something else. */
void publication_renew(void);

/* Publishes nothing on this native thread any more, if it is the table. For the collector. */
void publication_withdraw(const struct Ruby_Profiler_State *table);

/* What is shown of the Ruby thread that runs here, which may add to its counters; NULL: nothing. */
struct correlator_thread *publication_shown(void);

/* From now on these (enum correlator_thread_flags) are announced of all threads. */
void publication_count(uint32_t flags);

/*
 * From now on counts, for each thread that publishes, how long it waits for the GVL
 * (CORRELATOR_THREAD_COUNTS_GVL). False: Ruby tells of it only since 3.3.
 */
bool publication_count_gvl(void);
