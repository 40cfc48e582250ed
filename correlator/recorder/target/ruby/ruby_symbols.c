/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/ruby/ruby_symbols.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <correlator/value_digest.h>

#include "base/clock.h"
#include "base/hash.h"
#include "recorder/target/ruby/ruby_id_table.h"
#include "recorder/target/ruby/ruby_object.h"

enum {
	/* Two million symbols, about a second: what one call of find_ids reads at most. */
	PAGES_PER_CALL_MAX = 4096,
	/* A serial is assigned a moment before its entry is written: read the last ones again. */
	TAIL_SERIALS = 64,
	RETRIES_PER_CALL = 5,
	RETRIES_PER_SECOND = 20,
	RETRY_PAUSE_NS = 1000 * 1000,
	/* Slots of the cache; an ID has one slot, and a newer name replaces the old one. */
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
	uint64_t names_hash; /* of the names to which next_serial applies */
	uint64_t retries_refill_ns;
	unsigned int retries_left;
	struct symbol_name *names[NAME_SLOTS];
};

/* One search for the IDs of some names; some 50 KiB, so it lives on the heap. */
struct search {
	/* All borrowed. */
	const struct ruby_id_table *table;
	const char *const *names;
	size_t name_count;
	uint64_t *ids; /* by name; 0 = wanted */
	/* Names still without an ID. */
	size_t missing;
	/* The current page. */
	struct ruby_id_entry entries[RUBY_ID_PAGE_ENTRIES];
	struct ruby_id_entry entries_again[RUBY_ID_PAGE_ENTRIES];
	struct ruby_object objects[RUBY_ID_PAGE_ENTRIES];
	struct memory_span spans[RUBY_ID_PAGE_ENTRIES];
	uint8_t text[RUBY_SYMBOL_NAME_BYTES_MAX];
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
		r = ruby_id_table_scan(&symbols->reader, ranges, range_count, &symbols->table);
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

/*
 * Whether an object is still what was read. While a compaction moves objects, a reference still
 * leads to the old place of one that has moved (gc_update_references(), gc.c, comes last; Ruby 2.7
 * to 4.0).
 */
static int check_unchanged(const struct search *search, const struct ruby_object *object)
{
	uint64_t words[sizeof(object->words) / sizeof(object->words[0])];
	int r = memory_read(search->table->reader, object->address, words, sizeof(words));

	if (r < 0)
		return r == -EFAULT ? -EAGAIN : r;
	return memcmp(words, object->words, sizeof(words)) == 0 ? 0 : -EAGAIN;
}

/*
 * Stores the ID of an entry if its name is names[i]. The caller has matched the name's length, and
 * its text as far as it is in the object. Returns 0 also if the rest of the text differs.
 */
static int match_name(struct search *search, uint64_t serial, const struct ruby_id_entry *entry,
		      const struct ruby_object *object, const struct ruby_string *string, size_t i)
{
	uint64_t id;
	int r;

	r = memory_read(search->table->reader, string->address, search->text, string->length_bytes);
	if (r == 0 && memcmp(search->text, search->names[i], string->length_bytes) != 0)
		return check_unchanged(search, object);
	if (r == 0)
		r = ruby_id_table_read_id(search->table, entry, serial, &id);
	if (r < 0)
		return r == -EFAULT ? -EAGAIN : r;
	/* The text belonged to the entry only if the entry is still the same afterwards. */
	if (!ruby_id_table_is_unchanged(search->table, serial, entry))
		return -EAGAIN;
	search->ids[i] = id;
	search->missing--;
	return 0;
}

static bool is_candidate(const struct ruby_object *object, const struct ruby_string *string,
			 const char *name)
{
	uint64_t offset = string->address - object->address;
	size_t inside = 0;

	if (string->length_bytes != strlen(name))
		return false;
	if (offset < sizeof(object->words))
		inside = sizeof(object->words) - offset;
	if (inside > string->length_bytes)
		inside = string->length_bytes;
	return inside == 0 || memcmp((const uint8_t *)object->words + offset, name, inside) == 0;
}

static int search_entry(struct search *search, uint64_t serial, const struct ruby_id_entry *entry,
			const struct ruby_object *object)
{
	struct ruby_string string;
	int r = 0;

	if (ruby_object_string(object, search->table->string_layout, &string) < 0)
		return -EAGAIN;
	if (string.length_bytes > RUBY_SYMBOL_NAME_BYTES_MAX)
		return 0;
	for (size_t i = 0; i < search->name_count && r == 0; i++) {
		if (search->ids[i] == 0 && is_candidate(object, &string, search->names[i]))
			r = match_name(search, serial, entry, object, &string, i);
	}
	return r;
}

static int read_names(struct search *search)
{
	size_t count = 0;

	for (size_t i = 0; i < RUBY_ID_PAGE_ENTRIES; i++) {
		struct ruby_object *object = &search->objects[i];

		object->address = search->entries[i].name;
		if (!ruby_object_is_address(object->address))
			continue;
		search->spans[count++] = (struct memory_span){ object->address, object->words,
							       sizeof(object->words) };
	}
	return memory_read_many(search->table->reader, search->spans, count);
}

/*
 * A name that moved while the page was read may have left another string in its old place, and a
 * page that moved may have left zeros: either looks valid. Only a second walk that starts at the
 * table detects it.
 */
static int check_unmoved(struct search *search, uint64_t page, uint64_t last_serial)
{
	uint64_t first_serial = page * RUBY_ID_PAGE_ENTRIES;
	int r = ruby_id_table_read_page(search->table, page, search->entries_again);

	for (size_t i = 0; i < RUBY_ID_PAGE_ENTRIES && first_serial + i <= last_serial && r == 0;
	     i++) {
		if (search->entries[i].name != search->entries_again[i].name)
			r = -EAGAIN;
	}
	return r;
}

/*
 * Reads a page with the headers of all its names, and stores the IDs of those that are wanted: they
 * are right even if the table is changing. 0: none of the names still missing is on the page, up to
 * last_serial. -EAGAIN: part of the page could not be read, changed or made no sense. Else an error
 * of the reader.
 */
static int search_page(struct search *search, uint64_t page, uint64_t last_serial)
{
	int result = 0;
	int r;

	r = ruby_id_table_read_page(search->table, page, search->entries);
	if (r < 0)
		return r;
	r = read_names(search);
	if (r < 0)
		return r == -EFAULT ? -EAGAIN : r;
	for (size_t i = 0; i < RUBY_ID_PAGE_ENTRIES && search->missing > 0; i++) {
		if (ruby_id_entry_is_empty(&search->entries[i]))
			continue;
		r = -EAGAIN;
		if (ruby_object_is_address(search->entries[i].name))
			r = search_entry(search, page * RUBY_ID_PAGE_ENTRIES + i,
					 &search->entries[i], &search->objects[i]);
		if (r < 0 && r != -EAGAIN)
			return r;
		result = r < 0 ? r : result;
	}
	return result < 0 || search->missing == 0 ? result
						  : check_unmoved(search, page, last_serial);
}

/* Sets missing, and returns a hash of the names that are missing (with their NULs). */
static uint64_t count_missing(struct search *search)
{
	uint64_t hash = 0;

	search->missing = 0;
	for (size_t i = 0; i < search->name_count; i++) {
		const char *name = search->names[i];

		if (search->ids[i] != 0)
			continue;
		hash = hash_bytes(hash, name, strlen(name) + 1);
		search->missing++;
	}
	return hash;
}

/* Searches the pages from next_serial on, and moves it past those that were read completely. */
static int search_pages(struct ruby_symbols *symbols, struct search *search)
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
		r = search_page(search, page, last);
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
	_cleanup_free_ struct search *search = calloc(1, sizeof(*search));
	uint64_t hash;
	int r;

