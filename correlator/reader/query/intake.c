/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/intake.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "record/record_fields.h"

enum {
	VIEW_HELD = 0, /* made out again */
	VIEW_LENT = 1,
	VIEW_COUNT,
};

/* Shared by a request and the records that it lends it to. */
struct intake_value {
	size_t reference_count;
	size_t size_bytes;
	char bytes[];
};

/* A record that waits. */
struct intake_held {
	struct intake_held *prev, *next;
	uint64_t missing; /* a bit for each key that it has no value of yet */
	enum attribution attribution;
	uint64_t number;
	size_t size_bytes; /* of all of it */
	const char *comm; /* in the same memory; NULL: not known */
	struct packed packed; /* of one record; in the same memory */
	size_t lent_count; /* keys that were asked for when it came */
	struct intake_value *lent[]; /* NULL: nothing is, or not yet */
};

static size_t bytes_of(const struct intake_value *value)
{
	return sizeof(*value) + value->size_bytes;
}

static void release_value(struct intake *intake, struct intake_value *value)
{
	if (!value || --value->reference_count > 0)
		return;
	intake->value_bytes -= bytes_of(value);
	free(value);
}

static struct intake_value *share_value(struct intake_value *value)
{
	if (value)
		value->reference_count++;
	return value;
}

static struct intake_value *new_value(struct intake *intake, struct record_text text)
{
	struct intake_value *value = malloc(sizeof(*value) + text.size_bytes);

	if (!value)
		return NULL;
	value->reference_count = 1;
	value->size_bytes = text.size_bytes;
	memcpy(value->bytes, text.bytes, text.size_bytes);
	intake->value_bytes += bytes_of(value);
	return value;
}

static bool is_value(const struct intake_value *value, struct record_text text)
{
	return value && value->size_bytes == text.size_bytes &&
	       memcmp(value->bytes, text.bytes, text.size_bytes) == 0;
}

static struct intake_value **first_of(const struct intake_request *request, size_t key)
{
	return &request->values[2 * key];
}

static struct intake_value **last_of(const struct intake_request *request, size_t key)
{
	return &request->values[2 * key + 1];
}

/* Room for the values of all keys that are asked for by now. 0, -ENOMEM. */
static int provide_values(const struct intake *intake, struct intake_request *request)
{
	struct intake_value **values;

	if (request->key_count >= intake->key_count)
		return 0;
	values = realloc(request->values, 2 * intake->key_count * sizeof(*values));
	if (!values)
		return -ENOMEM;
	memset(&values[2 * request->key_count], 0,
	       2 * (intake->key_count - request->key_count) * sizeof(*values));
	request->values = values;
	request->key_count = intake->key_count;
	return 0;
}

void intake_init(struct intake *intake, size_t request_bytes)
{
	assert(request_bytes >= sizeof(struct intake_request));
	*intake = (struct intake){ .packing.keeps_all = true,
				   .held_bytes_max = INTAKE_HELD_BYTES_MAX,
				   .value_bytes_max = INTAKE_VALUE_BYTES_MAX };
	open_requests_init(&intake->requests, request_bytes);
}

static void free_held(struct intake *intake, struct intake_held *held)
{
	for (size_t key = 0; key < held->lent_count; key++)
		release_value(intake, held->lent[key]);
	free(held);
}

static void take_held_out(struct intake *intake, struct intake_request *request,
			  struct intake_held *held)
{
	DL_DELETE(request->held, held);
	intake->held_bytes -= held->size_bytes;
	if (!request->held)
		DL_DELETE(intake->holders, request);
}

static void free_request(struct intake *intake, struct intake_request *request)
{
	while (request->held) {
		struct intake_held *held = request->held;

		take_held_out(intake, request, held);
		free_held(intake, held);
	}
	for (size_t i = 0; i < 2 * request->key_count; i++)
		release_value(intake, request->values[i]);
	free(request->values);
	free(request);
}

void intake_deinit(struct intake *intake)
{
	while (intake->requests.oldest) {
		struct open_request *open = intake->requests.oldest;

		open_requests_take(&intake->requests, open);
		free_request(intake, (struct intake_request *)open);
	}
	for (size_t i = 0; i < intake->key_count; i++)
		free(intake->keys[i]);
	packing_deinit(&intake->packing);
	free(intake->scratch.bytes);
	free(intake->views);
	*intake = (struct intake){ 0 };
}

/* Each record has its own, without a key: also what it is called, and what its attribution is. */
static bool is_of_record(const char *key)
{
	return record_fields_are_taken(key) || strcmp(key, "comm") == 0 ||
	       strcmp(key, "attribution") == 0;
}

