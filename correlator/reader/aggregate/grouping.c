/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/grouping.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"

static const char *const by_fields[] = { "pid",		"tid",	     "comm",
					 "thread_name", "host_name", "attribution" };

bool grouping_is_by_field(const char *by)
{
	for (size_t i = 0; i < sizeof(by_fields) / sizeof(by_fields[0]); i++) {
		if (strcmp(by, by_fields[i]) == 0)
			return true;
	}
	return false;
}

static bool is_by(const struct grouping *grouping, const char *key)
{
	for (size_t i = 0; i < grouping->key_count; i++)
		if (strcmp(grouping->keys[i], key) == 0)
			return true;
	return false;
}

bool grouping_has_name(const struct grouping *grouping, enum group_name name)
{
	return grouping->has_names[name];
}

struct record_text grouping_part(const struct group *group, size_t part, bool with_host)
{
	struct combination_part found = { { group->value, group->value_bytes },
					  (uint16_t)group->host_bytes };

	if (group->part_count > 1)
		found = combination_read(found.text, part);
	if (!with_host) {
		found.text.bytes += found.host_bytes;
		found.text.size_bytes -= found.host_bytes;
	}
	return found.text;
}

struct record_text grouping_label(const struct group *group, bool with_host)
{
	return grouping_part(group, 0, with_host);
}

int grouping_compare_part(const struct group *a, const struct group *b, size_t part)
{
	struct record_text first = grouping_part(a, part, true),
			   second = grouping_part(b, part, true);
	size_t shorter =
		first.size_bytes < second.size_bytes ? first.size_bytes : second.size_bytes;
	int order = memcmp(first.bytes, second.bytes, shorter);

	return order ? order : compare_u64(first.size_bytes, second.size_bytes);
}

int grouping_compare(const struct group *a, const struct group *b)
{
	int order = 0;

	for (size_t part = 0; part < a->part_count && order == 0; part++)
		order = grouping_compare_part(a, b, part);
	return order;
}

bool grouping_is_by(const char *by)
{
	struct record_text keys[GROUPING_KEYS_MAX];
	size_t count = 0;

	for (;; by++) {
		struct record_text key = { by, strcspn(by, ",") };

		if (key.size_bytes == 0 || count == GROUPING_KEYS_MAX)
			return false;
		for (size_t i = 0; i < count; i++)
			if (keys[i].size_bytes == key.size_bytes &&
			    memcmp(keys[i].bytes, key.bytes, key.size_bytes) == 0)
				return false;
		keys[count++] = key;
		by += key.size_bytes;
		if (*by == '\0')
			return true;
	}
}

/* The parts after the keys. */
enum {
	PART_SPAN = 0,
	PART_ATTRIBUTION = 1,
	PARTS_OF_TIME = 2,
};

static void add_parts_of_time(struct grouping *grouping)
{
	grouping->part_count = grouping->key_count + PARTS_OF_TIME;
	grouping->has_all_time = true;
	grouping->is_by_request = false;
	grouping->has_names[GROUP_NAME_ENDPOINT] = false;
}

void grouping_split_over_time(struct grouping *grouping, uint64_t step_ns)
{
	grouping->is_over_time = true;
	grouping->step_ns = step_ns;
	add_parts_of_time(grouping);
}

struct grouping_span grouping_span(const struct grouping *grouping, const struct group *group)
{
	struct grouping_span span;

	memcpy(&span, grouping_part(group, grouping->key_count + PART_SPAN, true).bytes,
	       sizeof(span));
	return span;
}

enum attribution grouping_attribution(const struct grouping *grouping, const struct group *group)
{
	return (enum attribution) *
	       grouping_part(group, grouping->key_count + PART_ATTRIBUTION, true).bytes;
}

enum grouping_source grouping_source_of(const char *key)
{
	static const char *const names[] = {
		[GROUPING_SOURCE_PID] = "pid",
		[GROUPING_SOURCE_TID] = "tid",
		[GROUPING_SOURCE_COMM] = "comm",
		[GROUPING_SOURCE_ATTRIBUTION] = "attribution",
	};
	size_t source = sizeof(names) / sizeof(names[0]);

