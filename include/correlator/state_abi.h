/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ABI that the target publishes and Correlator reads: one pointer per native thread.
 *
 *   extern _Thread_local struct Ruby_Profiler_State *ruby_profiler_state;    NULL = no context
 *
 * Source: socketry/ruby-profiler, ext/ruby/profiler/state.h at 945c8ae; the gem in ruby/
 * publishes the same. All fields are the target's data: validate before use (table_probe.h).
 */
#pragma once

#include <linux/types.h>

#define STATE_SYMBOL "ruby_profiler_state"

/* An ID of Ruby's symbol table and a VALUE. key 0 marks an empty slot. */
struct state_pair {
	__u64 key;
	__u64 value;
};

/* Followed in memory by `capacity` pairs. size = slots in use, capacity = a power of two. */
struct state_header {
	__u64 size;
	__u64 capacity;
};

_Static_assert(sizeof(struct state_pair) == 16, "ABI: pair");
_Static_assert(sizeof(struct state_header) == 16, "ABI: header");