static int ask(struct intake *intake, struct record_text key)
{
	_cleanup_free_ char *name = NULL;

	for (size_t i = 0; i < intake->key_count; i++)
		if (record_text_is(key, intake->keys[i]))
			return 0;
	if (intake->key_count == INTAKE_KEYS_MAX || record_text_is(key, "request_id"))
		return 0;
	name = strndup(key.bytes, key.size_bytes);
	if (!name)
		return -ENOMEM;
	if (!is_of_record(name))
		intake->keys[intake->key_count++] = TAKE_PTR(name);
	return 0;
}

int intake_ask(struct intake *intake, const char *key)
{
	return ask(intake, (struct record_text){ key, strlen(key) });
}

int intake_ask_filter(struct intake *intake, const struct filter *filter)
{
	int r = 0;

	for (size_t i = 0; i < filter->condition_count && r == 0; i++)
		r = intake_ask(intake, filter->conditions[i].key);
	return r;
}

/* For the keys that a record has, and for those that a meta record says others will have. */
static int ask_for_all(struct intake *intake, const struct record_view *record)
{
	const struct record_field *names =
		record->kind == RECORD_KIND_META ? record_view_find(record, "keys") : NULL;
	int r = 0;

	for (size_t i = 0; names && i < names->item_count && r == 0; i++)
		r = ask(intake, names->items[i]);
	for (size_t i = 0; i < record->field_count && r == 0; i++)
		if (record->fields[i].is_key)
			r = ask(intake, record->fields[i].name);
	return r;
}

/* A key's own value; no bytes: it has none. */
static struct record_text value_in(const struct record_view *record, const char *key)
{
	const struct record_field *field = record_view_find(record, key);

	return field && field->is_key ? field->text : (struct record_text){ 0 };
}

/* 0, -ENOMEM. */
static int provide_views(struct intake *intake)
{
	if (!intake->views)
		intake->views = malloc(VIEW_COUNT * sizeof(struct record_view));
	return intake->views ? 0 : -ENOMEM;
}

/* Its lists stay where they are. */
static void copy_view(const struct record_view *record, struct record_view *ret_copy)
{
	ret_copy->wall_ns = record->wall_ns;
	ret_copy->clock_set_ns = record->clock_set_ns;
	ret_copy->entry_bytes = record->entry_bytes;
	ret_copy->kind = record->kind;
	ret_copy->field_count = record->field_count;
	memcpy(ret_copy->fields, record->fields, record->field_count * sizeof(record->fields[0]));
	ret_copy->places = record->places;
	ret_copy->item_count = 0;
}

/* False: the record has no room for it. */
static bool lend(struct record_view *record, const char *key, const struct intake_value *value)
{
	const struct record_field *field = record_view_find(record, key);
	size_t index = field ? (size_t)(field - record->fields) : record->field_count;

	if (index == RECORD_VIEW_FIELDS_MAX)
		return false;
	record->field_count += !field;
	record->fields[index] = (struct record_field){
		.name = { key, strlen(key) },
		.value = RECORD_VALUE_TEXT,
		.is_key = true,
		.text = { value->bytes, value->size_bytes },
	};
	return true;
}

/* To the owner, with what was lent of the first keys. */
static int deliver(struct intake *intake, const struct intake_owner *owner,
		   struct intake_record *taken, struct intake_value *const *lent, size_t key_count)
{
	bool has_room = true;

	taken->view = taken->raw;
	for (size_t key = 0; key < key_count; key++) {
		if (!lent[key])
			continue;
		if (taken->view == taken->raw) {
			if (provide_views(intake) < 0)
				return -ENOMEM;
			copy_view(taken->raw, &intake->views[VIEW_LENT]);
			taken->view = &intake->views[VIEW_LENT];
		}
		has_room &= lend(&intake->views[VIEW_LENT], intake->keys[key], lent[key]);
	}
	intake->given_up += !has_room;
	taken->is_wanted = filter_wants(owner->filter, taken->view, taken->comm);
	return owner->take(owner->context, taken);
}

/* The oldest that waits, with what its request has by now. */
static int deliver_held(struct intake *intake, const struct intake_owner *owner,
			struct intake_request *request)
{
	struct intake_held *held = request->held;
	struct intake_record taken = { .attribution = held->attribution,
				       .number = held->number,
				       .request = request };
	struct packed_head head;
	size_t offset = 0;
	int r = provide_views(intake);