	while (--source > GROUPING_SOURCE_TEXT && strcmp(key, names[source]) != 0)
		;
	return (enum grouping_source)source;
}

static int set_keys(struct grouping *grouping, const char *by)
{
	char *rest;

	assert(grouping_is_by(by));
	grouping->key_count = 0;
	grouping->by = strdup(by);
	grouping->key_names = strdup(by);
	if (!grouping->by || !grouping->key_names)
		return -ENOMEM;
	grouping->has_all_time = true;
	rest = grouping->key_names;
	while (rest)
		grouping->keys[grouping->key_count++] = strsep(&rest, ",");
	for (size_t i = 0; i < grouping->key_count; i++) {
		grouping->sources[i] = grouping_source_of(grouping->keys[i]);
		grouping->has_all_time &= grouping_is_by_field(grouping->keys[i]);
	}
	grouping->has_all_time |= is_by(grouping, "attribution");
	grouping->is_by_request = strcmp(by, "request_id") == 0;
	grouping->part_count = grouping->key_count;
	if (grouping->is_over_time)
		add_parts_of_time(grouping);
	grouping->has_names[GROUP_NAME_THREAD] = is_by(grouping, "tid");
	grouping->has_names[GROUP_NAME_COMM] = is_by(grouping, "tid") || is_by(grouping, "pid");
	grouping->has_names[GROUP_NAME_ENDPOINT] = grouping->is_by_request;
	return 0;
}

int grouping_init(struct grouping *grouping, const char *by)
{
	int r;

	*grouping = (struct grouping){ .seed = random_seed() };
	r = set_keys(grouping, by);
	if (r < 0)
		grouping_deinit(grouping);
	return r;
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

int grouping_forget(struct grouping *grouping, struct group *group)
{
	int r = group->requests
			? distribution_merge(&grouping->folded_distribution, group->requests)
			: 0;

	assert(group->open_count == 0);
	if (r < 0)
		return r;
	costs_add(&grouping->folded, &group->costs);
	grouping->folded_requests += grouping->is_by_request ? 0 : group->request_count;
	grouping->folded_count++;
	HASH_DELETE(hh, grouping->groups, group);
	grouping->group_count--;
	free_group(group);
	return 0;
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
	distribution_deinit(&grouping->folded_distribution);
	free(grouping->by);
	free(grouping->key_names);
	*grouping = (struct grouping){ 0 };
}

int grouping_rename(struct grouping *grouping, const char *by)
{
	struct grouping renamed = *grouping;
	int r = set_keys(&renamed, by);

	assert(!grouping->groups);
	free(r < 0 ? renamed.by : grouping->by);
	free(r < 0 ? renamed.key_names : grouping->key_names);
	if (r == 0)
		*grouping = renamed;
	return r;
}

static bool is_value_of(const struct group *group, struct record_text value)
{
	return group->value_bytes == value.size_bytes &&
	       memcmp(group->value, value.bytes, value.size_bytes) == 0;
}

static struct group *find(const struct grouping *grouping, struct record_text value,
			  unsigned int hash)
{
	struct group *group;

	HASH_FIND_BYHASHVALUE(hh, grouping->groups, value.bytes, value.size_bytes, hash, group);
	return group;
}

static int add_group(struct grouping *grouping, struct record_text value, unsigned int hash,
		     struct group **ret_group)
{
	_cleanup_free_ struct group *group = NULL;

	if (grouping->group_count == (grouping->group_max ? grouping->group_max : GROUPS_MAX))
		return -E2BIG;
	group = calloc(1, sizeof(*group) + value.size_bytes);
	if (!group)
		return -ENOMEM;
	memcpy(group->value, value.bytes, value.size_bytes);
	group->value_bytes = value.size_bytes;
	group->part_count = grouping->part_count;
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, grouping->groups, group->value, group->value_bytes, hash,
				    group);
	if (!group->hh.tbl)
		return -ENOMEM;
	grouping->group_count++;
	*ret_group = TAKE_PTR(group);
	return 0;
}

