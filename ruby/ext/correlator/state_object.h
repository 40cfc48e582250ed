/* SPDX-License-Identifier: MIT */
/*
 * Correlator::State: an immutable set of key/value pairs as a Ruby object, around one table of
 * correlator_state.h, which it fills, marks and owns. Keys are Symbols, values any objects; an
 * unfrozen String is copied, so that the application cannot change a context by changing it.
 */
#pragma once

#include "correlator_state.h"

/* Defines Correlator::State (methods size, to_h, [] and inspect; no new) under the module
 * `correlator`. */
void state_object_define(VALUE correlator);

/*
 * A new State: the pairs of `base` (a State or nil) with those of the Hash `pairs` over them.
 * Raises TypeError for a key that is not a Symbol and ArgumentError above
 * CORRELATOR_STATE_KEYS_MAX keys, or when CORRELATOR_STATE_NAMES_MAX is used up.
 */
VALUE state_object_new(VALUE base, VALUE pairs);

/* A frozen Hash of the pairs. state must be a State. */
VALUE state_object_to_h(VALUE state);

/*
 * The value of key, nil without one. state: a State or nil. Raises TypeError for a key that is not
 * a Symbol.
 */
VALUE state_object_fetch(VALUE state, VALUE key);

/* Whether object is a State. */
bool state_object_is(VALUE object);

/* The table of a State; NULL for any other object. Valid as long as the object is alive. */
struct Ruby_Profiler_State *state_object_table(VALUE object);
