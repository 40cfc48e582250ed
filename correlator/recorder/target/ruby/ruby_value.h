/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text of a captured value (snapshot.h) as written to records. Pure, except that a callback
 * resolves the names of symbols. Any thread; does not log. Facts: special_consts.h, value_type.h
 * and encindex.h, v2_7_0 to v4_0_1.
 *
 *   String    its text; UTF-16/32 converted; invalid UTF-8 and control characters as \xNN; in an
 *             unknown encoding, also all bytes that are not ASCII
 *   Symbol    its name; ":0x<id>" when the symbol table does not have it
 *   Integer   decimal; a bignum of more than VALUE_BYTES_MAX bytes "#<T_BIGNUM>" with the cut mark
 *   Float     as Ruby prints it (shortest round trip)
 *   true, false; "" for nil: the key is set to nothing
 *   other     "#<T_HASH>": the type, not the class, whose name is not in the snapshot
 *   cut       a text longer than VALUE_BYTES_MAX ends, after its last whole character, in "…#" and
 *             its digest (value_digest.h) as 16 hex digits, so that long ids stay distinct
 *   unreadable  "#<unreadable>"
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <correlator/snapshot.h>

/* Longest text a value can have: each captured byte escaped as \xNN, plus the cut mark and NUL. */
enum {
	VALUE_TEXT_BYTES = 4 * VALUE_BYTES_MAX + 32
};

/* Resolves an ID to its name: 0 or -errno, as ruby_symbols_find_name. context is the caller's. */
typedef int (*ruby_value_symbol_fn)(void *context, uint64_t id, struct value_snapshot *ret_name);

/*
 * Writes the text of value into ret_text (valid UTF-8, NUL-terminated). 0, or 1 when it was cut.
 * -ENODATA: the key is absent. -EAGAIN: a symbol's name could not be read now. -EINVAL: not a value
 * that a kernel program writes (a damaged snapshot). On failure ret_text is untouched. find_symbol
 * may be NULL: then ":0x<id>" is written.
 */
int ruby_value_text(const struct value_snapshot *value, ruby_value_symbol_fn find_symbol,
		    void *context, char ret_text[static VALUE_TEXT_BYTES]);