static unsigned int hash_of(const struct grouping *grouping, struct record_text value)
{
	return hash_table_key(grouping->seed, value.bytes, value.size_bytes);
}

static int find_or_add(struct grouping *grouping, struct record_text value, size_t host_bytes,
		       struct group **ret_group)
{
	unsigned int hash = hash_of(grouping, value);
	struct group *group = find(grouping, value, hash);
	int r = group ? 0 : add_group(grouping, value, hash, &group);

	if (r < 0)
		return r;
	group->host_bytes = (uint32_t)host_bytes;
	*ret_group = group;
	return 0;
}

/* HOST:PID or HOST:PID/TID: a pid alone is not unique across recordings. */
static struct record_text thread_value(const struct record_view *record, bool with_tid,
				       char *buffer, size_t buffer_bytes, size_t *ret_host_bytes)
{
	struct record_text host = { "", 0 };
	int64_t pid = 0, tid = 0;
	int length;

	(void)record_view_text(record, RECORD_FIELD(common, host_name), &host);
	(void)record_view_count(record, RECORD_FIELD(common, pid), &pid);
	/* No thread has ID 0: accounts that a full map folded together have no known thread. */
	if (with_tid && (!record_view_count(record, RECORD_FIELD(cpu, tid), &tid) || tid == 0))
		return (struct record_text){ 0 };
	memcpy(buffer, host.bytes, host.size_bytes);
	*ret_host_bytes = host.size_bytes + 1;
	length = snprintf(buffer + host.size_bytes, buffer_bytes - host.size_bytes,
			  with_tid ? ":%" PRId64 "/%" PRId64 : ":%" PRId64, pid, tid);
	return (struct record_text){ buffer, host.size_bytes + (size_t)length };
}

/* The latest name wins: threads, processes and requests change theirs. */
static int set_name(struct group *group, enum group_name which, struct record_text name,
		    uint64_t number)
{
	size_t size_bytes = name.size_bytes < GROUP_NAME_BYTES ? name.size_bytes : GROUP_NAME_BYTES;
	const char *known = group->names[which];
	char *copy;

	if (size_bytes == 0 || number < group->named_at[which])
		return 0;
	group->named_at[which] = number;
	if (known && strncmp(known, name.bytes, size_bytes) == 0 && known[size_bytes] == '\0')
		return 0;
	copy = strndup(name.bytes, size_bytes);
	if (!copy)
		return -ENOMEM;
	free(group->names[which]);
	group->names[which] = copy;
	return 0;
}

static int set_names(const struct grouping *grouping, struct group *group,
		     const struct selection_record *taken)
{
	struct record_text name = { 0 };
	int r = 0;

	if (grouping->has_names[GROUP_NAME_THREAD]) {
		(void)record_view_text_at(taken->view, RECORD_PLACE(cpu, thread_name), &name);
		r = set_name(group, GROUP_NAME_THREAD, name, taken->number);
	}
	if (r == 0 && grouping->has_names[GROUP_NAME_COMM])
		r = set_name(group, GROUP_NAME_COMM, taken->comm, taken->number);
	return r;
}

static void leave(struct grouping *grouping, struct group *group)
{
	if (--group->open_count == 0)
		grouping->open_count--;
}

/* Moves a request to group; NULL: to none. */
static void move_to(struct grouping *grouping, struct group *group, struct group **place)
{
	if (group == *place)
		return;
	if (group && group->open_count++ == 0)
		grouping->open_count++;
	if (*place)
		leave(grouping, *place);
	*place = group;
}

