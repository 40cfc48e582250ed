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

static const char *const by_fields[] = { "pid", "tid", "comm", "thread_name", "host_name" };

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
	if (name == GROUP_NAME_ENDPOINT)
		return grouping->is_by_request;
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
		.is_by_request = strcmp(by, "request_id") == 0,
	};
	grouping->seed = random_seed();
	return grouping->by ? 0 : -ENOMEM;
}

static void free_group(struct group *group)
{
	for (int name = 0; name < _GROUP_NAME_MAX; name++)
		free(group->names[name]);
	if (group->requests)
		distribution_deinit(group->requests);
	free(group->requests);
	free(group);
}

void grouping_forget(struct grouping *grouping, struct group *group)
{
	costs_add(&grouping->folded, &group->costs);
	grouping->folded_count++;
	HASH_DELETE(hh, grouping->groups, group);
	grouping->group_count--;
	free_group(group);
}

void grouping_deinit(struct grouping *grouping)
{
	struct group *group, *next;

	HASH_ITER(hh, grouping->groups, group, next) {
		HASH_DELETE(hh, grouping->groups, group);
		free_group(group);
	}
	distribution_deinit(&grouping->requests);
	distribution_deinit(&grouping->without_value_requests);
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
	grouping->is_by_request = strcmp(by, "request_id") == 0;
	return 0;
}

static bool is_value_of(const struct group *group, struct record_text value)
{
	return group->value_bytes == value.size_bytes &&
	       memcmp(group->value, value.bytes, value.size_bytes) == 0;
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
	group->number = (uint32_t)(grouping->group_count + grouping->folded_count) + 1;
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
	struct record_text thread_name = { 0 }, endpoint = { 0 };
	int r = 0;

	if (grouping_has_name(grouping, GROUP_NAME_THREAD)) {
		(void)record_view_text(record, RECORD_FIELD(cpu, thread_name), &thread_name);
		r = set_name(group, GROUP_NAME_THREAD, thread_name);
	}
	if (r == 0 && grouping_has_name(grouping, GROUP_NAME_COMM))
		r = set_name(group, GROUP_NAME_COMM, comm);
	if (r == 0 && grouping->is_by_request) {
		(void)record_view_text(record, "endpoint", &endpoint);
		r = set_name(group, GROUP_NAME_ENDPOINT, endpoint);
	}
	return r;
}

/* Of a key: what has no value is its request's. */
static void add_without_value(struct grouping *grouping, const struct costs *costs,
			      struct group *const *place)
{
	if (place && *place && !grouping->has_all_time)
		costs_add(&(*place)->costs, costs);
	else if (!place || grouping->has_all_time)
		costs_add(&grouping->without_value, costs);
	/* Else it is known when the request has ended. */
}

static struct record_text value_of(const struct grouping *grouping,
				   const struct record_view *record, struct record_text comm,
				   char *buffer, size_t buffer_bytes, size_t *ret_host_bytes)
{
	struct record_text value = { 0 };

	if (strcmp(grouping->by, "pid") == 0 || strcmp(grouping->by, "tid") == 0)
		return thread_value(record, grouping->by[0] == 't', buffer, buffer_bytes,
				    ret_host_bytes);
	if (strcmp(grouping->by, "comm") == 0)
		return comm;
	(void)record_view_text(record, grouping->by, &value);
	return value;
}

int grouping_add(struct grouping *grouping, const struct record_view *record,
		 const struct costs *costs, struct record_text comm, struct group **place,
		 const struct costs *before)
{
	char buffer[RECORD_VIEW_TEXT_BYTES_MAX + 64];
	size_t host_bytes = 0;
	struct record_text value =
		value_of(grouping, record, comm, buffer, sizeof(buffer), &host_bytes);
	struct group *group;
	int r = 0;

	if (!value.bytes || value.size_bytes == 0) {
		add_without_value(grouping, costs, place);
		return 0;
	}
	if (place && *place && is_value_of(*place, value))
		group = *place;
	else
		r = find_or_add(grouping, value, host_bytes, &group);
	if (r < 0)
		return r;
	r = set_names(grouping, group, record, comm);
	if (r < 0)
		return r;
	if (place && !*place && !grouping->has_all_time)
		costs_add(&group->costs, before);
	if (place) {
		*place = group;
		group->is_open = true;
	}
	costs_add(&group->costs, costs);
	return 0;
}

static int add_figures(struct distribution *distribution, const struct costs *costs)
{
	int64_t wall_ns;
	int r = 0;

	if (costs_has(costs, COST_CPU))
		r = histogram_add(&distribution->figures[FIGURE_CPU], costs->sums[COST_CPU]);
	if (r == 0 && costs_wall_ns(costs, &wall_ns))
		r = histogram_add(&distribution->figures[FIGURE_WALL], wall_ns);
	return r;
}

static int settle_without_value(struct grouping *grouping, const struct costs *costs)
{
	/* What ran was charged record by record. */
	if (grouping->has_all_time)
		return 0;
	costs_add(&grouping->without_value, costs);
	grouping->without_value_count++;
	return add_figures(&grouping->without_value_requests, costs);
}

static int settle_at(const struct grouping *grouping, struct group *place,
		     const struct costs *costs)
{
	place->request_count++;
	if (grouping->is_by_request)
		return 0;
	if (!place->requests)
		place->requests = calloc(1, sizeof(*place->requests));
	return place->requests ? add_figures(place->requests, costs) : -ENOMEM;
}

int grouping_settle(struct grouping *grouping, struct group *place, const struct costs *costs)
{
	int r;

	if (place)
		place->is_open = false;
	/* One that came again when it seemed to have ended is no second row. */
	if (place && grouping->is_by_request && place->request_count)
		return 0;
	grouping->request_count++;
	r = add_figures(&grouping->requests, costs);
	if (r < 0)
		return r;
	return place ? settle_at(grouping, place, costs) : settle_without_value(grouping, costs);
}

int distribution_merge(struct distribution *distribution, const struct distribution *other)
{
	int r = 0;

	for (int figure = 0; figure < _FIGURE_MAX && r == 0; figure++)
		r = histogram_merge(&distribution->figures[figure], &other->figures[figure]);
	return r;
}

void distribution_deinit(struct distribution *distribution)
{
	for (int figure = 0; figure < _FIGURE_MAX; figure++)
		histogram_deinit(&distribution->figures[figure]);
}