	if (r < 0)
		return r;
	taken.raw = &intake->views[VIEW_HELD];
	for (size_t key = 0; key < held->lent_count; key++)
		if (held->missing & UINT64_C(1) << key)
			held->lent[key] = share_value(*first_of(request, key));
	if (held->comm)
		taken.comm = (struct record_text){ held->comm, strlen(held->comm) };
	(void)packing_next_head(&held->packed, &offset, &head);
	packing_get(&intake->packing, &held->packed, offset, &head, &intake->views[VIEW_HELD]);
	intake->views[VIEW_HELD].clock_set_ns = (int64_t)head.tag;
	take_held_out(intake, request, held);
	r = deliver(intake, owner, &taken, held->lent, held->lent_count);
	free_held(intake, held);
	return r;
}

static bool has_all(const struct intake *intake, const struct intake_request *request,
		    uint64_t missing)
{
	for (size_t key = 0; key < intake->key_count; key++)
		if (missing & UINT64_C(1) << key && !*first_of(request, key))
			return false;
	return true;
}

/* The records of a request that wait for nothing any more; is_end: all. */
static int release(struct intake *intake, const struct intake_owner *owner,
		   struct intake_request *request, bool is_end)
{
	int r = 0;

	while (r == 0 && request->held &&
	       (is_end || has_all(intake, request, request->held->missing)))
		r = deliver_held(intake, owner, request);
	return r;
}

/* There is no room for what waits: it has no value. */
static int give_up(struct intake *intake, const struct intake_owner *owner,
		   struct intake_request *request)
{
	struct intake_held *held;

	DL_FOREACH(request->held, held)
		intake->given_up += held->missing != 0;
	return release(intake, owner, request, true);
}

/* The packed record, in the scratch, with all that belongs to it; NULL: there is no memory. */
static struct intake_held *new_held(const struct intake *intake, const struct intake_record *taken,
				    struct intake_value *const *lent, uint64_t missing)
{
	size_t lent_bytes = intake->key_count * sizeof(struct intake_value *);
	size_t comm_bytes = taken->comm.bytes ? taken->comm.size_bytes + 1 : 0;
	size_t packed_bytes = intake->scratch.size_bytes;
	size_t size_bytes = sizeof(struct intake_held) + lent_bytes + comm_bytes + packed_bytes;
	struct intake_held *held = malloc(size_bytes);
	char *rest;

	if (!held)
		return NULL;
	*held = (struct intake_held){ .missing = missing,
				      .attribution = taken->attribution,
				      .number = taken->number,
				      .size_bytes = size_bytes,
				      .lent_count = intake->key_count };
	for (size_t key = 0; key < held->lent_count; key++)
		held->lent[key] = share_value(lent[key]);
	rest = (char *)held->lent + lent_bytes;
	if (comm_bytes > 0) {
		memcpy(rest, taken->comm.bytes, comm_bytes - 1);
		rest[comm_bytes - 1] = '\0';
		held->comm = rest;
	}
	memcpy(rest + comm_bytes, intake->scratch.bytes, packed_bytes);
	held->packed = (struct packed){ .bytes = (uint8_t *)rest + comm_bytes,
					.size_bytes = packed_bytes };
	return held;
}

/* -E2BIG: it is like no record that can be kept. */
static int hold(struct intake *intake, const struct intake_record *taken,
		struct intake_value *const *lent, uint64_t missing)
{
	struct intake_request *request = taken->request;
	struct intake_held *held;
	int r;

	intake->scratch.size_bytes = 0;
	r = packing_put(&intake->packing, taken->raw, (uint64_t)taken->raw->clock_set_ns,
			&intake->scratch);
	if (r < 0)
		return r;
	held = new_held(intake, taken, lent, missing);
	if (!held)
		return -ENOMEM;
	if (!request->held)
		DL_APPEND(intake->holders, request);
	DL_APPEND(request->held, held);
	intake->held_bytes += held->size_bytes;
	return 0;
}

/* Takes note of the record's own values, and says what it is lent, and what it lacks. 0, -ENOMEM.
 */
static int exchange(struct intake *intake, const struct record_view *record,
		    struct intake_request *request, struct intake_value **ret_lent,
		    uint64_t *ret_missing)
{
	*ret_missing = 0;
	for (size_t key = 0; key < intake->key_count; key++) {
		struct record_text own = value_in(record, intake->keys[key]);
		struct intake_value **first = first_of(request, key);
		struct intake_value **last = last_of(request, key);

		if (own.size_bytes == 0) {
			ret_lent[key] = *last;
			*ret_missing |= *last ? 0 : UINT64_C(1) << key;
			continue;
		}
		if (!is_value(*last, own)) {
			struct intake_value *value = new_value(intake, own);

			if (!value)
				return -ENOMEM;
			release_value(intake, *last);
			*last = value;
		}
		if (!*first)
			*first = share_value(*last);
	}
	return 0;
}