struct record_text grouping_value(const char *key, enum grouping_source source,
				  const struct record_view *record, struct record_text comm,
				  char buffer[static COMBINATION_PART_BYTES_MAX],
				  size_t *ret_host_bytes)
{
	struct record_text value = { 0 };

	switch (source) {
	case GROUPING_SOURCE_PID:
	case GROUPING_SOURCE_TID:
		return thread_value(record, source == GROUPING_SOURCE_TID, buffer,
				    COMBINATION_PART_BYTES_MAX, ret_host_bytes);
	case GROUPING_SOURCE_COMM:
		return comm;
	case GROUPING_SOURCE_ATTRIBUTION:
		value.bytes = attribution_name(attribution_of(record));
		value.size_bytes = strlen(value.bytes);
		return value;
	default:
		(void)record_view_text(record, key, &value);
		return value;
	}
}

/* The values of several keys; absent ones are equal. */
struct combined {
	struct combination combination;
	char buffers[COMBINATION_PARTS_MAX][COMBINATION_PART_BYTES_MAX];
};

static struct grouping_span span_of(const struct record_view *record, uint64_t step_ns)
{
	struct grouping_span span = { .end_ns = record->wall_ns };
	int64_t window_ns = 0;

	(void)record_view_count(record, RECORD_FIELD(cpu, window_ns), &window_ns);
	if ((uint64_t)window_ns < span.end_ns)
		span.start_ns = span.end_ns - (uint64_t)window_ns;
	if (step_ns > 0) {
		span.start_ns += (span.end_ns - span.start_ns) / 2;
		span.start_ns -= span.start_ns % step_ns;
		span.end_ns = span.start_ns + step_ns;
	}
	return span;
}

static void combine_time(const struct grouping *grouping, const struct record_view *record,
			 struct combined *ret_combined)
{
	struct combination_part *parts = ret_combined->combination.parts + grouping->key_count;
	char(*buffers)[COMBINATION_PART_BYTES_MAX] = ret_combined->buffers + grouping->key_count;
	struct grouping_span span = span_of(record, grouping->step_ns);

	memcpy(buffers[PART_SPAN], &span, sizeof(span));
	buffers[PART_ATTRIBUTION][0] = (char)attribution_of(record);
	parts[PART_SPAN] =
		(struct combination_part){ .text = { buffers[PART_SPAN], sizeof(span) } };
	parts[PART_ATTRIBUTION] =
		(struct combination_part){ .text = { buffers[PART_ATTRIBUTION], 1 } };
}

static void combine(const struct grouping *grouping, const struct record_view *record,
		    struct record_text comm, struct combined *ret_combined)
{
	struct combination *combination = &ret_combined->combination;

	combination->part_count = grouping->part_count;
	for (size_t i = 0; i < grouping->key_count; i++) {
		size_t host_bytes = 0;

		combination->parts[i].text =
			grouping_value(grouping->keys[i], grouping->sources[i], record, comm,
				       ret_combined->buffers[i], &host_bytes);
		combination->parts[i].host_bytes = (uint16_t)host_bytes;
	}
	if (grouping->is_over_time)
		combine_time(grouping, record, ret_combined);
}

static uint32_t all_parts(const struct grouping *grouping)
{
	return (1U << grouping->part_count) - 1;
}

/* This and find_single: *ret_group is NULL if no value is known, or there is no room. They return
 * 0, -ENOMEM, -E2BIG. */
static int find_combined(struct grouping *grouping, const struct record_view *record,
			 struct record_text comm, struct group **ret_group)
{
	char bytes[COMBINATION_BYTES_MAX];
	struct combined combined;
	int r;

	*ret_group = NULL;
	combine(grouping, record, comm, &combined);
	if (combination_absent(&combined.combination) == all_parts(grouping))
		return 0;
	r = find_or_add(grouping, combination_write(&combined.combination, bytes), 0, ret_group);
	return r == -E2BIG && grouping->group_max > 0 ? 0 : r;
}

/* last: the group its request was in, tried first; NULL: none. */
static int find_single(struct grouping *grouping, const struct record_view *record,
		       struct record_text comm, struct group *last, struct group **ret_group)
{
	char buffer[COMBINATION_PART_BYTES_MAX];
	size_t host_bytes = 0;
	struct record_text value = grouping_value(grouping->keys[0], grouping->sources[0], record,
						  comm, buffer, &host_bytes);

