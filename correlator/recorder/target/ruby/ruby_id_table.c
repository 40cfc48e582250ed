/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_id_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Words of rb_darray before its data: {size, capacity}. */
enum {
	DARRAY_HEADER_WORDS = 2
};

/* A page's entries in the target's memory. */
struct page_location {
	uint64_t address;
	uint64_t count; /* at most RUBY_ID_PAGE_ENTRIES */
	bool is_symbol_first;
};

static int torn(int r)
{
	return r == -EFAULT || r == -EINVAL ? -EAGAIN : r;
}

/* The filter before ruby_id_table_probe. */
static bool is_plausible(const uint64_t words[static RUBY_ID_TABLE_WORDS])
{
	return words[0] >= RUBY_ID_SERIAL_MIN && words[0] <= RUBY_ID_SERIAL_MAX &&
	       ruby_object_is_address(words[1]) && ruby_object_is_address(words[2]);
}

/* Reads the VALUE of a page; 0 if there is no page of that number. */
static int find_page(const struct ruby_id_table *table, uint64_t page, uint64_t *ret_value)
{
	uint64_t words[RUBY_ID_TABLE_WORDS], directory[2] = { 0 }, address;
	struct ruby_array pages;
	struct ruby_object ids;
	int r;

	r = memory_read(table->reader, table->address, words, sizeof(words));
	if (r < 0)
		return torn(r);
	if (!is_plausible(words))
		return -EAGAIN;
	r = ruby_object_read(table->reader, words[2], &ids);
	if (r < 0)
		return torn(r);
	if (ruby_object_data(&ids, &address) == 0) {
		r = memory_read(table->reader, address, directory, sizeof(directory));
		if (r < 0)
			return torn(r);
		pages.count = directory[0];
		pages.address = directory[1];
	} else if (ruby_object_array(&ids, &pages) < 0) {
		return -EAGAIN;
	}
	if (page >= pages.count) {
		*ret_value = 0;
		return 0;
	}
	return torn(
		memory_read_u64(table->reader, pages.address + page * sizeof(uint64_t), ret_value));
}

static int locate_page(const struct ruby_id_table *table, uint64_t page,
		       struct page_location *ret_location)
{
	struct page_location location = { 0 };
	uint64_t value, address, header[DARRAY_HEADER_WORDS];
	struct ruby_object object;
	struct ruby_array array;
	int r;

	r = find_page(table, page, &value);
	if (r < 0)
		return r;
	if (value == 0 || value == 4 || value == 8) {
		*ret_location = location;
		return 0;
	}
	r = ruby_object_read(table->reader, value, &object);
	if (r < 0)
		return torn(r);
	if (ruby_object_data(&object, &address) == 0) {
		r = memory_read(table->reader, address, header, sizeof(header));
		if (r < 0)
			return torn(r);
		location.address = address + sizeof(header);
		location.count = header[0];
		location.is_symbol_first = true;
	} else if (ruby_object_array(&object, &array) == 0) {
		location.address = array.address;
		location.count = array.count / 2;
	} else {
		return -EAGAIN;
	}
	if (location.count > RUBY_ID_PAGE_ENTRIES)
		location.count = RUBY_ID_PAGE_ENTRIES;
	*ret_location = location;
	return 0;
}

static int read_entries(const struct ruby_id_table *table, const struct page_location *location,
			uint64_t first, uint64_t count, struct ruby_id_entry *ret_entries)
{
	int r = memory_read(table->reader, location->address + first * sizeof(*ret_entries),
			    ret_entries, count * sizeof(*ret_entries));

	for (uint64_t i = 0; i < count && r == 0 && location->is_symbol_first; i++) {
		uint64_t symbol = ret_entries[i].name;

		ret_entries[i].name = ret_entries[i].symbol;
		ret_entries[i].symbol = symbol;
	}
	return torn(r);
}

int ruby_id_table_read_page(const struct ruby_id_table *table, uint64_t page,
			    struct ruby_id_entry ret_entries[static RUBY_ID_PAGE_ENTRIES])
{
	struct ruby_id_entry entries[RUBY_ID_PAGE_ENTRIES] = { 0 };
	struct page_location location;
	int r = locate_page(table, page, &location);

	if (r == 0 && location.count > 0)
		r = read_entries(table, &location, 0, location.count, entries);
	if (r == 0)
		memcpy(ret_entries, entries, sizeof(entries));
	return r;
}

int ruby_id_table_read_entry(const struct ruby_id_table *table, uint64_t serial,
			     struct ruby_id_entry *ret_entry)
{
	struct ruby_id_entry entry = { 0 };
	struct page_location location;
	int r = locate_page(table, serial / RUBY_ID_PAGE_ENTRIES, &location);

	if (r == 0 && serial % RUBY_ID_PAGE_ENTRIES < location.count)
		r = read_entries(table, &location, serial % RUBY_ID_PAGE_ENTRIES, 1, &entry);
	if (r == 0)
		*ret_entry = entry;
	return r;
}

