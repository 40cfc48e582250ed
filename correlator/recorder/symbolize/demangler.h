/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Demangles names of C++ and of Rust, in both of its schemes, by GNU libiberty (demangle.h). Single
 * thread; does not log.
 *
 * Names come from the target, and a short one can keep the library busy for years: back references
 * are expanded each time (Itanium C++ ABI, 5.1.10), and a binder of Rust states its number of
 * lifetimes (v0, "for<'a, 'b, ...>"). So the library runs in the agent (agent.h), which has a limit
 * of CPU time. Results are cached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/cleanup.h"

struct demangler;

enum {
	DEMANGLER_NAMES_MAX = 4096, /* in the cache; one more empties it */
};

/* NULL: out of memory. */
struct demangler *demangler_new(void);
void demangler_free(struct demangler *demangler);
DEFINE_CLEANUP(struct demangler *, demangler_free);

/*
 * Writes a name as in source, cut to fit and then with "…" at its end; unchanged if it is neither
 * of C++ nor of Rust, or cannot be demangled. text_bytes > 3. may_ask: if false, only names in the
 * cache are demangled. False: that cost the library its limit of CPU time, or it crashed.
 */
bool demangler_write(struct demangler *demangler, const char *name, bool may_ask, char *ret_text,
		     size_t text_bytes);
