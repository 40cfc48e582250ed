/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/known_records.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"

enum {
	RECORDER_BYTES_MAX = 120, /* a longer name is not one of ours */
	WORD_BITS = 64,
};

/* No padding: hashed and compared as bytes. */
struct page_key {
	uint64_t index; /* number / KNOWN_RECORDS_PAGE */
	uint64_t recorder_bytes;
	char recorder[RECORDER_BYTES_MAX]; /* record_id before the number, zero-padded */
};

struct known_records_page {
	struct page_key key;
	uint64_t words[KNOWN_RECORDS_PAGE / WORD_BITS];
	UT_hash_handle hh;
};

void known_records_init(struct known_records *known)
{
	*known = (struct known_records){ .seed = random_seed() };
}

void known_records_deinit(struct known_records *known)
{
	struct known_records_page *page, *next;

	HASH_ITER(hh, known->pages, page, next) {
		HASH_DELETE(hh, known->pages, page);
		free(page);
	}
	*known = (struct known_records){ 0 };
}

/* Accepts the number only as it is written by recorders: "7", not "07". Returns false if there is
 * none, or it overflows. */
static bool read_number(struct record_text id, size_t *ret_at, uint64_t *ret_number)
{
	size_t at = id.size_bytes;
	uint64_t number = 0;

	while (at > 0 && id.bytes[at - 1] >= '0' && id.bytes[at - 1] <= '9')
		at--;
	if (at == 0 || at == id.size_bytes || id.bytes[at - 1] != ':' || id.bytes[at] == '0')
		return false;
	for (size_t i = at; i < id.size_bytes; i++) {
		uint64_t digit = (uint64_t)(id.bytes[i] - '0');

		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, digit, &number))
			return false;
	}
	*ret_at = at;
	*ret_number = number;
	return true;
}

/* The position of a record's bit. */
struct place {
	uint64_t index; /* of the page, for this recorder: */
	struct record_text recorder;
	unsigned int bit;
};

static bool read_place(const struct record_view *record, struct place *ret_place)
{
	struct record_text id;
	uint64_t number;
	size_t at;

	if (!record_view_text_at(record, RECORD_PLACE(common, record_id), &id) ||
	    !read_number(id, &at, &number) || at > RECORDER_BYTES_MAX)
		return false;
	*ret_place = (struct place){ .index = number / KNOWN_RECORDS_PAGE,
				     .recorder = { id.bytes, at },
				     .bit = number % KNOWN_RECORDS_PAGE };
	return true;
}

static struct page_key key_of(const struct place *place)
{
	struct page_key key = { .index = place->index,
				.recorder_bytes = place->recorder.size_bytes };

	memcpy(key.recorder, place->recorder.bytes, place->recorder.size_bytes);
	return key;
}

static bool is_on(const struct known_records_page *page, const struct place *place)
{
	return page->key.index == place->index &&
	       page->key.recorder_bytes == place->recorder.size_bytes &&
	       memcmp(page->key.recorder, place->recorder.bytes, place->recorder.size_bytes) == 0;
}

/* Returns NULL if there is none yet. */
static struct known_records_page *find(struct known_records *known, const struct place *place)
{
	struct known_records_page *page = known->last;
	struct page_key key;

	if (page && is_on(page, place))
		return page;
	key = key_of(place);
	HASH_FIND_BYHASHVALUE(hh, known->pages, &key, sizeof(key),
			      hash_table_key(known->seed, &key, sizeof(key)), page);
	if (page)
		known->last = page;
	return page;
}

bool known_records_has(struct known_records *known, const struct record_view *record)
{
	const struct known_records_page *page;
	struct place place;

	if (!read_place(record, &place))
		return false;
	page = find(known, &place);
	return page && (page->words[place.bit / WORD_BITS] >> place.bit % WORD_BITS & 1);
}

/* Returns NULL if memory runs out. */
static struct known_records_page *add_page(struct known_records *known, const struct place *place)
{
	_cleanup_free_ struct known_records_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	page->key = key_of(place);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, known->pages, &page->key, sizeof(page->key),
				    hash_table_key(known->seed, &page->key, sizeof(page->key)),
				    page);
	if (!page->hh.tbl)
		return NULL;
	known->page_count++;
	known->last = page;
	return TAKE_PTR(page);
}

int known_records_add(struct known_records *known, const struct record_view *record)
{
	struct known_records_page *page;
	struct place place;

	if (!read_place(record, &place))
		return 0;
	page = find(known, &place);
	if (!page && known->page_count == KNOWN_RECORDS_PAGES_MAX) {
		known->is_full = true;
		return 0;
	}
	if (!page)
		page = add_page(known, &place);
	if (!page)
		return -ENOMEM;
	page->words[place.bit / WORD_BITS] |= UINT64_C(1) << place.bit % WORD_BITS;
	return 0;
}

/* Sorts by recorder, then by number. */
static int compare_pages(const struct known_records_page *one,
			 const struct known_records_page *other)
{
	const struct page_key *a = &one->key, *b = &other->key;
	int r = memcmp(a->recorder, b->recorder, sizeof(a->recorder));

	if (r == 0 && a->recorder_bytes != b->recorder_bytes)
		r = a->recorder_bytes < b->recorder_bytes ? -1 : 1;
	if (r == 0 && a->index != b->index)
		r = a->index < b->index ? -1 : 1;
	return r;
}

static void add_number(struct known_recorder *recorder, uint64_t number)
{
	if (recorder->count++ == 0)
		recorder->first = number;
	else if (number > recorder->last + 1 &&
		 recorder->missing_ranges++ < KNOWN_RECORDS_RANGES_MAX) {
		recorder->missing[recorder->missing_ranges - 1].first = recorder->last + 1;
		recorder->missing[recorder->missing_ranges - 1].last = number - 1;
	}
	recorder->last = number;
}

static void add_numbers(struct known_recorder *recorder, const struct known_records_page *page)
{
	for (unsigned int bit = 0; bit < KNOWN_RECORDS_PAGE; bit++)
		if (page->words[bit / WORD_BITS] >> bit % WORD_BITS & 1)
			add_number(recorder, page->key.index * KNOWN_RECORDS_PAGE + bit);
}

static bool is_of(const struct known_recorder *recorder, const struct known_records_page *page)
{
	return recorder->name.size_bytes == page->key.recorder_bytes &&
	       memcmp(recorder->name.bytes, page->key.recorder, page->key.recorder_bytes) == 0;
}

void known_records_list(struct known_records *known,
			void (*tell)(void *user, const struct known_recorder *recorder), void *user)
{
	struct known_recorder recorder = { .count = 0 };
	struct known_records_page *page, *next;

	HASH_SORT(known->pages, compare_pages);
	HASH_ITER(hh, known->pages, page, next) {
		if (recorder.count && !is_of(&recorder, page))
			tell(user, &recorder);
		if (!recorder.count || !is_of(&recorder, page))
			recorder = (struct known_recorder){
				.name = { page->key.recorder, page->key.recorder_bytes },
			};
		add_numbers(&recorder, page);
	}
	if (recorder.count)
		tell(user, &recorder);
}
