/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The array in a live CRuby that leads from an ID's serial number to its name and its symbol:
 * `ids` in ruby_global_symbols (symbol.c). Every read starts at the table's own address again,
 * because the objects behind it move and are reallocated while Ruby runs. Owns nothing; single
 * thread; does not log.
 *
 * The table is u32 counter @0, VALUE ids @16 in all versions; a page holds 512 entries. The
 * differences show in the objects' own types, so no version is needed:
 *   2.7 to 4.0             Array of page Arrays: element 2n the name, 2n + 1 the symbol
 *   4.1dev to 2026-07-30   Array of T_DATA pages: {size, capacity, {symbol, name}[]}
 *   4.1dev since           T_DATA {capacity, pages} of such T_DATA pages
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/config.h>

#include "recorder/target/proc/memory_reader.h"
#include "recorder/target/ruby/ruby_object.h"

enum {
	RUBY_ID_PAGE_ENTRIES = 512, /* ID_ENTRY_UNIT */
	/* Some 3 GiB of symbols: a larger word is not a counter. */
	RUBY_ID_SERIAL_MAX = 1 << 26,
	/* A Ruby just started has its 168 to 171 operators and a few hundred names of its own. */
	RUBY_ID_SERIAL_MIN = 200,
	/* Words read at the table's address: counter, one pointer, ids. */
	RUBY_ID_TABLE_WORDS = 3,
	/* Limit of a scan for the table; libruby's data is 30 to 270 KiB. */
	RUBY_ID_TABLE_BYTES_MAX = 64 << 20,
	/* Addresses that pass the filter; a Ruby has some dozens. */
	RUBY_ID_TABLE_CANDIDATES_MAX = 1 << 16,
};

/* A writable, file-backed range of the object that defines Ruby (libruby or a static ruby). */
struct ruby_data_range {
	uint64_t address;
	uint64_t size_bytes;
};

/* Filled by ruby_id_table_probe. The reader is borrowed. */
struct ruby_id_table {
	const struct memory_reader *reader;
	uint64_t address;
	enum string_layout string_layout;
};

struct ruby_id_entry {
	uint64_t name; /* VALUE of a String; 0, 4 or 8 (nil) = empty */
	uint64_t symbol; /* VALUE of the symbol: immediate, or a T_SYMBOL */
};

/*
 * The serial number in an ID. Operators (below tLAST_OP_ID, at most 171) are their own serial; all
 * others have four bits of scope below it, so they are at least 2704. ID 0 (none) gives 0.
 */
static inline uint64_t ruby_id_serial(uint64_t id)
{
	return id < 1024 ? id : id >> 4;
}

static inline bool ruby_id_entry_is_empty(const struct ruby_id_entry *entry)
{
	return entry->name == 0 || entry->name == 4 || entry->name == 8;
}

/*
 * Tests whether the table is at address: the entries of '!', '+', '<' and '`' (every ASCII
 * punctuation character is registered as its own ID: Init_op_tbl) must be those characters, under
 * one of the string layouts. 0, -ENOENT (it is not), -ESRCH, -EPERM.
 */
int ruby_id_table_probe(const struct memory_reader *reader, uint64_t address,
			struct ruby_id_table *ret_table);

/*
 * Finds the table of a Ruby that was built without symbols: applies the test above to every
 * plausible address in the ranges. Borrows the reader. 0; -ENOENT (none); -ENOTUNIQ (several);
 * -E2BIG (too many addresses look like one); -ENOMEM; the reader's error if no range could be read
 * at all. Skips the unreadable parts of a range.
 */
int ruby_id_table_scan(const struct memory_reader *reader, const struct ruby_data_range *ranges,
		       size_t range_count, struct ruby_id_table *ret_table);

/*
 * The functions below return -EAGAIN if a read faulted or the data is inconsistent, as it may be
 * while Ruby changes it. Any other error is the reader's.
 */

/* The highest serial assigned; one more since 4.0. At most RUBY_ID_SERIAL_MAX. */
int ruby_id_table_read_last_serial(const struct ruby_id_table *table, uint64_t *ret_serial);
/*
 * Reads the entries of serials page * 512 ... + 511. Entries that the page does not have (yet) are
 * zero.
 */
int ruby_id_table_read_page(const struct ruby_id_table *table, uint64_t page,
			    struct ruby_id_entry ret_entries[static RUBY_ID_PAGE_ENTRIES]);
int ruby_id_table_read_entry(const struct ruby_id_table *table, uint64_t serial,
			     struct ruby_id_entry *ret_entry);
/* True if the entry can be read again and is unchanged: what was read through it belonged to it. */
bool ruby_id_table_is_unchanged(const struct ruby_id_table *table, uint64_t serial,
				const struct ruby_id_entry *entry);
/* Locates an entry's name. */
int ruby_id_table_read_name(const struct ruby_id_table *table, const struct ruby_id_entry *entry,
			    struct ruby_string *ret_name);
/* Reads the ID in an entry's symbol. The ID must have this serial. */
int ruby_id_table_read_id(const struct ruby_id_table *table, const struct ruby_id_entry *entry,
			  uint64_t serial, uint64_t *ret_id);
