/* Without memory an element is just not added; text_set_add sees that. */
#define HASH_NONFATAL_OOM	 1
#define uthash_nonfatal_oom(elt) ((void)(elt))

#include "report/text_set.h"

#include <errno.h>
#include <string.h>

#include <uthash.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/random.h"

struct text_set_entry {
	UT_hash_handle hh;
	char key[]; /* number, and text */
};

void text_set_init(struct text_set *set)
{
	*set = (struct text_set){ .seed = random_seed() };
}

void text_set_deinit(struct text_set *set)
{
	struct text_set_entry *entry, *next;

	HASH_ITER(hh, set->entries, entry, next) {
		HASH_DELETE(hh, set->entries, entry);
		free(entry);
	}
	*set = (struct text_set){ 0 };
}

int text_set_add(struct text_set *set, uint32_t number, struct record_text text)
{
	size_t key_bytes = sizeof(number) + text.size_bytes;
	_cleanup_free_ struct text_set_entry *entry = malloc(sizeof(*entry) + key_bytes);
	struct text_set_entry *known;
	unsigned int hash;

	if (!entry)
		return -ENOMEM;
	memcpy(entry->key, &number, sizeof(number));
	memcpy(entry->key + sizeof(number), text.bytes, text.size_bytes);
	hash = hash_table_key(set->seed, entry->key, key_bytes);
	HASH_FIND_BYHASHVALUE(hh, set->entries, entry->key, key_bytes, hash, known);
	if (known)
		return 0;
	if (set->count == TEXT_SET_MAX)
		return -E2BIG;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, set->entries, entry->key, key_bytes, hash, entry);
	if (!entry->hh.tbl)
		return -ENOMEM;
	set->count++;
	entry = NULL;
	return 1;
}
