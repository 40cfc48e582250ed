/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wanted keys that no context had, and those that there are in their place: a mistyped key would
 * make a recording of which nobody sees what is wrong with it. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/seen_keys.h>

#include "recorder/observe/process/key_options.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/target/ruby/ruby_value.h"

enum {
	MISSING_KEYS_NAMES_MAX = 8,
	MISSING_KEYS_NAME_BYTES = 64,
};

/* Zero at first; owns nothing. */
struct missing_keys {
	uint32_t found; /* bit N: some context had key N */
	bool has_contexts; /* there were some */
	char names[MISSING_KEYS_NAMES_MAX][MISSING_KEYS_NAME_BYTES]; /* that contexts have */
	size_t name_count;
};

/* A context that was in force; NULL: none. */
void missing_keys_note(struct missing_keys *missing, const struct key_options *keys,
		       const struct context *context);
/* Some wanted key was in no context so far, whose name is to be said: not a late one, which may be
 * on its way. */
bool missing_keys_lacks_some(const struct missing_keys *missing, const struct key_options *keys);
/* Names the keys of a table by this function; what it cannot name is passed over. */
void missing_keys_see(struct missing_keys *missing, const struct seen_keys *seen,
		      ruby_value_symbol_fn find_symbol, void *context);
/* Logs a warning for each that is missing, where there were contexts. */
void missing_keys_say(const struct missing_keys *missing, const struct key_options *keys);
