/*
 * Finding the symbol table in the data of a Ruby that was built without symbols: every address
 * that could be one is put to the test of ruby_id_table_probe. Used by ruby_symbols only.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "target/proc/memory_reader.h"
#include "target/ruby/ruby_id_table.h"
#include "target/ruby/ruby_symbols.h"

enum {
	/* All ranges together; libruby's data is 30 to 270 KiB. */
	RUBY_ID_SCAN_BYTES_MAX = 64 << 20,
	/* Addresses that get past the filter; a Ruby has some dozens. */
	RUBY_ID_SCAN_CANDIDATES_MAX = 1 << 16,
};

/*
 * The one table in the ranges; it borrows the reader. 0; -ENOENT (none); -ENOTUNIQ (several);
 * -E2BIG (too many addresses look like one); -ENOMEM; what the reader returned when no range
 * could be read at all. Unreadable parts of a range are passed over.
 */
int ruby_id_scan(const struct memory_reader *reader, const struct ruby_data_range *ranges,
		 size_t range_count, struct ruby_id_table *ret_table);
