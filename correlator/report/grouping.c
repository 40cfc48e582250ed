/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/grouping.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"

/* A cost is its first field, or the sum of both parts; `whole` is preferred where both are given.
 */
static const struct {
	const char *whole;
	const char *parts[2];
} fields[_COST_MAX] = {
	[COST_CPU] = { RECORD_FIELD(cpu, cpu_ns),
		       { RECORD_FIELD(cpu, user_ns), RECORD_FIELD(cpu, kernel_ns) } },
	[COST_USER] = { .whole = RECORD_FIELD(cpu, user_ns) },
	[COST_KERNEL] = { .whole = RECORD_FIELD(cpu, kernel_ns) },
	[COST_RUN_QUEUE] = { .whole = RECORD_FIELD(cpu, run_queue_ns) },
	[COST_BLOCKED] = { .whole = RECORD_FIELD(cpu, blocked_ns) },
	[COST_SLICES] = { .whole = RECORD_FIELD(cpu, slices) },
	[COST_SWITCHES] = { .parts = { RECORD_FIELD(cpu, switches_voluntary),
				       RECORD_FIELD(cpu, switches_involuntary) } },
	[COST_AMBIGUOUS] = { .whole = RECORD_FIELD(cpu, ambiguous_ns) },
	[COST_MIGRATIONS] = { .whole = RECORD_FIELD(cpu, migrations) },
	[COST_STOLEN] = { .whole = RECORD_FIELD(cpu, stolen_ns) },
	[COST_SPLIT_ERROR] = { .whole = RECORD_FIELD(cpu, split_error_ns) },
};

static bool read_cost(const struct record_view *record, enum cost cost, int64_t *ret_value)
{
	int64_t first, second;

	if (fields[cost].whole && record_view_count(record, fields[cost].whole, ret_value))
		return true;
	if (!fields[cost].parts[0] || !record_view_count(record, fields[cost].parts[0], &first) ||
	    !record_view_count(record, fields[cost].parts[1], &second))
		return false;
	*ret_value = first;
	saturated_add_to(ret_value, second);
	return true;
}

struct costs costs_of_record(const struct record_view *record)
{
	struct costs costs = { .record_count = 1 };

	for (int cost = 0; cost < _COST_MAX; cost++) {
		if (!read_cost(record, (enum cost)cost, &costs.sums[cost]))
			costs.missing |= 1U << cost;
	}
	return costs;
}

void costs_add(struct costs *costs, const struct costs *other)
{
	for (int cost = 0; cost < _COST_MAX; cost++)
		saturated_add_to(&costs->sums[cost], other->sums[cost]);
	costs->missing |= other->missing;
	costs->record_count += other->record_count;
}

const char *costs_name(enum cost cost)
{
	return fields[cost].whole ? fields[cost].whole : "switches";
}

bool costs_has(const struct costs *costs, enum cost cost)
{
	return (costs->missing & 1U << cost) == 0;
}

bool costs_share_percent(const struct costs *costs, const struct costs *all, double *ret_percent)
{
	if (!costs_has(costs, COST_CPU) || !costs_has(all, COST_CPU) || all->sums[COST_CPU] == 0)
		return false;
	*ret_percent = 100.0 * (double)costs->sums[COST_CPU] / (double)all->sums[COST_CPU];
	return true;
}

struct request_set_entry {
	UT_hash_handle hh;
	char key[]; /* number, and request_id */
};

void request_set_init(struct request_set *set)
{
	*set = (struct request_set){ .seed = random_seed() };
}

void request_set_deinit(struct request_set *set)
{
	struct request_set_entry *entry, *next;

	HASH_ITER(hh, set->entries, entry, next) {
		HASH_DELETE(hh, set->entries, entry);
		free(entry);
	}
	*set = (struct request_set){ 0 };
}

