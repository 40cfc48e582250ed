/*
 * One search for the IDs of some names, page by page of the target's ID table. Owns only its
 * buffers; some 50 KiB, so it lives on the heap. Used by ruby_symbols, which decides where to
 * start and when to try again.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/proc/memory_reader.h"
#include "target/ruby/ruby_id_table.h"
#include "target/ruby/ruby_object.h"
#include "target/ruby/ruby_symbols.h"

struct ruby_symbol_search {
	/* Set by the caller, all borrowed. */
	const struct ruby_id_table *table;
	const char *const *names;
	size_t name_count;
	uint64_t *ids; /* by name; 0 = wanted */
	/* Names still without an ID. */
	size_t missing;
	/* Of the page at hand. */
	struct ruby_id_entry entries[RUBY_ID_PAGE_ENTRIES];
	struct ruby_id_entry entries_again[RUBY_ID_PAGE_ENTRIES];
	struct ruby_object objects[RUBY_ID_PAGE_ENTRIES];
	struct memory_span spans[RUBY_ID_PAGE_ENTRIES];
	uint8_t text[RUBY_SYMBOL_NAME_BYTES_MAX];
};

/* Sets missing, and returns a hash of the names that are (with their ends). */
uint64_t ruby_symbol_search_count_missing(struct ruby_symbol_search *search);

/*
 * Reads a page with the headers of all its names, and stores the IDs of those that are wanted:
 * they are right even when the table is changing. 0: none of the names still missing is on the
 * page, as far as last_serial. -EAGAIN: part of it could not be read, changed or made no sense.
 * Else an error of the reader.
 */
int ruby_symbol_search_page(struct ruby_symbol_search *search, uint64_t page, uint64_t last_serial);
