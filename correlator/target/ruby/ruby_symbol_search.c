#include "target/ruby/ruby_symbol_search.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/hash.h"

/*
 * Stores the ID of an entry whose name's length, and whose text as far as it is in the object,
 * are names[i]'s. 0 also when the rest of the text is another.
 */
static int match_name(struct ruby_symbol_search *search, uint64_t serial,
		      const struct ruby_id_entry *entry, const struct ruby_string *string, size_t i)
{
	uint64_t id;
	int r;

	r = memory_read(search->table->reader, string->address, search->text, string->length_bytes);
	if (r == 0 && memcmp(search->text, search->names[i], string->length_bytes) != 0)
		return 0;
	if (r == 0)
		r = ruby_id_table_read_id(search->table, entry, serial, &id);
	if (r < 0)
		return r == -EFAULT ? -EAGAIN : r;
	/* The text was the entry's only if the entry is still the same behind it. */
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

static int search_entry(struct ruby_symbol_search *search, uint64_t serial,
			const struct ruby_id_entry *entry, const struct ruby_object *object)
{
	struct ruby_string string;
	int r = 0;

	if (ruby_object_string(object, search->table->string_layout, &string) < 0)
		return -EAGAIN;
	if (string.length_bytes > RUBY_SYMBOL_NAME_BYTES_MAX)
		return 0;
	for (size_t i = 0; i < search->name_count && r == 0; i++) {
		if (search->ids[i] == 0 && is_candidate(object, &string, search->names[i]))
			r = match_name(search, serial, entry, &string, i);
	}
	return r;
}

static int read_names(struct ruby_symbol_search *search)
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
 * page that moved may have left zeros: either looks as good as the truth. Only a second walk from
 * the table on tells.
 */
static int check_unmoved(struct ruby_symbol_search *search, uint64_t page, uint64_t last_serial)
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

int ruby_symbol_search_page(struct ruby_symbol_search *search, uint64_t page, uint64_t last_serial)
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

uint64_t ruby_symbol_search_count_missing(struct ruby_symbol_search *search)
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
