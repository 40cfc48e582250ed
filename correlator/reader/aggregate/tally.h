/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sums of one kind of record by a key of their requests, or by what ran, and in each group by a
 * name, such as that of a system call. The records come as selection.h passes them on. Records are
 * untrusted: those beyond a bound are counted. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "reader/aggregate/grouping.h"
#include "reader/query/filter.h"
#include "reader/query/selection.h"
#include "requests/attribution.h"

enum {
	TALLY_GROUPS_MAX = 1000000, /* values of the key: some 200 bytes each */
	TALLY_SUMS_MAX = 8000000, /* pairs of group and name: 16 bytes, and 8 for each number */
	TALLY_NAMES_MAX = 4096,
	TALLY_RESTS_MAX = 32, /* names of write_rest, in addition */
	TALLY_TEXT_BYTES_MAX = 256, /* of a text in a name, or a key's value; longer ones are cut */
	TALLY_NAME_BYTES_MAX = 2 * TALLY_TEXT_BYTES_MAX + 2,
	TALLY_NUMBERS_MAX = 8,
};

/* In place of a RECORD_PLACE: the number of records. */
#define TALLY_RECORDS SIZE_MAX

/* Describes the records that are summed up: all of one kind. */
struct tally_subject {
	enum record_kind kind;
	/* Writes the name of a record's sum, any bytes, and returns its length. */
	size_t (*write_name)(const struct record_view *record,
			     char ret_name[static TALLY_NAME_BYTES_MAX]);
	/* Writes one of a few names for records that would need one name too many; NULL: these are
	 * left out. */
	size_t (*write_rest)(const struct record_view *record,
			     char ret_name[static TALLY_NAME_BYTES_MAX]);
	size_t number_count;
	size_t places[TALLY_NUMBERS_MAX]; /* RECORD_PLACE of each number, or TALLY_RECORDS */
	/* Groups and sums are sorted by these numbers, added up: sort_count from sort_first on. */
	size_t sort_first;
	size_t sort_count;
	size_t account_place; /* of the field of cpu records that counts the same; 0: none */
	const char *lost_field; /* the counter of balance records that counts what is missing */
};

struct tally_name {
	UT_hash_handle hh;
	struct record_text text; /* any bytes; points into bytes */
	char bytes[];
};

/* The records of a group with one name. */
struct tally_sum {
	struct tally_sum *next;
	const struct tally_name *name;
	int64_t numbers[]; /* in the order of the subject's places */
};

enum tally_group_kind {
	TALLY_GROUP = 0, /* one value of the key; by what ran, in any context or in none */
	TALLY_WITHOUT_KEY = 1, /* in a context without the key */
	TALLY_UNATTRIBUTED = 2, /* in no context, or in one that could not be read */
	TALLY_OVERFLOW = 3,
};

/* The records of the requests with one value. */
struct tally_group {
	UT_hash_handle hh;
	enum tally_group_kind kind;
	uint64_t request_count; /* including requests without such records; 0 = no request */
	int64_t numbers[TALLY_NUMBERS_MAX];
	int64_t sort_number; /* set by tally_finish */
	int64_t account; /* as counted by the cpu records */
	struct tally_sum *sums; /* after tally_finish: sorted, the largest first */
	struct record_text value; /* any bytes; points into key */
	char key[];
};

struct tally {
	const struct tally_subject *subject;
	const char *by; /* borrowed: the key, or what ran; NULL: endpoint, or request_id if there is
			   none */
	struct selection selection;
	bool is_asked; /* the key's values were asked for */
	enum grouping_source source; /* of these values */
	bool has_all_time; /* by what ran: all time, attributed or not */
	struct tally_name *names; /* uthash */
	struct tally_group *groups; /* uthash; after tally_finish: sorted, the largest first */
	size_t sum_count;
	/* Sums over all groups: */
	int64_t numbers[TALLY_NUMBERS_MAX];
	int64_t account;
	int64_t lost; /* of all processes: calls that no record covers */
	uint64_t left_out; /* records beyond a bound */
	bool has_wanted; /* the filter let a cpu record pass */
	bool has_any; /* there is a record of the kind */
	uint64_t seed;
};

/* Takes ownership of the filter. subject is borrowed. by: a key, what ran (grouping.h: by pid and
 * tid a value begins with the host's name), or NULL. */
void tally_init(struct tally *tally, const struct tally_subject *subject, struct filter *filter,
		const char *by);
void tally_deinit(struct tally *tally);

/* Adds a record of any kind. Returns 0, -ENOMEM. */
int tally_add(struct tally *tally, const struct record_view *record);

/* Call after the last record. Returns 0, -ENOMEM. */
int tally_finish(struct tally *tally);

/* Adds the numbers of a sum or group to others, each up to 2^63-1. */
void tally_add_numbers(const struct tally *tally, int64_t *sums, const int64_t *numbers);

/* "group", "without_key", ... as in rows.h. */
const char *tally_group_kind_name(enum tally_group_kind kind);
