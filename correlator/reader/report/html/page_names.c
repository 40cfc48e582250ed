/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_names.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"

struct page_name {
	uint32_t number;
	UT_hash_handle hh;
	char text[]; /* not NUL-terminated */
};

void page_names_init(struct page_names *names, size_t count_max)
{
	*names = (struct page_names){ .count_max = count_max, .seed = random_seed() };
}

void page_names_deinit(struct page_names *names)
{
	struct page_name *name, *next;

	HASH_ITER(hh, names->table, name, next) {
		HASH_DELETE(hh, names->table, name);
		free(name);
	}
	free(names->texts);
	*names = (struct page_names){ 0 };
}

static int add(struct page_names *names, struct record_text text, unsigned int hash,
	       uint32_t *ret_number)
{
	_cleanup_free_ struct page_name *name = malloc(sizeof(*name) + text.size_bytes);

	if (!name || array_reserve(&names->texts, &names->room, names->count + 1) < 0)
		return -ENOMEM;
	memcpy(name->text, text.bytes, text.size_bytes);
	name->number = (uint32_t)names->count + 1;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, names->table, name->text, text.size_bytes, hash, name);
	if (!name->hh.tbl)
		return -ENOMEM;
	names->texts[names->count++] = (struct record_text){ name->text, text.size_bytes };
	*ret_number = name->number;
	(void)TAKE_PTR(name);
	return 0;
}

int page_names_put(struct page_names *names, struct record_text text, uint32_t *ret_number)
{
	unsigned int hash = hash_table_key(names->seed, text.bytes, text.size_bytes);
	struct page_name *name;

	*ret_number = PAGE_NO_NAME;
	if (text.size_bytes == 0)
		return 0;
	HASH_FIND_BYHASHVALUE(hh, names->table, text.bytes, text.size_bytes, hash, name);
	if (!name && names->count < names->count_max)
		return add(names, text, hash, ret_number);
	if (name)
		*ret_number = name->number;
	return 0;
}
