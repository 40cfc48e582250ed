#include "target/ruby/ruby_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <correlator/value_digest.h>

#include "base/clock.h"
#include "target/ruby/ruby_id_scan.h"
#include "target/ruby/ruby_id_table.h"
#include "target/ruby/ruby_symbol_search.h"

enum {
	/* Two million symbols, about a second: what one call of find_ids reads at most. */
	PAGES_PER_CALL_MAX = 4096,
	/* A serial is given out a moment before its entry is written: read the last ones again. */
	TAIL_SERIALS = 64,
	RETRIES_PER_CALL = 5,
	RETRIES_PER_SECOND = 20,
	RETRY_PAUSE_NS = 1000 * 1000,
	/* Slots of the cache; an ID has one slot, a newer name takes it. */
	NAME_SLOTS = 1024,
};

struct symbol_name {
	uint64_t id;
	struct value_snapshot value;
};

struct ruby_symbols {
	struct memory_reader reader;
	struct ruby_id_table table;
	uint64_t next_serial; /* the symbols below are known not to be the names sought */
	uint64_t names_hash; /* of the names that next_serial is true for */
	uint64_t retries_refill_ns;
	unsigned int retries_left;
	struct symbol_name *names[NAME_SLOTS];
};

int ruby_symbols_new(const struct memory_reader *reader, uint64_t table_address,
		     const struct ruby_data_range *ranges, size_t range_count,
		     struct ruby_symbols **ret_symbols)
{
	_cleanup_(ruby_symbols_freep) struct ruby_symbols *symbols = calloc(1, sizeof(*symbols));
	int r = -ENOENT;

	if (!symbols)
		return -ENOMEM;
	symbols->reader = *reader;
	if (table_address != 0)
		r = ruby_id_table_probe(&symbols->reader, table_address, &symbols->table);
	if (r == -ENOENT)
		r = ruby_id_scan(&symbols->reader, ranges, range_count, &symbols->table);
	if (r < 0)
		return r;
	*ret_symbols = TAKE_PTR(symbols);
	return 0;
}

void ruby_symbols_free(struct ruby_symbols *symbols)
{
	if (!symbols)
		return;
	for (size_t i = 0; i < NAME_SLOTS; i++)
		free(symbols->names[i]);
	free(symbols);
}

uint64_t ruby_symbols_table_address(const struct ruby_symbols *symbols)
{
	return symbols->table.address;
}

enum string_layout ruby_symbols_string_layout(const struct ruby_symbols *symbols)
{
	return symbols->table.string_layout;
}

/* The bound per second is for a target that makes every read look torn. */
static bool pause_for_retry(struct ruby_symbols *symbols, unsigned int *retries)
{
	static const struct timespec pause = { .tv_nsec = RETRY_PAUSE_NS };
	uint64_t now_ns = clock_monotonic_ns();

	if (now_ns >= symbols->retries_refill_ns) {
		symbols->retries_refill_ns = now_ns + NS_PER_S;
		symbols->retries_left = RETRIES_PER_SECOND;
	}
	if (symbols->retries_left == 0 || *retries == RETRIES_PER_CALL)
		return false;
	symbols->retries_left--;
	(*retries)++;
	(void)nanosleep(&pause, NULL);
	return true;
}

/* Searches all pages from next_serial on, and moves it past those that were read whole. */
static int search_pages(struct ruby_symbols *symbols, struct ruby_symbol_search *search)
{
	uint64_t page = symbols->next_serial / RUBY_ID_PAGE_ENTRIES;
	uint64_t stop = page + PAGES_PER_CALL_MAX;
	uint64_t last, resume = UINT64_MAX;
	unsigned int retries = 0;
	int r;

	do {
		r = ruby_id_table_read_last_serial(&symbols->table, &last);
	} while (r == -EAGAIN && pause_for_retry(symbols, &retries));
	if (r < 0)
		return r;
	while (page <= last / RUBY_ID_PAGE_ENTRIES && page < stop && search->missing > 0) {
		r = ruby_symbol_search_page(search, page, last);
		if (r == -EAGAIN && pause_for_retry(symbols, &retries))
			continue;
		if (r < 0 && r != -EAGAIN)
			return r;
		if (r < 0 && resume == UINT64_MAX)
			resume = page * RUBY_ID_PAGE_ENTRIES;
		page++;
	}
	r = resume == UINT64_MAX && page > last / RUBY_ID_PAGE_ENTRIES ? 0 : -EAGAIN;
	if (r == 0)
		resume = last - TAIL_SERIALS;
	else if (resume == UINT64_MAX)
		resume = page * RUBY_ID_PAGE_ENTRIES;
	symbols->next_serial = resume;
	return search->missing == 0 ? 0 : r;
}

