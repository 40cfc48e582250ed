/* SPDX-License-Identifier: MIT */
/*
 * How long each thread that publishes is inside of garbage collections, and how many it begins: in
 * steps, as Ruby does them, in the thread that allocates. Noted beside what it publishes
 * (publication.h), as CORRELATOR_THREAD_COUNTS_GC and CORRELATOR_THREAD_TIMES_GC have it.
 *
 * By CLOCK_MONOTONIC, which takes no system call: an observer that knows when the thread was off
 * its CPU makes CPU time of it. Not counted are collections inside of the hooks that other
 * extensions have for allocations: Ruby tells nobody of them.
 */
#pragma once

/* Once, when the extension is loaded. */
void collections_define(void);

/* From now on, in this Ractor, and in each other one from its next context on. Raises
 * NoMemoryError. */
void collections_count(void);

/* A context is put in force in this Ractor: Ruby tells of collections in each Ractor apart. */
void collections_follow_ractor(void);
