/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Wanted keys that no context had, and the keys that contexts have instead: otherwise nothing in a
 * recording shows that a key was mistyped. Single thread.
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

/* Zero-initialized; owns nothing. */
struct missing_keys {
	uint32_t found; /* bit N: some context had key N */
	bool has_contexts; /* some context was in force */
	char names[MISSING_KEYS_NAMES_MAX][MISSING_KEYS_NAME_BYTES]; /* of keys in contexts */
	size_t name_count;
};

/* Notes a context that was in force; NULL: none was. */
void missing_keys_note(struct missing_keys *missing, const struct key_options *keys,
		       const struct context *context);
/* True if a wanted key was in no context so far. Late keys do not count: they may still arrive. */
bool missing_keys_lacks_some(const struct missing_keys *missing, const struct key_options *keys);
/* Collects the names of the keys in seen, by find_symbol; skips keys that it cannot name. */
void missing_keys_see(struct missing_keys *missing, const struct seen_keys *seen,
		      ruby_value_symbol_fn find_symbol, void *context);
/* Logs a warning for each missing key, if there were contexts. */
void missing_keys_say(const struct missing_keys *missing, const struct key_options *keys);
