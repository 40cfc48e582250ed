/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The set of records that were read already: a record that was sent twice, or is in two files,
 * counts once. Records are identified by record_id, which ends in ":NUMBER"; a recorder numbers its
 * records from 1, so the set has one bit per number. Bounded; records beyond the bound are not
 * remembered. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"

enum {
	KNOWN_RECORDS_PAGE = 4096, /* consecutive numbers of one recorder: 0.7 KiB */
	KNOWN_RECORDS_RANGES_MAX = 8,
	KNOWN_RECORDS_PAGES_MAX = 65536, /* 50 MB: 268 million records, if few numbers are
					  * missing */
};

struct known_records {
	struct known_records_page *pages; /* uthash */
	struct known_records_page *last; /* last page looked up; NULL = none */
	size_t page_count;
	bool is_full; /* some record was not remembered */
	uint64_t seed;
};

void known_records_init(struct known_records *known);
void known_records_deinit(struct known_records *known);

/* A recorder and the numbers of its records. */
struct known_recorder {
	struct record_text name; /* record_id before the number; any bytes */
	uint64_t first, last;
	uint64_t count;
	size_t missing_ranges; /* between first and last; the first of these ranges: */
	struct {
		uint64_t first, last;
	} missing[KNOWN_RECORDS_RANGES_MAX];
};

/* Also returns false if record_id does not end in a number. */
bool known_records_has(struct known_records *known, const struct record_view *record);
/* Returns 0, also if record_id does not end in a number or the set is full; -ENOMEM. */
int known_records_add(struct known_records *known, const struct record_view *record);
/* Calls tell for each recorder whose records are known. */
void known_records_list(struct known_records *known,
			void (*tell)(void *user, const struct known_recorder *recorder),
			void *user);
