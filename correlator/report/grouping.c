/* Without memory an element is just not added; grouping_add sees that. */
#define HASH_NONFATAL_OOM	 1
#define uthash_nonfatal_oom(elt) ((void)(elt))

#include "report/grouping.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"

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
	text_set_init(&grouping->requests);
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
	text_set_deinit(&grouping->requests);
	free(grouping->by);
	*grouping = (struct grouping){ 0 };
}

static int count_request(struct grouping *grouping, struct group *group,
			 const struct record_view *record)
{
	struct record_text request_id;
	int r;

	if (!record_view_text(record, "request_id", &request_id) || request_id.size_bytes == 0)
		return 0;
	if (strcmp(grouping->by, "request_id") == 0) {
		grouping->request_count = grouping->group_count;
		group->request_count = 1;
		return 0;
	}
	r = text_set_add(&grouping->requests, group->number, request_id);
	if (r <= 0)
		return r;
	group->request_count++;
	r = text_set_add(&grouping->requests, 0, request_id);
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
		 struct record_text comm)
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
		costs_add_record(&grouping->without_value, record);
		return 0;
	}
	r = find_or_add(grouping, value, host_bytes, &group);
	if (r < 0)
		return r;
	r = set_names(grouping, group, record, comm);
	if (r < 0)
		return r;
	costs_add_record(&group->costs, record);
	return count_request(grouping, group, record);
}