int request_set_add(struct request_set *set, uint32_t number, const struct record_view *record)
{
	_cleanup_free_ struct request_set_entry *entry = NULL;
	struct request_set_entry *known;
	struct record_text request_id;
	size_t key_bytes;
	unsigned int hash;

	if (!record_view_text(record, "request_id", &request_id) || request_id.size_bytes == 0)
		return 0;
	key_bytes = sizeof(number) + request_id.size_bytes;
	entry = malloc(sizeof(*entry) + key_bytes);
	if (!entry)
		return -ENOMEM;
	memcpy(entry->key, &number, sizeof(number));
	memcpy(entry->key + sizeof(number), request_id.bytes, request_id.size_bytes);
	hash = hash_table_key(set->seed, entry->key, key_bytes);
	HASH_FIND_BYHASHVALUE(hh, set->entries, entry->key, key_bytes, hash, known);
	if (known)
		return 0;
	if (set->count == REQUESTS_MAX)
		return -E2BIG;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, set->entries, entry->key, key_bytes, hash, entry);
	if (!entry->hh.tbl)
		return -ENOMEM;
	set->count++;
	(void)TAKE_PTR(entry);
	return 1;
}

static const char *const by_fields[] = { "pid", "tid", "comm", "thread_name" };

bool grouping_is_by_field(const char *by)
{
	for (size_t i = 0; i < sizeof(by_fields) / sizeof(by_fields[0]); i++) {
		if (strcmp(by, by_fields[i]) == 0)
			return true;
	}
	return false;
}

bool grouping_has_name(const struct grouping *grouping, enum group_name name)
{
	return strcmp(grouping->by, "tid") == 0 ||
	       (name == GROUP_NAME_COMM && strcmp(grouping->by, "pid") == 0);
}

struct record_text grouping_label(const struct group *group, bool with_host)
{
	size_t skip_bytes = with_host ? 0 : group->host_bytes;

	return (struct record_text){ group->value + skip_bytes, group->value_bytes - skip_bytes };
}

int grouping_init(struct grouping *grouping, const char *by)
{
	*grouping = (struct grouping){
		.by = strdup(by),
		.has_all_time = grouping_is_by_field(by),
	};
	grouping->seed = random_seed();
	request_set_init(&grouping->requests);
	return grouping->by ? 0 : -ENOMEM;
}

void grouping_deinit(struct grouping *grouping)
{
	struct group *group, *next;

	HASH_ITER(hh, grouping->groups, group, next) {
		HASH_DELETE(hh, grouping->groups, group);
		for (int name = 0; name < _GROUP_NAME_MAX; name++)
			free(group->names[name]);
		free(group);
	}
	request_set_deinit(&grouping->requests);
	free(grouping->by);
	*grouping = (struct grouping){ 0 };
}

int grouping_rename(struct grouping *grouping, const char *by)
{
	char *copy = strdup(by);

	assert(!grouping->groups);
	if (!copy)
		return -ENOMEM;
	free(grouping->by);
	grouping->by = copy;
	return 0;
}

static int count_request(struct grouping *grouping, struct group *group,
			 const struct record_view *record)
{
	int r;

	if (strcmp(grouping->by, "request_id") == 0) {
		grouping->request_count = grouping->group_count;
		group->request_count = 1;
		return 0;
	}
	r = request_set_add(&grouping->requests, group->number, record);
	if (r <= 0)
		return r;
	group->request_count++;
	r = request_set_add(&grouping->requests, 0, record);
	if (r > 0)
		grouping->request_count++;
	return r < 0 ? r : 0;
}

static int find_or_add(struct grouping *grouping, struct record_text value, size_t host_bytes,
		       struct group **ret_group)
{
	unsigned int hash = hash_table_key(grouping->seed, value.bytes, value.size_bytes);
	_cleanup_free_ struct group *group = NULL;
	struct group *known;

