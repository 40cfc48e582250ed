/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/syscalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"
#include "report/record_context.h"

/* A request, or what ran in no request with the same keys. */
struct syscalls_context {
	UT_hash_handle hh;
	enum attribution attribution; /* the first record's */
	enum filter_verdict verdict; /* as far as its records have told */
	bool is_request;
	bool has_value;
	size_t value_bytes;
	char value[SYSCALLS_TEXT_BYTES_MAX]; /* the last of the key that is not "" */
	struct syscalls_sum *sums;
	int64_t account_calls;
	size_t id_bytes;
	char id[]; /* not NUL-terminated */
};

void syscalls_init(struct syscalls *syscalls, struct filter *filter, const char *by)
{
	*syscalls = (struct syscalls){ .filter = *filter, .by = by, .seed = random_seed() };
	*filter = (struct filter){ 0 };
	recording_init(&syscalls->recording);
	known_records_init(&syscalls->known);
}

static void free_sums(struct syscalls_sum *sum)
{
	while (sum) {
		struct syscalls_sum *next = sum->next;

		free(sum);
		sum = next;
	}
}

void syscalls_deinit(struct syscalls *syscalls)
{
	struct syscalls_context *context, *next_context;
	struct syscalls_group *group, *next_group;
	struct syscalls_kind *kind, *next_kind;

	HASH_ITER(hh, syscalls->contexts, context, next_context) {
		HASH_DELETE(hh, syscalls->contexts, context);
		free_sums(context->sums);
		free(context);
	}
	HASH_ITER(hh, syscalls->groups, group, next_group) {
		HASH_DELETE(hh, syscalls->groups, group);
		free_sums(group->sums);
		free(group);
	}
	HASH_ITER(hh, syscalls->kinds, kind, next_kind) {
		HASH_DELETE(hh, syscalls->kinds, kind);
		free(kind);
	}
	known_records_deinit(&syscalls->known);
	recording_deinit(&syscalls->recording);
	filter_deinit(&syscalls->filter);
}

/* Which the record is of; NULL: there is no room. 0, -ENOMEM. */
static int find_context(struct syscalls *syscalls, const struct record_view *record,
			struct syscalls_context **ret_context)
{
	enum attribution attribution = attribution_of(record);
	char id[RECORD_CONTEXT_ID_BYTES];
	bool is_request;
	size_t size_bytes = record_context_id(record, attribution, id, &is_request);
	unsigned int hash = hash_table_key(syscalls->seed, id, size_bytes);
	struct syscalls_context *context;

	HASH_FIND_BYHASHVALUE(hh, syscalls->contexts, id, size_bytes, hash, context);
	*ret_context = context;
	if (context || HASH_COUNT(syscalls->contexts) >= SYSCALLS_CONTEXTS_MAX)
		return 0;
	context = calloc(1, sizeof(*context) + size_bytes);
	if (!context)
		return -ENOMEM;
	context->attribution = attribution;
	context->is_request = is_request;
	context->verdict = FILTER_UNKNOWN;
	context->id_bytes = size_bytes;
	memcpy(context->id, id, size_bytes);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, syscalls->contexts, context->id, size_bytes, hash, context);
	if (!context->hh.tbl) {
		free(context);
		return -ENOMEM;
	}
	*ret_context = context;
	return 0;
}

static void set_value(struct syscalls *syscalls, struct syscalls_context *context,
		      const struct record_view *record)
{
	const char *by = syscalls->by ? syscalls->by : "endpoint";
	struct record_text value;

	if (!record_view_text(record, by, &value) || value.size_bytes == 0)
		return;
	context->has_value = true;
	context->value_bytes = value.size_bytes < sizeof(context->value) ? value.size_bytes
									 : sizeof(context->value);
	memcpy(context->value, value.bytes, context->value_bytes);
}

/* Of the name, with its table's in front; NULL: there is no room. 0, -ENOMEM. */
static int find_kind(struct syscalls *syscalls, const struct record_view *record,
		     struct syscalls_kind **ret_kind)
{
	char name[2 * SYSCALLS_TEXT_BYTES_MAX];
	struct record_text text = { 0 };
	struct syscalls_kind *kind;
	size_t used = 0;

	if (record_view_text_at(record, RECORD_PLACE(syscall, abi), &text) &&
	    text.size_bytes < SYSCALLS_TEXT_BYTES_MAX) {
		memcpy(name, text.bytes, text.size_bytes);
		used = text.size_bytes;
		name[used++] = ' ';
	}
	if (!record_view_text_at(record, RECORD_PLACE(syscall, name), &text))
		text = (struct record_text){ "?", 1 };
	if (text.size_bytes > SYSCALLS_TEXT_BYTES_MAX)
		text.size_bytes = SYSCALLS_TEXT_BYTES_MAX;
	memcpy(name + used, text.bytes, text.size_bytes);
	used += text.size_bytes;
	HASH_FIND(hh, syscalls->kinds, name, used, kind);
	*ret_kind = kind;
	if (kind || HASH_COUNT(syscalls->kinds) >= SYSCALLS_KINDS_MAX)
		return 0;
	kind = calloc(1, sizeof(*kind) + used);
	if (!kind)
		return -ENOMEM;
	kind->name_bytes = used;
	memcpy(kind->name, name, used);
	HASH_ADD_KEYPTR(hh, syscalls->kinds, kind->name, used, kind);
	if (!kind->hh.tbl) {
		free(kind);
		return -ENOMEM;
	}
	*ret_kind = kind;
	return 0;
}

