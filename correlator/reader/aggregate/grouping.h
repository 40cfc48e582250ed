/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sums of cpu records and distributions of their requests, grouped by one or more keys of the
 * target, or by what ran. The records are untrusted: the hash table, which holds each distinct
 * value once, is keyed with a random seed, so that values chosen from outside cannot make it slow.
 * Single thread; nothing here logs.
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

/* Distributions over the requests of a group, each request as a whole. */
struct distribution {
	struct histogram costs[_REQUEST_COST_MAX];
};

struct group {
	struct costs costs;
	uint64_t request_count; /* requests that ended here; 0 = no record carried a request_id */
	struct distribution *requests; /* of these; NULL: none, or the group is itself a request */
	uint32_t open_count; /* open requests that are here now, and may get more records */
	uint32_t host_bytes; /* prefix of value: host name, and ':' (by pid and tid) */
	char *names[_GROUP_NAME_MAX]; /* NULL = not known; any bytes */
	uint64_t named_at[_GROUP_NAME_MAX]; /* by the record of this number (selection.h) */
	const struct group
		*of; /* a request's group in the next grouping, for above_percent; or NULL */
	size_t part_count; /* more than 1: value is a combination */
	size_t value_bytes;
	UT_hash_handle hh;
	char value[]; /* not NUL-terminated */
};

/* The source of a key's values. */
enum grouping_source {
	GROUPING_SOURCE_TEXT = 0, /* a key of the target, or another text field of the record */
	GROUPING_SOURCE_PID = 1,
	GROUPING_SOURCE_TID = 2,
	GROUPING_SOURCE_COMM = 3,
	GROUPING_SOURCE_ATTRIBUTION = 4,
};

/* The minimum cost or duration of a request that is to be shown. */
struct grouping_floor {
	bool is_wall; /* duration from first to last activity; else cost: */
	enum cost cost;
	int64_t least; /* 0: no minimum */
};

struct grouping {
	bool has_all_time; /* covers all time, attributed or not */
	bool is_by_request; /* each group is a request */
	double above_percent; /* by request: only those above this percentile of the requests in
			       * their group of the next grouping; 0: all */
	char *by; /* a key, or "pid", "tid", "comm", "thread_name"; several with commas */
	char *key_names; /* copy of by, split at the commas */
	const char *keys[GROUPING_KEYS_MAX]; /* point into key_names */
	enum grouping_source sources[GROUPING_KEYS_MAX];
	bool has_names[_GROUP_NAME_MAX]; /* result of grouping_has_name() */
	size_t key_count;
	size_t part_count; /* parts of a combination; 1: no combination, value is the key's own */
	bool is_over_time; /* two parts follow the keys: the time span, and the attribution */
	uint64_t step_ns; /* step length; 0: each window */
	struct group *groups; /* uthash */
	size_t group_count;
	size_t open_count; /* number of groups with open requests */
	size_t group_max; /* with several keys: further combinations count as without a value; 0:
			   * more than GROUPS_MAX groups are an error */
	struct costs without_value; /* the context has no such key, or the name is not known */
	struct costs folded; /* of groups that were summed up and freed (grouping_forget), and of
			      * requests below floor, which never became groups */
	size_t folded_count; /* in folded; one that came again may count twice */
	uint64_t folded_requests; /* requests of folded groups that are not requests themselves */
	struct distribution folded_distribution; /* of these requests */
	int64_t lacking_cpu_ns; /* maximum CPU that a group lacks because it was folded before */
	struct grouping_floor floor; /* for is_by_request */
	uint64_t without_value_count; /* requests that had no value when they ended */
	struct distribution without_value_requests;
	uint64_t request_count; /* all that ended, in any group or in none */
	struct distribution requests; /* of all of these requests */
	uint64_t seed;
};

/* When something was used, wall clock; stored as the bytes of a part, in native byte order. */
struct grouping_span {
	uint64_t start_ns;
	uint64_t end_ns;
};

