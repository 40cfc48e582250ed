/*
 * The time of cpu records, grouped by one key of the target, or by what ran. Holds each distinct
 * value once, in a hash table keyed with a random seed, so that values chosen by somebody else
 * cannot make it slow. Single thread; groups live as long as the grouping.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <uthash.h>

#include "base/cleanup.h"
#include "record/record_view.h"
#include "report/costs.h"
#include "report/text_set.h"

enum {
	GROUPS_MAX = 1000000, /* distinct values: about 250 MB */
	GROUP_NAME_BYTES = 64, /* a longer name is cut */
};

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
	struct text_set requests; /* seen in group N; 0 = in any */
	uint64_t seed;
};

/* 0, -ENOMEM. */
int grouping_init(struct grouping *grouping, const char *by);
void grouping_deinit(struct grouping *grouping);

/*
 * Adds one cpu record; comm is that of its process ({ NULL, 0 } = not known). 0;
 * -ENOMEM; -E2BIG: more than GROUPS_MAX or TEXT_SET_MAX. Does not log.
 */
int grouping_add(struct grouping *grouping, const struct record_view *record,
		 struct record_text comm);

/* The group's value as it is shown: without the host in front, unless with_host. */
struct record_text grouping_label(const struct group *group, bool with_host);

/* Whether groups may have such a name: one that is not the value itself. */
bool grouping_has_name(const struct grouping *grouping, enum group_name name);

/* True for pid, tid, comm, thread_name: not a key of the target but what ran. Such a grouping is of
 * all time, attributed or not. */
bool grouping_is_by_field(const char *by);
