/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Texts that records repeat (endpoints, threads), each stored once, with a number. They are
 * untrusted: any bytes, in a table that is keyed with a random seed. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	PAGE_NO_NAME = 0 /* no name; the first name is 1 */
};

struct page_names {
	struct page_name *table; /* uthash */
	struct record_text *texts; /* by number - 1 */
	size_t count;
	size_t room;
	size_t count_max;
	uint64_t seed;
};

void page_names_init(struct page_names *names, size_t count_max);
void page_names_deinit(struct page_names *names);

/* The text's number, assigned when it is new. PAGE_NO_NAME for an empty text, and for a new one if
 * there are count_max already. 0, -ENOMEM. */
int page_names_put(struct page_names *names, struct record_text text, uint32_t *ret_number);