/* To the sum of that kind in a list, new if there is none. 0, -ENOMEM. */
static int add_to_list(struct syscalls_sum **list, const struct syscalls_sum *from,
		       size_t *sum_count)
{
	struct syscalls_sum *sum = *list;

	while (sum && sum->kind != from->kind)
		sum = sum->next;
	if (!sum) {
		sum = calloc(1, sizeof(*sum));
		if (!sum)
			return -ENOMEM;
		sum->kind = from->kind;
		sum->next = *list;
		*list = sum;
		++*sum_count;
	}
	saturated_add_to(&sum->calls, from->calls);
	saturated_add_to(&sum->inside_ns, from->inside_ns);
	return 0;
}

static int add_call(struct syscalls *syscalls, struct syscalls_context *context,
		    const struct record_view *record)
{
	struct syscalls_sum sum = { 0 };
	struct syscalls_kind *kind;
	int r;

	syscalls->has_any = true;
	(void)record_view_count_at(record, RECORD_PLACE(syscall, calls), &sum.calls);
	(void)record_view_count_at(record, RECORD_PLACE(syscall, inside_ns), &sum.inside_ns);
	r = find_kind(syscalls, record, &kind);
	if (r < 0)
		return r;
	sum.kind = kind;
	if (!kind || syscalls->sum_count >= SYSCALLS_SUMS_MAX) {
		syscalls->left_out++;
		return 0;
	}
	return add_to_list(&context->sums, &sum, &syscalls->sum_count);
}

static void add_cpu(struct syscalls *syscalls, struct syscalls_context *context,
		    const struct record_view *record)
{
	int64_t calls;

	syscalls->has_wanted |= context->verdict == FILTER_YES;
	if (record_view_count_at(record, RECORD_PLACE(cpu, syscalls), &calls))
		saturated_add_to(&context->account_calls, calls);
}

int syscalls_add(struct syscalls *syscalls, const struct record_view *record)
{
	bool is_in_time = filter_is_in_time(&syscalls->filter, record);
	bool is_cpu = record->kind == RECORD_KIND_CPU;
	struct syscalls_context *context;
	int r;

	if (known_records_has(&syscalls->known, record))
		return 0;
	r = known_records_add(&syscalls->known, record);
	if (r == 0 &&
	    (is_in_time || record->kind == RECORD_KIND_META || record->kind == RECORD_KIND_PROCESS))
		r = recording_add(&syscalls->recording, record);
	if (r < 0 || !is_in_time)
		return r;
	if (record->kind == RECORD_KIND_BALANCE)
		(void)record_view_add(record, "syscalls_lost", &syscalls->lost);
	if (!is_cpu && record->kind != RECORD_KIND_SYSCALL)
		return 0;
	r = find_context(syscalls, record, &context);
	if (r == 0 && !context)
		syscalls->left_out++;
	if (r < 0 || !context ||
	    !record_context_is_wanted(context->is_request,
				      filter_judge(&syscalls->filter, record,
						   recording_comm(&syscalls->recording, record)),
				      &context->verdict))
		return r;
	set_value(syscalls, context, record);
	if (!is_cpu)
		return add_call(syscalls, context, record);
	add_cpu(syscalls, context, record);
	return 0;
}

static enum syscalls_group_kind kind_of(const struct syscalls_context *context)
{
	if (context->attribution == ATTRIBUTION_OVERFLOW)
		return SYSCALLS_OVERFLOW;
	if (!attribution_has_context(context->attribution))
		return SYSCALLS_UNATTRIBUTED;
	return context->has_value ? SYSCALLS_GROUP : SYSCALLS_WITHOUT_KEY;
}

/* The one of the context; new if there is none. 0, -ENOMEM. */
static int find_group(struct syscalls *syscalls, const struct syscalls_context *context,
		      struct syscalls_group **ret_group)
{
	enum syscalls_group_kind kind = kind_of(context);
	size_t size_bytes = 1 + (kind == SYSCALLS_GROUP ? context->value_bytes : 0);
	char key[1 + SYSCALLS_TEXT_BYTES_MAX] = { (char)('0' + (int)kind) };
	struct syscalls_group *group;
	unsigned int hash;

	memcpy(key + 1, context->value, size_bytes - 1);
	hash = hash_table_key(syscalls->seed, key, size_bytes);
	HASH_FIND_BYHASHVALUE(hh, syscalls->groups, key, size_bytes, hash, group);
	*ret_group = group;
	if (group)
		return 0;
	group = calloc(1, sizeof(*group) + size_bytes);
	if (!group)
		return -ENOMEM;
	memcpy(group->key, key, size_bytes);
	group->kind = kind;
	group->value = (struct record_text){ group->key + 1, size_bytes - 1 };
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, syscalls->groups, group->key, size_bytes, hash, group);
	if (!group->hh.tbl) {
		free(group);
		return -ENOMEM;
	}
	*ret_group = group;
	return 0;
}