	*ret_group = last && is_value_of(last, value) ? last : NULL;
	if (*ret_group || value.size_bytes == 0)
		return 0;
	return find_or_add(grouping, value, host_bytes, ret_group);
}

int grouping_add(struct grouping *grouping, const struct selection_record *taken,
		 const struct costs *costs, struct group **place)
{
	struct group *group;
	int r = grouping->part_count > 1 ? find_combined(grouping, taken->view, taken->comm, &group)
					 : find_single(grouping, taken->view, taken->comm,
						       place ? *place : NULL, &group);

	if (r == 0 && group)
		r = set_names(grouping, group, taken);
	if (r < 0)
		return r;
	costs_add(group ? &group->costs : &grouping->without_value, costs);
	if (place)
		move_to(grouping, group, place);
	return 0;
}

static int add_figures(struct distribution *distribution, const struct costs *costs)
{
	int64_t wall_ns, parked_ns;
	int r = 0;

	if (costs_has(costs, COST_CPU))
		r = histogram_add(&distribution->costs[REQUEST_CPU], costs->sums[COST_CPU]);
	if (r == 0 && costs_wall_ns(costs, &wall_ns))
		r = histogram_add(&distribution->costs[REQUEST_WALL], wall_ns);
	if (r == 0 && costs_parked_ns(costs, &parked_ns))
		r = histogram_add(&distribution->costs[REQUEST_PARKED], parked_ns);
	return r;
}

static int settle_without_value(struct grouping *grouping, const struct costs *costs)
{
	grouping->without_value_count++;
	return add_figures(&grouping->without_value_requests, costs);
}

static int settle_at(const struct grouping *grouping, struct group *place,
		     const struct costs *costs)
{
	place->request_count++;
	if (grouping->is_over_time)
		return 0;
	if (!place->requests)
		place->requests = calloc(1, sizeof(*place->requests));
	return place->requests ? add_figures(place->requests, costs) : -ENOMEM;
}

int grouping_settle(struct grouping *grouping, struct group *place, const struct costs *costs)
{
	int r;

	if (place)
		leave(grouping, place);
	grouping->request_count++;
	r = add_figures(&grouping->requests, costs);
	if (r < 0)
		return r;
	return place ? settle_at(grouping, place, costs) : settle_without_value(grouping, costs);
}

static bool is_below(const struct grouping_floor *floor, const struct costs *costs)
{
	int64_t number = 0;

	if (floor->is_wall)
		(void)costs_wall_ns(costs, &number);
	else if (costs_has(costs, floor->cost))
		number = costs->sums[floor->cost];
	return number < floor->least;
}

int grouping_settle_request(struct grouping *grouping, struct record_text id,
			    const struct costs *costs, struct record_text endpoint,
			    struct group **ret_group)
{
	unsigned int hash = hash_of(grouping, id);
	struct group *group = find(grouping, id, hash);
	/* A request that came again after it seemed to have ended gets no second row. */
	bool is_again = group != NULL;
	int r = 0;

	if (!group && !is_below(&grouping->floor, costs))
		r = add_group(grouping, id, hash, &group);
	if (r == 0 && group)
		r = set_name(group, GROUP_NAME_ENDPOINT, endpoint, 0);
	if (r < 0)
		return r;
	*ret_group = group;
	costs_add(group ? &group->costs : &grouping->folded, costs);
	if (is_again)
		return 0;
	if (group)
		group->request_count = 1;
	else
		grouping->folded_count++;
	grouping->request_count++;
	return add_figures(&grouping->requests, costs);
}

int distribution_merge(struct distribution *distribution, const struct distribution *other)
{
	int r = 0;

	for (int figure = 0; figure < _REQUEST_COST_MAX && r == 0; figure++)
		r = histogram_merge(&distribution->costs[figure], &other->costs[figure]);
	return r;
}

void distribution_deinit(struct distribution *distribution)
{
	for (int figure = 0; figure < _REQUEST_COST_MAX; figure++)
		histogram_deinit(&distribution->costs[figure]);
}
