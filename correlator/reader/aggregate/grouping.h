/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What cpu records add up to, and how their requests are distributed, grouped by one key of the
 * target or several, or by what ran. The records are untrusted: the hash table, which holds each
 * distinct value once, is keyed with a random seed, so that values chosen by somebody else cannot
 * make it slow. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash_table.h"
#include "figures/figure.h"
#include "reader/aggregate/combination.h"
#include "reader/query/selection.h"
#include "record/record_view.h"
#include "requests/attribution.h"
#include "requests/histogram.h"

enum {
	GROUPS_MAX = 1000000, /* distinct values: about 250 MB */
	GROUP_NAME_BYTES = 64, /* a longer name is cut */
	GROUPING_KEYS_MAX = 4,
};

/* Of the requests of a group, each as a whole. */
struct distribution {
	struct histogram costs[_REQUEST_COST_MAX];
};

struct group {
	struct costs costs;
	uint64_t request_count; /* that were here last; 0 = no record carried a request_id */
	struct distribution *requests; /* of them; NULL: none, or it is one itself */
	uint32_t open_count; /* requests that are here now, of which more may come */
	uint32_t host_bytes; /* of `value`, from the front: host name, and ':' (by pid and tid) */
	char *names[_GROUP_NAME_MAX]; /* NULL = not known; any bytes */
	uint64_t
		named_at[_GROUP_NAME_MAX]; /* the number of the record that said so (selection.h) */
	const struct group
		*of; /* a request's, where above_percent is wanted; NULL: it had no value */
	size_t part_count; /* more than 1: the value is a combination */
	size_t value_bytes;
	UT_hash_handle hh;
	char value[]; /* not NUL-terminated */
};

/* What a key is. */
enum grouping_source {
	GROUPING_SOURCE_TEXT = 0, /* of the target, or another text of the record by its name */
	GROUPING_SOURCE_PID = 1,
	GROUPING_SOURCE_TID = 2,
	GROUPING_SOURCE_COMM = 3,
	GROUPING_SOURCE_ATTRIBUTION = 4,
};

/* What a request must have used, or how long it must have taken, to be shown. */
struct grouping_floor {
	bool is_wall; /* from first to last activity; else: */
	enum cost cost;
	int64_t least; /* 0: nothing */
};

struct grouping {
	bool has_all_time; /* of what ran: attributed or not */
	bool is_by_request; /* each group is a request */
	double above_percent; /* by request: only those above this percentile of the requests of the
			       * next grouping's same group; 0: all */
	char *by; /* a key's name, or "pid", "tid", "comm", "thread_name"; several with commas */
	char *key_names; /* the same, cut at the commas */
	const char *keys[GROUPING_KEYS_MAX]; /* in key_names */
	enum grouping_source sources[GROUPING_KEYS_MAX];
	bool has_names[_GROUP_NAME_MAX]; /* grouping_has_name */
	size_t key_count;
	size_t part_count; /* of a combination; 1: there is none, a value is the key's own */
	bool is_over_time; /* behind the keys, parts of when and of whose time it was */
	uint64_t step_ns; /* 0: each window */
	struct group *groups; /* uthash */
	size_t group_count;
	size_t open_count; /* of them, those that requests are in */
	size_t group_max; /* of several keys: what more there is counts as without a value; 0: it is
			   * an error above GROUPS_MAX */
	struct costs without_value; /* the context has no such key, or the name is not known */
	struct costs folded; /* of groups that were summed up and forgotten (grouping_forget), and
			      * of requests that never became one (floor) */
	size_t folded_count; /* one that came again may be in it twice */
	uint64_t folded_requests; /* of groups that are no requests */
	struct distribution folded_distribution; /* the same */
	int64_t lacking_cpu_ns; /* at most so much of a group may be in folded: it came again */
	struct grouping_floor floor; /* by request */
	uint64_t without_value_count; /* requests that had none at last */
	struct distribution without_value_requests;
	uint64_t request_count; /* of all groups and of none */
	struct distribution requests; /* the same */
	uint64_t seed;
};

/* When something was used, wall clock: a part's bytes, in this machine's order. */
struct grouping_span {
	uint64_t start_ns;
	uint64_t end_ns;
};

/* A key, or at most GROUPING_KEYS_MAX different ones with commas. */
bool grouping_is_by(const char *by);

/* by: grouping_is_by. 0, -ENOMEM. */
int grouping_init(struct grouping *grouping, const char *by);
void grouping_deinit(struct grouping *grouping);
/*
 * From now on, while there are no groups yet, of all time, by keys and when: by windows, or by
 * steps of so long (> 0), of which a window is in the one that holds its middle. Requests are
 * counted, not measured.
 */
void grouping_split_over_time(struct grouping *grouping, uint64_t step_ns);
/* Of a group of such a grouping: when, and whose time it was. */
struct grouping_span grouping_span(const struct grouping *grouping, const struct group *group);
enum attribution grouping_attribution(const struct grouping *grouping, const struct group *group);

/* The same: groups by other keys from now on, while there are no groups yet. 0, -ENOMEM. */
int grouping_rename(struct grouping *grouping, const char *by);

/*
 * Adds one cpu record, with what its request lent it (selection.h); costs are its own
 * (costs_of_record), *place is where its request is, which is here now (NULL: it has no value),
 * place is NULL if it is of no request. 0; -ENOMEM; -E2BIG: more than GROUPS_MAX. Does not log.
 */
int grouping_add(struct grouping *grouping, const struct selection_record *taken,
		 const struct costs *costs, struct group **place);

/* Sums up a group that no request is in, and frees it. 0; -ENOMEM: it is still there. */
int grouping_forget(struct grouping *grouping, struct group *group);

/* A request has ended at that place (NULL: it has no value), with these costs in all. Not of a
 * grouping by request. 0, -ENOMEM, -E2BIG. */
int grouping_settle(struct grouping *grouping, struct group *place, const struct costs *costs);

/*
 * By request: one has ended. It is a group from now on, *ret_group, unless it would not be shown,
 * and is only summed up: NULL. endpoint: its name, no bytes = not known. 0, -ENOMEM, -E2BIG.
 */
int grouping_settle_request(struct grouping *grouping, struct record_text id,
			    const struct costs *costs, struct record_text endpoint,
			    struct group **ret_group);

/* Adds other's. 0, -ENOMEM. */
int distribution_merge(struct distribution *distribution, const struct distribution *other);
void distribution_deinit(struct distribution *distribution);

/* The group's value of a key as it is shown, empty where it has none: without the host in front,
 * unless with_host. The label is of the first one. */
struct record_text grouping_part(const struct group *group, size_t part, bool with_host);
struct record_text grouping_label(const struct group *group, bool with_host);
/* By value. As of memcmp. */
int grouping_compare(const struct group *a, const struct group *b);
/* The same of one part. */
int grouping_compare_part(const struct group *a, const struct group *b, size_t part);

/* Whether groups may have such a name: one that is not the value itself. */
bool grouping_has_name(const struct grouping *grouping, enum group_name name);

/* True for pid, tid, comm, thread_name, host_name, attribution: not a key of the target but what
 * ran. A grouping by such alone, or by attribution, is of all time, attributed or not. */
bool grouping_is_by_field(const char *by);
