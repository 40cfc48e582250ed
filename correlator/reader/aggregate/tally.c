/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/tally.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/hash.h"
#include "base/random.h"

struct tally_request {
	struct selection_request selection;
	struct tally_group *group; /* of its last cpu record; NULL: none is wanted */
};

void tally_init(struct tally *tally, const struct tally_subject *subject, struct filter *filter,
		const char *by)
{
	*tally = (struct tally){ .subject = subject, .by = by, .seed = random_seed() };
	selection_init(&tally->selection, sizeof(struct tally_request));
	selection_take_filter(&tally->selection, filter);
}

static void free_sums(struct tally_sum *sum)
{
	while (sum) {
		struct tally_sum *next = sum->next;

		free(sum);
		sum = next;
	}
}

void tally_deinit(struct tally *tally)
{
	struct tally_group *group, *next_group;
	struct tally_name *name, *next_name;

	HASH_ITER(hh, tally->groups, group, next_group) {
		HASH_DELETE(hh, tally->groups, group);
		free_sums(group->sums);
		free(group);
	}
	HASH_ITER(hh, tally->names, name, next_name) {
		HASH_DELETE(hh, tally->names, name);
		free(name);
	}
	selection_deinit(&tally->selection);
}

/* Finds or adds a name; NULL: the table has names_max. Returns 0, -ENOMEM. */
static int add_name(struct tally *tally, const char *bytes, size_t size_bytes, size_t names_max,
		    struct tally_name **ret_name)
{
	struct tally_name *name;

	HASH_FIND(hh, tally->names, bytes, size_bytes, name);
	*ret_name = name;
	if (name || HASH_COUNT(tally->names) >= names_max)
		return 0;
	name = calloc(1, sizeof(*name) + size_bytes);
	if (!name)
		return -ENOMEM;
	memcpy(name->bytes, bytes, size_bytes);
	name->text = (struct record_text){ name->bytes, size_bytes };
	HASH_ADD_KEYPTR(hh, tally->names, name->bytes, size_bytes, name);
	if (!name->hh.tbl) {
		free(name);
		return -ENOMEM;
	}
	*ret_name = name;
	return 0;
}

/* Finds or adds the name of the record's sum; NULL: the table is full. Returns 0, -ENOMEM. */
static int find_name(struct tally *tally, const struct record_view *record,
		     struct tally_name **ret_name)
{
	const struct tally_subject *subject = tally->subject;
	char bytes[TALLY_NAME_BYTES_MAX];
	int r = add_name(tally, bytes, subject->write_name(record, bytes), TALLY_NAMES_MAX,
			 ret_name);

	if (r < 0 || *ret_name || !subject->write_rest)
		return r;
	return add_name(tally, bytes, subject->write_rest(record, bytes),
			TALLY_NAMES_MAX + TALLY_RESTS_MAX, ret_name);
}

void tally_add_numbers(const struct tally *tally, int64_t *sums, const int64_t *numbers)
{
	for (size_t i = 0; i < tally->subject->number_count; i++)
		saturated_add_to(&sums[i], numbers[i]);
}

/* Adds to the group's sum of that name, a new one if there is none. Returns 0, -ENOMEM. */
static int add_to_sum(struct tally *tally, struct tally_group *group, const struct tally_name *name,
		      const int64_t *numbers)
{
	struct tally_sum *sum = group->sums;

	while (sum && sum->name != name)
		sum = sum->next;
	if (!sum) {
		sum = calloc(1, sizeof(*sum) + tally->subject->number_count * sizeof(*numbers));
		if (!sum)
			return -ENOMEM;
		sum->name = name;
		sum->next = group->sums;
		group->sums = sum;
		tally->sum_count++;
	}
	tally_add_numbers(tally, sum->numbers, numbers);
	return 0;
}

static enum tally_group_kind kind_of(const struct tally *tally, enum attribution attribution,
				     struct record_text value)
{
	if (!tally->has_all_time && attribution == ATTRIBUTION_OVERFLOW)
		return TALLY_OVERFLOW;
	if (!tally->has_all_time && !attribution_has_context(attribution))
		return TALLY_UNATTRIBUTED;
	return value.size_bytes > 0 ? TALLY_GROUP : TALLY_WITHOUT_KEY;
}

