/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What cpu records add up to: costs, and which requests they are of, grouped by one key of the
 * target, or by what ran. The records are untrusted: sums saturate at 2^63-1, and the hash tables,
 * which hold each distinct value once, are keyed with a random seed, so that values chosen by
 * somebody else cannot make them slow. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "record/record_view.h"

enum {
	GROUPS_MAX = 1000000, /* distinct values: about 250 MB */
	REQUESTS_MAX = 4000000, /* in a set of requests: about 500 MB */
	GROUP_NAME_BYTES = 64, /* a longer name is cut */
};

enum cost {
	COST_CPU = 0, /* user + kernel */
	COST_USER = 1,
	COST_KERNEL = 2,
	COST_RUN_QUEUE = 3,
	COST_BLOCKED = 4,
	COST_SLICES = 5,
	COST_SWITCHES = 6, /* voluntary + involuntary */
	COST_AMBIGUOUS = 7,
	COST_MIGRATIONS = 8,
	COST_STOLEN = 9, /* on the CPU by the clock, but part of no other cost */
	COST_SPLIT_ERROR = 10, /* as much of user may be kernel, or the other way round */
	_COST_MAX,
};

/* A column that one record lacks is "not measured" for all of them, never a sum of the rest. */
struct costs {
	int64_t sums[_COST_MAX];
	uint32_t missing; /* bit per enum cost: some record had no such field */
	uint64_t record_count;
};

/* Of one cpu record. */
struct costs costs_of_record(const struct record_view *record);
void costs_add(struct costs *costs, const struct costs *other);

/* False: not measured, and sums[cost] must not be shown. */
bool costs_has(const struct costs *costs, enum cost cost);

/* The field that JSON and CSV give a cost under. */
const char *costs_name(enum cost cost);

/* CPU of costs in percent of that of all; false when either is not measured or all is 0. */
bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent);

/* Which request_ids were seen, each under a number. */
struct request_set {
	struct request_set_entry *entries; /* uthash */
	size_t count;
	uint64_t seed;
};

void request_set_init(struct request_set *set);
void request_set_deinit(struct request_set *set);

/* The record's request_id under a number. 1: added; 0: was in it, or the record has none; -ENOMEM;
 * -E2BIG: REQUESTS_MAX reached. */
int request_set_add(struct request_set *set, uint32_t number, const struct record_view *record);

enum group_name {
	GROUP_NAME_THREAD = 0, /* by tid */
	GROUP_NAME_COMM = 1, /* of the process: by tid and pid */
	_GROUP_NAME_MAX,
};

struct group {
	struct costs costs;
	uint64_t request_count; /* distinct request_id; 0 = no record carried one */
	uint32_t number; /* from 1, in order of appearance */
	uint32_t host_bytes; /* of `value`, from the front: host name, and ':' (by pid and tid) */
	char *names[_GROUP_NAME_MAX]; /* NULL = not known; any bytes */
	size_t value_bytes;
	UT_hash_handle hh;
	char value[]; /* not NUL-terminated */
};

struct grouping {
	bool has_all_time; /* of what ran: attributed or not */
	char *by; /* a key's name, or "pid", "tid", "comm", "thread_name" */
	struct group *groups; /* uthash */
	size_t group_count;
	struct costs without_value; /* the context has no such key, or the name is not known */
	uint64_t request_count; /* distinct, over all groups */
	struct request_set requests; /* seen in group N; 0 = in any */
	uint64_t seed;
};

/* 0, -ENOMEM. */
int grouping_init(struct grouping *grouping, const char *by);
void grouping_deinit(struct grouping *grouping);
/* Groups by another key from now on, while there are no groups yet. 0, -ENOMEM. */
int grouping_rename(struct grouping *grouping, const char *by);

/*
 * Adds one cpu record; costs are its own (costs_of_record), comm is that of its process ({ NULL, 0
 * } = not known). 0; -ENOMEM; -E2BIG: more than GROUPS_MAX or REQUESTS_MAX. Does not log.
 */
int grouping_add(struct grouping *grouping, const struct record_view *record,
		 const struct costs *costs, struct record_text comm);

/* The group's value as it is shown: without the host in front, unless with_host. */
struct record_text grouping_label(const struct group *group, bool with_host);

/* Whether groups may have such a name: one that is not the value itself. */
bool grouping_has_name(const struct grouping *grouping, enum group_name name);

/* True for pid, tid, comm, thread_name: not a key of the target but what ran. Such a grouping is of
 * all time, attributed or not. */
bool grouping_is_by_field(const char *by);
