#include "target/ruby/ruby_id_scan.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	CHUNK_BYTES = 1 << 20,
	PAGE_BYTES = 4096,
	TABLE_BYTES = RUBY_ID_TABLE_WORDS * sizeof(uint64_t),
	/* Chunks overlap by this, so that a table across their border is in one of them. */
	OVERLAP_BYTES = TABLE_BYTES - sizeof(uint64_t),
};

struct scan {
	const struct memory_reader *reader;
	uint8_t *chunk;
	struct ruby_id_table table;
	bool is_found;
	bool is_readable; /* some chunk was */
	size_t candidates;
	int error; /* why the first unreadable chunk was */
};

static int scan_chunk(struct scan *scan, uint64_t address, size_t size_bytes)
{
	uint64_t words[RUBY_ID_TABLE_WORDS];
	struct ruby_id_table table;
	int r;

	for (size_t at = 0; at + TABLE_BYTES <= size_bytes; at += sizeof(uint64_t)) {
		memcpy(words, scan->chunk + at, sizeof(words));
		if (!ruby_id_table_is_plausible(words))
			continue;
		if (++scan->candidates > RUBY_ID_SCAN_CANDIDATES_MAX)
			return -E2BIG;
		r = ruby_id_table_probe(scan->reader, address + at, &table);
		if (r == -ENOENT)
			continue;
		if (r < 0)
			return r;
		if (scan->is_found && scan->table.address != table.address)
			return -ENOTUNIQ;
		scan->table = table;
		scan->is_found = true;
	}
	return 0;
}

static int scan_range(struct scan *scan, uint64_t address, uint64_t end)
{
	/* In a chunk with a hole, page by page until here. */
	uint64_t paged_until = address;

	while (address < end && end - address >= TABLE_BYTES) {
		uint64_t next_page = ((address + OVERLAP_BYTES) | (PAGE_BYTES - 1)) + 1;
		bool is_paged = address < paged_until;
		uint64_t limit = is_paged ? next_page - address : CHUNK_BYTES;
		uint64_t size = end - address < limit ? end - address : limit;
		int r = memory_read(scan->reader, address, scan->chunk, size);

		if (r == 0) {
			scan->is_readable = true;
			r = scan_chunk(scan, address, size);
			if (r < 0)
				return r;
			address += size == end - address ? size : size - OVERLAP_BYTES;
			continue;
		}
		scan->error = scan->error ? scan->error : r;
		if (r != -EFAULT)
			return r;
		if (is_paged)
			address = next_page;
		else
			paged_until = address + size;
	}
	return 0;
}

int ruby_id_scan(const struct memory_reader *reader, const struct ruby_data_range *ranges,
		 size_t range_count, struct ruby_id_table *ret_table)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	struct scan scan = { .reader = reader, .chunk = chunk };
	uint64_t budget = RUBY_ID_SCAN_BYTES_MAX;

	if (!chunk)
		return -ENOMEM;
	for (size_t i = 0; i < range_count; i++) {
		uint64_t start = (ranges[i].address + 7) & ~UINT64_C(7);
		uint64_t size = ranges[i].size_bytes < budget ? ranges[i].size_bytes : budget;
		int r;

		if (!ruby_object_is_address(start))
			continue;
		budget -= size;
		r = scan_range(&scan, start, start + size);
		if (r < 0)
			return r;
	}
	if (!scan.is_found)
		return scan.is_readable || scan.error == 0 ? -ENOENT : scan.error;
	*ret_table = scan.table;
	return 0;
}