	if (!search)
		return -ENOMEM;
	search->table = &symbols->table;
	search->names = names;
	search->name_count = name_count;
	search->ids = ret_ids;
	hash = count_missing(search);
	if (search->missing == 0)
		return 0;
	/* Symbols that were searched for other names are searched again. */
	if (hash != symbols->names_hash)
		symbols->next_serial = 0;
	r = search_pages(symbols, search);
	symbols->names_hash = count_missing(search);
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

/*
 * Reads the name of an ID once. -ENOENT: the ID's serial is not in use, or belongs to another ID.
 */
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
	if (r == 0 && !ruby_id_table_is_unchanged(&symbols->table, serial, &entry))
		r = -EAGAIN;
	if (r == 0)
		*ret_name = TAKE_PTR(name);
	return r;
}

static size_t slot_of(uint64_t id)
{
	return ruby_id_serial(id) % NAME_SLOTS;
}

bool ruby_symbols_has_name(const struct ruby_symbols *symbols, uint64_t id)
{
	const struct symbol_name *name = symbols->names[slot_of(id)];

	return name && name->id == id;
}

void ruby_symbols_forget_name(struct ruby_symbols *symbols, uint64_t id)
{
	if (ruby_symbols_has_name(symbols, id))
		free(TAKE_PTR(symbols->names[slot_of(id)]));
}

int ruby_symbols_find_name(struct ruby_symbols *symbols, uint64_t id,
			   struct value_snapshot *ret_name)
{
	struct symbol_name **slot = &symbols->names[slot_of(id)];
	struct symbol_name *name = *slot;
	unsigned int retries = 0;
	int r;

	if (!ruby_symbols_has_name(symbols, id)) {
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
