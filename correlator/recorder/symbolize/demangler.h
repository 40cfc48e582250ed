/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Demangles names of C++, and of Rust's older scheme, by __cxa_demangle() of the C++ library
 * (Itanium C++ ABI, 5.1), which is loaded on first use. So the library is optional, at build time
 * and at run time: without it names stay mangled, as those of Rust's newer scheme (_R...) do.
 * Single thread; does not log.
 *
 * Names come from the target. Back references are expanded each time, so a short name can become
 * arbitrarily long: a name with many references stays mangled.
 */
#pragma once

#include <stddef.h>

#include "base/cleanup.h"

struct demangler;

enum {
	/* Letters that may be references; with that many a name grows less than 7,000 times. */
	DEMANGLER_REFERENCES_MAX = 24
};

/* NULL: out of memory. */
struct demangler *demangler_new(void);
void demangler_free(struct demangler *demangler);
DEFINE_CLEANUP(struct demangler *, demangler_free);

/*
 * Writes a name as in source, cut to fit and then with "…" at its end; unchanged if it is neither
 * C++ nor old-scheme Rust. text_bytes > 3.
 */
void demangler_write(struct demangler *demangler, const char *name, char *ret_text,
		     size_t text_bytes);
