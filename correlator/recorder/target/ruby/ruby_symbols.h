/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The symbol table of a live CRuby (2.7 to 4.1dev), read from outside: the ID of a key's name, and
 * the name of an ID. No table of versions: the layout is probed with a semantic test. One object
 * per process image (an exec needs a new one; a forked child has the parent's IDs but needs its own
 * object). Owned by a ruby_target; single thread; does not log. Reads may sleep some milliseconds,
 * see -EAGAIN.
 *
 * The table may change while it is read. An inconsistent read is retried after 1 ms, at most 5
 * times per call and 20 times per second, then reported as -EAGAIN. A found ID or name has been
 * read twice, so it is right; an absence is never cached.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/config.h>
#include <correlator/snapshot.h>

#include "base/cleanup.h"
#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_id_table.h"

struct ruby_symbols;

/* Longer names are not found: no key of a context needs them. */
enum {
	RUBY_SYMBOL_NAME_BYTES_MAX = 1024
};

/*
 * Finds the table: at table_address when that is not 0 and passes the test, else by scanning the
 * ranges (at most 64 MiB in all, read in bulk) for the one 8-aligned address that passes. The test:
 * the IDs of '!', '+', '<', '`' decode to those characters.
 * 0, -ENOENT (no table: not Ruby, or Ruby is still starting: try again), -ENOTUNIQ (several
 * addresses pass: refuse), -E2BIG (more addresses look like a table than any Ruby has: refuse),
 * -ENOMEM, or what the reader returned when nothing could be read.
 * The reader is copied (what its context points to is borrowed); *ret_symbols is owned by the
 * caller.
 */
int ruby_symbols_new(const struct memory_reader *reader, uint64_t table_address,
		     const struct ruby_data_range *ranges, size_t range_count,
		     struct ruby_symbols **ret_symbols);
void ruby_symbols_free(struct ruby_symbols *symbols);
DEFINE_CLEANUP(struct ruby_symbols *, ruby_symbols_free);

/* Where the table is, and what the probe found. */
uint64_t ruby_symbols_table_address(const struct ruby_symbols *symbols);
enum string_layout ruby_symbols_string_layout(const struct ruby_symbols *symbols);

/*
 * Looks up names[i] for each i with ret_ids[i] == 0 and stores the ID if found. Names that are not
 * in the table stay 0, which is normal early in a process's life: call again. While the names still
 * wanted are the same, a later call reads only symbols added since. Returns the number of names
 * still without an ID, or -EAGAIN (some part could not be read now, or there are more than the two
 * million symbols that one call reads: the next call continues from there), -ENOMEM, or an error of
 * the reader. IDs found before an error are kept.
 */
int ruby_symbols_find_ids(struct ruby_symbols *symbols, const char *const *names, size_t name_count,
			  uint64_t *ret_ids);

/*
 * The name of an ID, in the form in which the kernel programs capture a heap symbol's:
 * VALUE_KIND_SYMBOL. 0, -ENOENT (no such ID, yet), -EAGAIN, or an error of the reader. Names are
 * cached: an ID keeps its name for the process's life.
 */
int ruby_symbols_find_name(struct ruby_symbols *symbols, uint64_t id,
			   struct value_snapshot *ret_name);

/* True if the name of an ID is cached: ruby_symbols_find_name() reads no memory for it. */
bool ruby_symbols_has_name(const struct ruby_symbols *symbols, uint64_t id);
/* Drops the name of an ID from the cache, if it is there. */
void ruby_symbols_forget_name(struct ruby_symbols *symbols, uint64_t id);