/* Writes the key of the record's group: its kind, and its value if it has one. Returns its size. */
static size_t write_key(const struct tally *tally, const struct selection_record *taken,
			char ret_key[static 1 + TALLY_TEXT_BYTES_MAX],
			enum tally_group_kind *ret_kind)
{
	char buffer[COMBINATION_PART_BYTES_MAX];
	size_t host_bytes;
	struct record_text value = grouping_value(tally->by, tally->source, taken->view,
						  taken->comm, buffer, &host_bytes);

	*ret_kind = kind_of(tally, taken->attribution, value);
	ret_key[0] = (char)('0' + (int)*ret_kind);
	if (*ret_kind != TALLY_GROUP)
		return 1;
	if (value.size_bytes > TALLY_TEXT_BYTES_MAX)
		value.size_bytes = TALLY_TEXT_BYTES_MAX;
	memcpy(ret_key + 1, value.bytes, value.size_bytes);
	return 1 + value.size_bytes;
}

/* Finds or adds the group of the record; NULL: the table is full. Returns 0, -ENOMEM. */
static int find_group(struct tally *tally, const struct selection_record *taken,
		      struct tally_group **ret_group)
{
	char key[1 + TALLY_TEXT_BYTES_MAX];
	enum tally_group_kind kind;
	size_t size_bytes = write_key(tally, taken, key, &kind);
	struct tally_group *group;
	unsigned int hash;

	hash = hash_table_key(tally->seed, key, size_bytes);
	HASH_FIND_BYHASHVALUE(hh, tally->groups, key, size_bytes, hash, group);
	*ret_group = group;
	if (group || HASH_COUNT(tally->groups) >= TALLY_GROUPS_MAX)
		return 0;
	group = calloc(1, sizeof(*group) + size_bytes);
	if (!group)
		return -ENOMEM;
	memcpy(group->key, key, size_bytes);
	group->kind = kind;
	group->value = (struct record_text){ group->key + 1, size_bytes - 1 };
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, tally->groups, group->key, size_bytes, hash, group);
	if (!group->hh.tbl) {
		free(group);
		return -ENOMEM;
	}
	*ret_group = group;
	return 0;
}

static int add_numbers(struct tally *tally, struct tally_group *group,
		       const struct record_view *record)
{
	int64_t numbers[TALLY_NUMBERS_MAX] = { 0 };
	struct tally_name *name;
	int r;

	for (size_t i = 0; i < tally->subject->number_count; i++) {
		size_t place = tally->subject->places[i];

		if (place == TALLY_RECORDS)
			numbers[i] = 1;
		else
			(void)record_view_count_at(record, place, &numbers[i]);
	}
	r = find_name(tally, record, &name);
	if (r < 0)
		return r;
	if (!name || tally->sum_count >= TALLY_SUMS_MAX) {
		tally->left_out++;
		return 0;
	}
	tally_add_numbers(tally, group->numbers, numbers);
	tally_add_numbers(tally, tally->numbers, numbers);
	return add_to_sum(tally, group, name, numbers);
}

static void add_cpu(struct tally *tally, struct tally_group *group,
		    const struct record_view *record)
{
	size_t place = tally->subject->account_place;
	int64_t number;

	tally->has_wanted = true;
	if (place == 0 || !record_view_count_at(record, place, &number))
		return;
	saturated_add_to(&group->account, number);
	saturated_add_to(&tally->account, number);
}

static int take(void *context, const struct selection_record *taken)
{
	struct tally_request *request = (struct tally_request *)taken->request;
	bool is_cpu = taken->view->kind == RECORD_KIND_CPU;
	struct tally *tally = context;
	bool is_summed = taken->view->kind == tally->subject->kind;
	struct tally_group *group;
	int r;

	tally->has_any |= is_summed;
	if (!taken->is_wanted || (!is_cpu && !is_summed))
		return 0;
	r = find_group(tally, taken, &group);
	tally->left_out += r == 0 && !group;
	if (r < 0 || !group)
		return r;
	/* A request counts in the group of its last cpu record. */
	if (request && (is_cpu || !request->group))
		request->group = group;
	if (!is_cpu)
		return add_numbers(tally, group, taken->view);
	add_cpu(tally, group, taken->view);
	return 0;
}