bool ruby_id_table_is_unchanged(const struct ruby_id_table *table, uint64_t serial,
				const struct ruby_id_entry *entry)
{
	struct ruby_id_entry again;

	return ruby_id_table_read_entry(table, serial, &again) == 0 && again.name == entry->name &&
	       again.symbol == entry->symbol;
}

int ruby_id_table_read_last_serial(const struct ruby_id_table *table, uint64_t *ret_serial)
{
	uint64_t words[RUBY_ID_TABLE_WORDS];
	int r = memory_read(table->reader, table->address, words, sizeof(words));

	if (r < 0)
		return torn(r);
	if (!is_plausible(words))
		return -EAGAIN;
	*ret_serial = words[0];
	return 0;
}

int ruby_id_table_read_name(const struct ruby_id_table *table, const struct ruby_id_entry *entry,
			    struct ruby_string *ret_name)
{
	struct ruby_object object;
	int r = ruby_object_read(table->reader, entry->name, &object);

	if (r == 0)
		r = ruby_object_string(&object, table->string_layout, ret_name);
	return torn(r);
}

int ruby_id_table_read_id(const struct ruby_id_table *table, const struct ruby_id_entry *entry,
			  uint64_t serial, uint64_t *ret_id)
{
	uint64_t id = entry->symbol >> 8;
	struct ruby_object object;
	int r;

	/* RUBY_SYMBOL_FLAG (special_consts.h): the ID is in the VALUE. */
	if ((entry->symbol & 0xff) != 0x0c) {
		r = ruby_object_read(table->reader, entry->symbol, &object);
		if (r == 0)
			r = ruby_object_symbol_id(&object, &id);
		if (r < 0)
			return torn(r);
	}
	if (id == 0 || ruby_id_serial(id) != serial)
		return -EAGAIN;
	*ret_id = id;
	return 0;
}

static int is_character(const struct ruby_id_table *table, const struct ruby_id_entry *entry,
			char character)
{
	struct ruby_string name;
	char text;
	int r = ruby_id_table_read_name(table, entry, &name);

	if (r < 0)
		return r;
	if (name.length_bytes != 1)
		return 0;
	r = memory_read(table->reader, name.address, &text, 1);
	return r < 0 ? torn(r) : text == character;
}

int ruby_id_table_probe(const struct memory_reader *reader, uint64_t address,
			struct ruby_id_table *ret_table)
{
	static const char operators[] = { '!', '+', '<', '`' };
	struct ruby_id_table table = { .reader = reader, .address = address };
	struct ruby_id_entry entries[RUBY_ID_PAGE_ENTRIES];
	int r;

	r = ruby_id_table_read_page(&table, 0, entries);
	for (int layout = STRING_LAYOUT_FLAGS; layout <= STRING_LAYOUT_LONG && r >= 0; layout++) {
		r = 1;
		table.string_layout = (enum string_layout)layout;
		for (size_t i = 0; i < sizeof(operators) && r > 0; i++)
			r = is_character(&table, &entries[(uint8_t)operators[i]], operators[i]);
		if (r > 0) {
			*ret_table = table;
			return 0;
		}
		/* A misread of one layout must not hide the other. */
		r = r == -EAGAIN ? 0 : r;
	}
	return r == 0 || r == -EAGAIN ? -ENOENT : r;
}

/* The scan of a Ruby's data for the table. */
enum {
	CHUNK_BYTES = 1 << 20,
	PAGE_BYTES = 4096,
	TABLE_BYTES = RUBY_ID_TABLE_WORDS * sizeof(uint64_t),
	/* Chunks overlap by this, so that a table across a boundary is whole in one of them. */
	OVERLAP_BYTES = TABLE_BYTES - sizeof(uint64_t),
};

struct scan {
	const struct memory_reader *reader;
	uint8_t *chunk;
	struct ruby_id_table table;
	bool is_found;
	bool is_readable; /* some chunk was readable */
	size_t candidates;
	int error; /* error of the first unreadable chunk */
};

static int scan_chunk(struct scan *scan, uint64_t address, size_t size_bytes)
{
	uint64_t words[RUBY_ID_TABLE_WORDS];
	struct ruby_id_table table;
	int r;

	for (size_t at = 0; at + TABLE_BYTES <= size_bytes; at += sizeof(uint64_t)) {
		memcpy(words, scan->chunk + at, sizeof(words));
		if (!is_plausible(words))
			continue;
		if (++scan->candidates > RUBY_ID_TABLE_CANDIDATES_MAX)
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
	/* A chunk with a hole is read page by page up to here. */
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

int ruby_id_table_scan(const struct memory_reader *reader, const struct ruby_data_range *ranges,
		       size_t range_count, struct ruby_id_table *ret_table)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	struct scan scan = { .reader = reader, .chunk = chunk };
	uint64_t budget = RUBY_ID_TABLE_BYTES_MAX;

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