	HASH_FIND_BYHASHVALUE(hh, grouping->groups, value.bytes, value.size_bytes, hash, known);
	if (known) {
		*ret_group = known;
		return 0;
	}
	if (grouping->group_count == GROUPS_MAX)
		return -E2BIG;
	group = calloc(1, sizeof(*group) + value.size_bytes);
	if (!group)
		return -ENOMEM;
	memcpy(group->value, value.bytes, value.size_bytes);
	group->value_bytes = value.size_bytes;
	group->host_bytes = (uint32_t)host_bytes;
	group->number = (uint32_t)grouping->group_count + 1;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, grouping->groups, group->value, group->value_bytes, hash,
				    group);
	if (!group->hh.tbl)
		return -ENOMEM;
	grouping->group_count++;
	*ret_group = TAKE_PTR(group);
	return 0;
}

/* HOST:PID or HOST:PID/TID: a pid alone is not unique over several recordings. */
static struct record_text thread_value(const struct record_view *record, bool with_tid,
				       char *buffer, size_t buffer_bytes, size_t *ret_host_bytes)
{
	struct record_text host = { "", 0 };
	int64_t pid = 0, tid = 0;
	int length;

	(void)record_view_text(record, RECORD_FIELD(common, host_name), &host);
	(void)record_view_count(record, RECORD_FIELD(common, pid), &pid);
	/* No thread has ID 0: of the accounts that a full map folded together, it is not known. */
	if (with_tid && (!record_view_count(record, RECORD_FIELD(cpu, tid), &tid) || tid == 0))
		return (struct record_text){ 0 };
	memcpy(buffer, host.bytes, host.size_bytes);
	*ret_host_bytes = host.size_bytes + 1;
	length = snprintf(buffer + host.size_bytes, buffer_bytes - host.size_bytes,
			  with_tid ? ":%" PRId64 "/%" PRId64 : ":%" PRId64, pid, tid);
	return (struct record_text){ buffer, host.size_bytes + (size_t)length };
}

/* The latest one holds: threads and processes change their names. */
static int set_name(struct group *group, enum group_name which, struct record_text name)
{
	size_t size_bytes = name.size_bytes < GROUP_NAME_BYTES ? name.size_bytes : GROUP_NAME_BYTES;
	const char *known = group->names[which];
	char *copy;

	if (size_bytes == 0 ||
	    (known && strlen(known) == size_bytes && memcmp(known, name.bytes, size_bytes) == 0))
		return 0;
	copy = strndup(name.bytes, size_bytes);
	if (!copy)
		return -ENOMEM;
	free(group->names[which]);
	group->names[which] = copy;
	return 0;
}

static int set_names(const struct grouping *grouping, struct group *group,
		     const struct record_view *record, struct record_text comm)
{
	struct record_text thread_name = { 0 };
	int r = 0;

	if (grouping_has_name(grouping, GROUP_NAME_THREAD)) {
		(void)record_view_text(record, RECORD_FIELD(cpu, thread_name), &thread_name);
		r = set_name(group, GROUP_NAME_THREAD, thread_name);
	}
	if (r == 0 && grouping_has_name(grouping, GROUP_NAME_COMM))
		r = set_name(group, GROUP_NAME_COMM, comm);
	return r;
}

int grouping_add(struct grouping *grouping, const struct record_view *record,
		 const struct costs *costs, struct record_text comm)
{
	char buffer[RECORD_VIEW_TEXT_BYTES_MAX + 64];
	struct record_text value = { 0 };
	size_t host_bytes = 0;
	struct group *group;
	int r;

	if (strcmp(grouping->by, "pid") == 0 || strcmp(grouping->by, "tid") == 0)
		value = thread_value(record, grouping->by[0] == 't', buffer, sizeof(buffer),
				     &host_bytes);
	else if (strcmp(grouping->by, "comm") == 0)
		value = comm;
	else
		(void)record_view_text(record, grouping->by, &value);
	if (!value.bytes || value.size_bytes == 0) {
		costs_add(&grouping->without_value, costs);
		return 0;
	}
	r = find_or_add(grouping, value, host_bytes, &group);
	if (r < 0)
		return r;
	r = set_names(grouping, group, record, comm);
	if (r < 0)
		return r;
	costs_add(&group->costs, costs);
	return count_request(grouping, group, record);
}