static int add_to_request(struct intake *intake, const struct intake_owner *owner,
			  struct intake_record *taken)
{
	struct intake_value *lent[INTAKE_KEYS_MAX] = { 0 };
	struct intake_request *request = taken->request;
	uint64_t missing;
	int r = exchange(intake, taken->raw, request, lent, &missing);

	if (r == 0)
		r = release(intake, owner, request, false);
	if (r < 0)
		return r;
	if (!missing && !request->held)
		return deliver(intake, owner, taken, lent, intake->key_count);
	r = hold(intake, taken, lent, missing);
	if (r == -E2BIG) {
		intake->given_up += missing != 0;
		r = give_up(intake, owner, request);
		if (r == 0)
			r = deliver(intake, owner, taken, lent, intake->key_count);
	}
	while (r == 0 && intake->held_bytes > intake->held_bytes_max)
		r = give_up(intake, owner, intake->holders);
	return r;
}

/* The record's request, the newest one now; NULL: it is of none. 0, -ENOMEM. */
static int find_request(struct intake *intake, struct intake_record *taken)
{
	struct open_request *open;
	struct record_text id;
	int r;

	if (!attribution_has_context(taken->attribution) ||
	    !record_view_text(taken->raw, "request_id", &id) || id.size_bytes == 0)
		return 0;
	r = open_requests_touch(&intake->requests, id, &open);
	if (r < 0)
		return r;
	taken->request = (struct intake_request *)open;
	return provide_values(intake, taken->request);
}

/* Ends requests until their values are in bounds. */
static int bound_values(struct intake *intake, const struct intake_owner *owner)
{
	int r = 0;

	while (r == 0 && intake->value_bytes > intake->value_bytes_max) {
		size_t open_count = open_requests_count(&intake->requests);

		if (!intake->holders && open_count == 1)
			break;
		r = intake->holders ? give_up(intake, owner, intake->holders)
				    : intake_settle(intake, owner, open_count - 1);
	}
	return r;
}

static int add_activity(struct intake *intake, const struct intake_owner *owner,
			const struct record_view *record)
{
	struct intake_record taken = { .raw = record,
				       .attribution = attribution_of(record),
				       .number = ++intake->last_number };
	int r = find_request(intake, &taken);

	if (r < 0)
		return r;
	taken.comm = recording_comm(owner->recording, record);
	r = taken.request ? add_to_request(intake, owner, &taken)
			  : deliver(intake, owner, &taken, NULL, 0);
	if (r == 0)
		r = bound_values(intake, owner);
	return r < 0 ? r : intake_settle(intake, owner, REQUESTS_OPEN_MAX);
}

static bool is_activity(const struct record_view *record)
{
	return record->kind == RECORD_KIND_CPU || record->kind == RECORD_KIND_SLICE ||
	       record->kind == RECORD_KIND_SAMPLE || record->kind == RECORD_KIND_SYSCALL;
}

bool intake_holds_at_any_time(const struct record_view *record)
{
	return record->kind == RECORD_KIND_META || record->kind == RECORD_KIND_PROCESS ||
	       record->kind == RECORD_KIND_STACK;
}

int intake_add(struct intake *intake, const struct intake_owner *owner,
	       const struct record_view *record)
{
	bool is_in_time = filter_is_in_time(owner->filter, record);
	int r = 0;

	if (known_records_has(owner->known, record))
		return 1;
	if (!is_in_time && !intake_holds_at_any_time(record))
		return 0;
	if (!is_activity(record) && owner->other)
		r = owner->other(owner->context, record);
	if (r == 0)
		r = known_records_add(owner->known, record);
	if (r == 0)
		r = recording_add(owner->recording, record);
	if (r == 0 && intake->lends_all)
		r = ask_for_all(intake, record);
	if (r < 0 || !is_activity(record))
		return r;
	if (owner->prepare)
		r = owner->prepare(owner->context);
	return r < 0 ? r : add_activity(intake, owner, record);
}

int intake_settle(struct intake *intake, const struct intake_owner *owner, size_t open_max)
{
	int r = 0;

	while (r == 0 && open_requests_count(&intake->requests) > open_max) {
		struct intake_request *request = (struct intake_request *)intake->requests.oldest;

		r = release(intake, owner, request, true);
		if (r == 0 && owner->end)
			r = owner->end(owner->context, request);
		open_requests_take(&intake->requests, &request->open);
		free_request(intake, request);
	}
	return r;
}