static int end(void *context, struct selection_request *ended)
{
	struct tally_request *request = (struct tally_request *)ended;

	(void)context;
	if (request->group)
		request->group->request_count++;
	return 0;
}

static int other(void *context, const struct record_view *record)
{
	struct tally *tally = context;

	if (record->kind == RECORD_KIND_BALANCE)
		(void)record_view_add(record, tally->subject->lost_field, &tally->lost);
	return 0;
}

static int prepare(void *context)
{
	struct tally *tally = context;

	if (tally->is_asked)
		return 0;
	tally->is_asked = true;
	if (!tally->by)
		tally->by = recording_usual_key(&tally->selection.recording);
	tally->source = grouping_source_of(tally->by);
	tally->has_all_time = grouping_is_by_field(tally->by);
	return selection_ask(&tally->selection, tally->by);
}

static struct selection_consumer consumer_of(struct tally *tally)
{
	return (struct selection_consumer){
		.other = other, .prepare = prepare, .take = take, .end = end, .context = tally
	};
}

int tally_add(struct tally *tally, const struct record_view *record)
{
	const struct selection_consumer consumer = consumer_of(tally);

	return selection_add(&tally->selection, &consumer, record);
}

static int64_t sort_number(const struct tally *tally, const int64_t *numbers)
{
	const struct tally_subject *subject = tally->subject;
	int64_t sum = 0;

	for (size_t i = 0; i < subject->sort_count; i++)
		saturated_add_to(&sum, numbers[subject->sort_first + i]);
	return sum;
}

/* Sums of equal size are sorted by all their numbers, then by name. */
static int compare_sums(const void *a, const void *b, void *context)
{
	const struct tally_sum *first = *(const struct tally_sum *const *)a;
	const struct tally_sum *second = *(const struct tally_sum *const *)b;
	const struct tally *tally = context;
	int order = compare_i64(sort_number(tally, second->numbers),
				sort_number(tally, first->numbers));

	for (size_t i = 0; order == 0 && i < tally->subject->number_count; i++)
		order = compare_i64(second->numbers[i], first->numbers[i]);
	return order ? order : record_text_compare(first->name->text, second->name->text);
}

/* Sorts the largest first. Returns 0, -ENOMEM. */
static int sort_sums(struct tally *tally, struct tally_group *group)
{
	struct tally_sum **sums, **link = &group->sums;
	size_t count = 0, i = 0;

	for (struct tally_sum *sum = group->sums; sum; sum = sum->next)
		count++;
	sums = calloc(count + 1, sizeof(struct tally_sum *));
	if (!sums)
		return -ENOMEM;
	for (struct tally_sum *sum = group->sums; sum; sum = sum->next)
		sums[i++] = sum;
	qsort_r(sums, count, sizeof(struct tally_sum *), compare_sums, tally);
	for (i = 0; i < count; i++, link = &sums[i - 1]->next)
		*link = sums[i];
	*link = NULL;
	free(sums);
	return 0;
}

/* Groups with a value first, and of these the largest first. */
static int compare_groups(const struct tally_group *a, const struct tally_group *b)
{
	int order = (int)a->kind - (int)b->kind;

	if (order == 0)
		order = compare_i64(b->sort_number, a->sort_number);
	return order ? order : record_text_compare(a->value, b->value);
}

int tally_finish(struct tally *tally)
{
	const struct selection_consumer consumer = consumer_of(tally);
	struct tally_group *group;
	int r = selection_settle(&tally->selection, &consumer, 0);

	if (!tally->by)
		tally->by = "endpoint";
	for (group = tally->groups; group && r == 0; group = group->hh.next) {
		group->sort_number = sort_number(tally, group->numbers);
		r = sort_sums(tally, group);
	}
	HASH_SORT(tally->groups, compare_groups);
	return r;
}

const char *tally_group_kind_name(enum tally_group_kind kind)
{
	static const char *const names[] = { [TALLY_GROUP] = "group",
					     [TALLY_WITHOUT_KEY] = "without_key",
					     [TALLY_UNATTRIBUTED] = "unattributed",
					     [TALLY_OVERFLOW] = "overflow" };

	return names[kind];
}
