/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names of C++, and of Rust in its older way, as they are written: by __cxa_demangle() of the C++
 * library (Itanium C++ ABI, 5.1), which is looked for when it is first needed. So it need not be
 * there, neither to build nor to run, and names stay as they are without it, as those of
 * Rust's newer way (_R...) do. Single thread; does not log.
 *
 * Names are the target's. What a name refers back to is written out each time, so that a short one
 * can become as long as it likes: one with many references stays as it is.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct demangler;

enum {
	/* Letters that may be a reference; with so many a name grows less than 7,000 times. */
	DEMANGLER_REFERENCES_MAX = 24
};

/* NULL: no memory. */
struct demangler *demangler_new(void);
void demangler_free(struct demangler *demangler);
DEFINE_CLEANUP(struct demangler *, demangler_free);

/*
 * Writes a name as it is written in source, cut to fit and then with "…" at its end; as it is, if
 * it is none of these. text_bytes > 3.
 */
void demangler_write(struct demangler *demangler, const char *name, char *ret_text,
		     size_t text_bytes);