/* 0, -ENOMEM. */
static int sum_up(struct syscalls *syscalls, const struct syscalls_context *context)
{
	struct syscalls_group *group;
	int r = find_group(syscalls, context, &group);

	if (r < 0)
		return r;
	group->request_count += context->is_request;
	saturated_add_to(&group->account_calls, context->account_calls);
	saturated_add_to(&syscalls->account_calls, context->account_calls);
	for (const struct syscalls_sum *sum = context->sums; sum && r == 0; sum = sum->next) {
		saturated_add_to(&group->calls, sum->calls);
		saturated_add_to(&group->inside_ns, sum->inside_ns);
		saturated_add_to(&syscalls->calls, sum->calls);
		saturated_add_to(&syscalls->inside_ns, sum->inside_ns);
		r = add_to_list(&group->sums, sum, &syscalls->sum_count);
	}
	return r;
}

static int compare_texts(struct record_text a, struct record_text b)
{
	size_t size_bytes = a.size_bytes < b.size_bytes ? a.size_bytes : b.size_bytes;
	int order = memcmp(a.bytes, b.bytes, size_bytes);

	return order ? order : compare_u64(a.size_bytes, b.size_bytes);
}

static int compare_sums(const void *a, const void *b)
{
	const struct syscalls_sum *first = *(const struct syscalls_sum *const *)a;
	const struct syscalls_sum *second = *(const struct syscalls_sum *const *)b;
	int order = compare_i64(second->calls, first->calls);

	if (order == 0)
		order = compare_i64(second->inside_ns, first->inside_ns);
	return order ? order
		     : compare_texts(
			       (struct record_text){ first->kind->name, first->kind->name_bytes },
			       (struct record_text){ second->kind->name,
						     second->kind->name_bytes });
}

/* The most calls first. 0, -ENOMEM. */
static int sort_sums(struct syscalls_group *group)
{
	struct syscalls_sum **sums, **link = &group->sums;
	size_t count = 0, i = 0;

	for (struct syscalls_sum *sum = group->sums; sum; sum = sum->next)
		count++;
	sums = calloc(count + 1, sizeof(struct syscalls_sum *));
	if (!sums)
		return -ENOMEM;
	for (struct syscalls_sum *sum = group->sums; sum; sum = sum->next)
		sums[i++] = sum;
	qsort(sums, count, sizeof(struct syscalls_sum *), compare_sums);
	for (i = 0; i < count; i++, link = &sums[i - 1]->next)
		*link = sums[i];
	*link = NULL;
	free(sums);
	return 0;
}

/* Those of a value first, and of them those with the most calls. */
static int compare_groups(const struct syscalls_group *a, const struct syscalls_group *b)
{
	int order = (int)a->kind - (int)b->kind;

	if (order == 0)
		order = compare_i64(b->calls, a->calls);
	return order ? order : compare_texts(a->value, b->value);
}

/* Where no endpoint is recorded the requests themselves are shown. */
static void choose_key(struct syscalls *syscalls)
{
	struct syscalls_context *context;

	if (syscalls->by)
		return;
	syscalls->by = "endpoint";
	if (recording_has_key(&syscalls->recording, "endpoint") ||
	    !recording_has_key(&syscalls->recording, "request_id"))
		return;
	syscalls->by = "request_id";
	for (context = syscalls->contexts; context; context = context->hh.next) {
		const char *id;
		size_t size_bytes;

		if (!context->is_request)
			continue;
		id = record_context_request(context->id, context->id_bytes, &size_bytes);
		context->has_value = true;
		context->value_bytes =
			size_bytes < sizeof(context->value) ? size_bytes : sizeof(context->value);
		memcpy(context->value, id, context->value_bytes);
	}
}

int syscalls_finish(struct syscalls *syscalls)
{
	struct syscalls_context *context;
	struct syscalls_group *group;
	int r = 0;

	choose_key(syscalls);
	for (context = syscalls->contexts; context && r == 0; context = context->hh.next)
		if (context->verdict == FILTER_YES || syscalls->filter.condition_count == 0)
			r = sum_up(syscalls, context);
	for (group = syscalls->groups; group && r == 0; group = group->hh.next)
		r = sort_sums(group);
	HASH_SORT(syscalls->groups, compare_groups);
	return r;
}

const char *syscalls_group_kind_name(enum syscalls_group_kind kind)
{
	static const char *const names[] = { [SYSCALLS_GROUP] = "group",
					     [SYSCALLS_WITHOUT_KEY] = "without_key",
					     [SYSCALLS_UNATTRIBUTED] = "unattributed",
					     [SYSCALLS_OVERFLOW] = "overflow" };

	return names[kind];
}
