/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/syscalls.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"

struct syscalls_request {
	struct selection_request selection;
	struct syscalls_group *group; /* of its last cpu record; NULL: none is wanted */
};

void syscalls_init(struct syscalls *syscalls, struct filter *filter, const char *by)
{
	*syscalls = (struct syscalls){ .by = by, .seed = random_seed() };
	selection_init(&syscalls->selection, sizeof(struct syscalls_request));
	selection_take_filter(&syscalls->selection, filter);
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
	struct syscalls_group *group, *next_group;
	struct syscalls_kind *kind, *next_kind;

	HASH_ITER(hh, syscalls->groups, group, next_group) {
		HASH_DELETE(hh, syscalls->groups, group);
		free_sums(group->sums);
		free(group);
	}
	HASH_ITER(hh, syscalls->kinds, kind, next_kind) {
		HASH_DELETE(hh, syscalls->kinds, kind);
		free(kind);
	}
	selection_deinit(&syscalls->selection);
}

/* Finds or adds the kind for the call's name, prefixed by its table's; NULL: the table is full.
 * Returns 0, -ENOMEM. */
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

/* Adds to the sum of that kind in a list, a new one if there is none. Returns 0, -ENOMEM. */
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

static enum syscalls_group_kind kind_of(enum attribution attribution, struct record_text value)
{
	if (attribution == ATTRIBUTION_OVERFLOW)
		return SYSCALLS_OVERFLOW;
	if (!attribution_has_context(attribution))
		return SYSCALLS_UNATTRIBUTED;
	return value.size_bytes > 0 ? SYSCALLS_GROUP : SYSCALLS_WITHOUT_KEY;
}

/* Finds or adds the group of the record; NULL: the table is full. Returns 0, -ENOMEM. */
static int find_group(struct syscalls *syscalls, const struct selection_record *taken,
		      struct syscalls_group **ret_group)
{
	char key[1 + SYSCALLS_TEXT_BYTES_MAX];
	struct record_text value = { 0 };
	enum syscalls_group_kind kind;
	struct syscalls_group *group;
	size_t size_bytes = 1;
	unsigned int hash;

	(void)record_view_text(taken->view, syscalls->by, &value);
	kind = kind_of(taken->attribution, value);
	key[0] = (char)('0' + (int)kind);
	if (value.size_bytes > SYSCALLS_TEXT_BYTES_MAX)
		value.size_bytes = SYSCALLS_TEXT_BYTES_MAX;
	if (kind == SYSCALLS_GROUP) {
		memcpy(key + 1, value.bytes, value.size_bytes);
		size_bytes += value.size_bytes;
	}
	hash = hash_table_key(syscalls->seed, key, size_bytes);
	HASH_FIND_BYHASHVALUE(hh, syscalls->groups, key, size_bytes, hash, group);
	*ret_group = group;
	if (group || HASH_COUNT(syscalls->groups) >= SYSCALLS_GROUPS_MAX)
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

static int add_call(struct syscalls *syscalls, struct syscalls_group *group,
		    const struct record_view *record)
{
	struct syscalls_sum sum = { 0 };
	struct syscalls_kind *kind;
	int r;

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
	saturated_add_to(&group->calls, sum.calls);
	saturated_add_to(&group->inside_ns, sum.inside_ns);
	saturated_add_to(&syscalls->calls, sum.calls);
	saturated_add_to(&syscalls->inside_ns, sum.inside_ns);
	return add_to_list(&group->sums, &sum, &syscalls->sum_count);
}

static void add_cpu(struct syscalls *syscalls, struct syscalls_group *group,
		    const struct record_view *record)
{
	int64_t calls;

	syscalls->has_wanted = true;
	if (!record_view_count_at(record, RECORD_PLACE(cpu, syscalls), &calls))
		return;
	saturated_add_to(&group->account_calls, calls);
	saturated_add_to(&syscalls->account_calls, calls);
}

static int take(void *context, const struct selection_record *taken)
{
	struct syscalls_request *request = (struct syscalls_request *)taken->request;
	bool is_cpu = taken->view->kind == RECORD_KIND_CPU;
	struct syscalls *syscalls = context;
	struct syscalls_group *group;
	int r;

	syscalls->has_any |= taken->view->kind == RECORD_KIND_SYSCALL;
	if (!taken->is_wanted || (!is_cpu && taken->view->kind != RECORD_KIND_SYSCALL))
		return 0;
	r = find_group(syscalls, taken, &group);
	syscalls->left_out += r == 0 && !group;
	if (r < 0 || !group)
		return r;
	/* A request counts in the group of its last cpu record. */
	if (request && (is_cpu || !request->group))
		request->group = group;
	if (!is_cpu)
		return add_call(syscalls, group, taken->view);
	add_cpu(syscalls, group, taken->view);
	return 0;
}

static int end(void *context, struct selection_request *ended)
{
	struct syscalls_request *request = (struct syscalls_request *)ended;

	(void)context;
	if (request->group)
		request->group->request_count++;
	return 0;
}

static int other(void *context, const struct record_view *record)
{
	struct syscalls *syscalls = context;

	if (record->kind == RECORD_KIND_BALANCE)
		(void)record_view_add(record, "syscalls_lost", &syscalls->lost);
	return 0;
}

static int prepare(void *context)
{
	struct syscalls *syscalls = context;

	if (syscalls->is_asked)
		return 0;
	syscalls->is_asked = true;
	if (!syscalls->by)
		syscalls->by = recording_usual_key(&syscalls->selection.recording);
	return selection_ask(&syscalls->selection, syscalls->by);
}

static struct selection_consumer consumer_of(struct syscalls *syscalls)
{
	return (struct selection_consumer){
		.other = other, .prepare = prepare, .take = take, .end = end, .context = syscalls
	};
}

int syscalls_add(struct syscalls *syscalls, const struct record_view *record)
{
	const struct selection_consumer consumer = consumer_of(syscalls);

	return selection_add(&syscalls->selection, &consumer, record);
}

static int compare_sums(const void *a, const void *b)
{
	const struct syscalls_sum *first = *(const struct syscalls_sum *const *)a;
	const struct syscalls_sum *second = *(const struct syscalls_sum *const *)b;
	int order = compare_i64(second->calls, first->calls);

	if (order == 0)
		order = compare_i64(second->inside_ns, first->inside_ns);
	return order ? order
		     : record_text_compare(
			       (struct record_text){ first->kind->name, first->kind->name_bytes },
			       (struct record_text){ second->kind->name,
						     second->kind->name_bytes });
}

/* Sorts by calls, most first. Returns 0, -ENOMEM. */
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

/* Groups with a value first, and of these the most calls first. */
static int compare_groups(const struct syscalls_group *a, const struct syscalls_group *b)
{
	int order = (int)a->kind - (int)b->kind;

	if (order == 0)
		order = compare_i64(b->calls, a->calls);
	return order ? order : record_text_compare(a->value, b->value);
}

int syscalls_finish(struct syscalls *syscalls)
{
	const struct selection_consumer consumer = consumer_of(syscalls);
	struct syscalls_group *group;
	int r = selection_settle(&syscalls->selection, &consumer, 0);

	if (!syscalls->by)
		syscalls->by = "endpoint";
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