/* Whether by is a key, or at most GROUPING_KEYS_MAX different keys separated by commas. */
bool grouping_is_by(const char *by);

/* by: accepted by grouping_is_by(). Returns 0, -ENOMEM. */
int grouping_init(struct grouping *grouping, const char *by);
void grouping_deinit(struct grouping *grouping);
/*
 * Groups all time, attributed or not, by the keys and by when it was used: by window, or by steps
 * of step_ns (> 0); a window belongs to the step that holds its middle. Requests are counted, not
 * measured. Call while there are no groups yet.
 */
void grouping_split_over_time(struct grouping *grouping, uint64_t step_ns);
/* For a group of such a grouping: when it was, and whose time. */
struct grouping_span grouping_span(const struct grouping *grouping, const struct group *group);
enum attribution grouping_attribution(const struct grouping *grouping, const struct group *group);

/* Changes the keys, while there are no groups yet. Returns 0, -ENOMEM. */
int grouping_rename(struct grouping *grouping, const char *by);

/*
 * Adds one cpu record, with the values that its request lent it (selection.h). costs: the record's
 * own (costs_of_record). *place: the group of its request (NULL: no value), updated to the
 * record's; place is NULL if the record has no request. Returns 0; -ENOMEM; -E2BIG: more than
 * GROUPS_MAX. Does not log.
 */
int grouping_add(struct grouping *grouping, const struct selection_record *taken,
		 const struct costs *costs, struct group **place);

/* Adds a group without open requests to folded, and frees it. Returns 0; -ENOMEM: the group is
 * still there. */
int grouping_forget(struct grouping *grouping, struct group *group);

/* Ends a request in place (NULL: it has no value), with its total costs. Not for a grouping by
 * request. Returns 0, -ENOMEM. */
int grouping_settle(struct grouping *grouping, struct group *place, const struct costs *costs);

/*
 * For a grouping by request: ends a request, which becomes the group *ret_group. If it would not be
 * shown, it is only added to folded, and *ret_group is NULL. endpoint: its name, empty = not known.
 * Returns 0, -ENOMEM, -E2BIG.
 */
int grouping_settle_request(struct grouping *grouping, struct record_text id,
			    const struct costs *costs, struct record_text endpoint,
			    struct group **ret_group);

/* Adds other to distribution. Returns 0, -ENOMEM. */
int distribution_merge(struct distribution *distribution, const struct distribution *other);
void distribution_deinit(struct distribution *distribution);

/* The group's value of a key as it is shown, empty if it has none: without the leading host unless
 * with_host. The label is the value of the first key. */
struct record_text grouping_part(const struct group *group, size_t part, bool with_host);
struct record_text grouping_label(const struct group *group, bool with_host);
/* Compares by value, like memcmp. */
int grouping_compare(const struct group *a, const struct group *b);
/* Compares one part of the values. */
int grouping_compare_part(const struct group *a, const struct group *b, size_t part);

/* Whether groups may have a name of this kind, besides the value itself. */
bool grouping_has_name(const struct grouping *grouping, enum group_name name);

enum grouping_source grouping_source_of(const char *key);
/*
 * The value of a key, or of what ran, in an activity record; empty: it has none. comm: of its
 * process (struct selection_record). By pid and by tid it is in the buffer, and begins with the
 * host's name and ':', of *ret_host_bytes, else untouched; other values are borrowed.
 */
struct record_text grouping_value(const char *key, enum grouping_source source,
				  const struct record_view *record, struct record_text comm,
				  char buffer[static COMBINATION_PART_BYTES_MAX],
				  size_t *ret_host_bytes);

/* Whether by is pid, tid, comm, thread_name, host_name or attribution: what ran, not a key of the
 * target. A grouping by only these, or by attribution, covers all time, attributed or not. */
bool grouping_is_by_field(const char *by);