int ruby_symbols_find_ids(struct ruby_symbols *symbols, const char *const *names, size_t name_count,
			  uint64_t *ret_ids)
{
	_cleanup_free_ struct ruby_symbol_search *search = calloc(1, sizeof(*search));
	uint64_t hash;
	int r;

	if (!search)
		return -ENOMEM;
	search->table = &symbols->table;
	search->names = names;
	search->name_count = name_count;
	search->ids = ret_ids;
	hash = ruby_symbol_search_count_missing(search);
	if (search->missing == 0)
		return 0;
	/* Symbols that were searched for other names are searched again. */
	if (hash != symbols->names_hash)
		symbols->next_serial = 0;
	r = search_pages(symbols, search);
	symbols->names_hash = ruby_symbol_search_count_missing(search);
	return r < 0 ? r : (int)search->missing;
}

/* Reads a text as the kernel programs do: its start and, when it is longer, its digest. */
static int read_text(const struct memory_reader *reader, const struct ruby_string *string,
		     struct value_snapshot *ret_value)
{
	struct value_snapshot value = { .kind = VALUE_KIND_SYMBOL,
					.type = RUBY_OBJECT_SYMBOL,
					.encoding = string->encoding,
					.raw = string->length_bytes };
	struct context_hash_state digest;
	struct value_chunk chunk;
	uint32_t part_bytes;
	__u64 offset;
	int r;

	value_digest_init(&digest, string->length_bytes);
	for (uint32_t i = 0;
	     (part_bytes = value_chunk_locate(i, string->length_bytes, &offset)) > 0; i++) {
		memset(&chunk, 0, sizeof(chunk));
		r = memory_read(reader, string->address + offset, &chunk, part_bytes);
		if (r < 0)
			return r == -EFAULT ? -EAGAIN : r;
		value_digest_add(&digest, &chunk);
		if (i > 0)
			continue;
		value.start = chunk;
		value.length_bytes = (uint16_t)part_bytes;
	}
	if (value.raw > value.length_bytes) {
		value.flags = VALUE_TRUNCATED;
		value.raw = context_hash_final(&digest);
	}
	*ret_value = value;
	return 0;
}

/* Reads the name of an ID once. -ENOENT: the ID's serial is not in use, or by another ID. */
static int read_name(const struct ruby_symbols *symbols, uint64_t id, struct symbol_name **ret_name)
{
	_cleanup_free_ struct symbol_name *name = NULL;
	uint64_t serial = ruby_id_serial(id);
	struct ruby_id_entry entry;
	struct ruby_string string;
	uint64_t last, found;
	int r;

	r = ruby_id_table_read_last_serial(&symbols->table, &last);
	if (r < 0 || serial > last)
		return r < 0 ? r : -ENOENT;
	r = ruby_id_table_read_entry(&symbols->table, serial, &entry);
	if (r < 0)
		return r;
	if (ruby_id_entry_is_empty(&entry))
		return ruby_id_table_is_unchanged(&symbols->table, serial, &entry) ? -ENOENT
										   : -EAGAIN;
	r = ruby_id_table_read_id(&symbols->table, &entry, serial, &found);
	if (r < 0 || found != id)
		return r < 0 ? r : -ENOENT;
	r = ruby_id_table_read_name(&symbols->table, &entry, &string);
	if (r < 0)
		return r;
	name = malloc(sizeof(*name));
	if (!name)
		return -ENOMEM;
	name->id = id;
	r = read_text(&symbols->reader, &string, &name->value);
	if (r < 0)
		return r;
	if (!ruby_id_table_is_unchanged(&symbols->table, serial, &entry))
		return -EAGAIN;
	*ret_name = TAKE_PTR(name);
	return 0;
}

int ruby_symbols_find_name(struct ruby_symbols *symbols, uint64_t id,
			   struct value_snapshot *ret_name)
{
	struct symbol_name **slot = &symbols->names[ruby_id_serial(id) % NAME_SLOTS];
	struct symbol_name *name = *slot;
	unsigned int retries = 0;
	int r;

	if (!name || name->id != id) {
		do {
			r = read_name(symbols, id, &name);
		} while (r == -EAGAIN && pause_for_retry(symbols, &retries));
		if (r < 0)
			return r;
		free(*slot);
		*slot = name;
	}
	*ret_name = name->value;
	return 0;
}
