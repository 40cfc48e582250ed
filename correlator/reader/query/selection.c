/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/query/selection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "record/record_fields.h"

enum {
	VIEW_HELD = 0, /* unpacked from a held record */
	VIEW_LENT = 1,
	VIEW_COUNT,
};

/* Shared by a request and the records that it is lent to. */
struct selection_value {
	size_t reference_count;
	size_t size_bytes;
	char bytes[];
};

/* A waiting record. */
struct selection_held {
	struct selection_held *prev, *next;
	uint64_t missing; /* one bit per key that has no value yet */
	enum attribution attribution;
	uint64_t number;
	size_t size_bytes; /* of the whole allocation */
	const char *comm; /* in the same allocation; NULL: not known */
	struct packed packed; /* one record, in the same allocation */
	size_t lent_count; /* number of keys when the record came */
	struct selection_value *lent[]; /* NULL: no value, or not yet */
};

static size_t bytes_of(const struct selection_value *value)
{
	return sizeof(*value) + value->size_bytes;
}

static void release_value(struct selection *selection, struct selection_value *value)
{
	if (!value || --value->reference_count > 0)
		return;
	selection->value_bytes -= bytes_of(value);
	free(value);
}

static struct selection_value *share_value(struct selection_value *value)
{
	if (value)
		value->reference_count++;
	return value;
}

static struct selection_value *new_value(struct selection *selection, struct record_text text)
{
	struct selection_value *value = malloc(sizeof(*value) + text.size_bytes);

	if (!value)
		return NULL;
	value->reference_count = 1;
	value->size_bytes = text.size_bytes;
	memcpy(value->bytes, text.bytes, text.size_bytes);
	selection->value_bytes += bytes_of(value);
	return value;
}

static bool is_value(const struct selection_value *value, struct record_text text)
{
	return value && value->size_bytes == text.size_bytes &&
	       memcmp(value->bytes, text.bytes, text.size_bytes) == 0;
}

static struct selection_value **first_of(const struct selection_request *request, size_t key)
{
	return &request->values[2 * key];
}

static struct selection_value **last_of(const struct selection_request *request, size_t key)
{
	return &request->values[2 * key + 1];
}

/* Makes room for the values of all keys so far. Returns 0, -ENOMEM. */
static int provide_values(const struct selection *selection, struct selection_request *request)
{
	struct selection_value **values;

	if (request->key_count >= selection->key_count)
		return 0;
	values = realloc(request->values, 2 * selection->key_count * sizeof(*values));
	if (!values)
		return -ENOMEM;
	memset(&values[2 * request->key_count], 0,
	       2 * (selection->key_count - request->key_count) * sizeof(*values));
	request->values = values;
	request->key_count = selection->key_count;
	return 0;
}

void selection_init(struct selection *selection, size_t request_bytes)
{
	assert(request_bytes >= sizeof(struct selection_request));
	*selection = (struct selection){ .packing.keeps_all = true,
					 .held_bytes_max = SELECTION_HELD_BYTES_MAX,
					 .value_bytes_max = SELECTION_VALUE_BYTES_MAX };
	recording_init(&selection->recording);
	known_records_init(&selection->known);
	open_requests_init(&selection->requests, request_bytes);
}

void selection_take_filter(struct selection *selection, struct filter *filter)
{
	selection->filter = *filter;
	*filter = (struct filter){ 0 };
}

static void free_held(struct selection *selection, struct selection_held *held)
{
	for (size_t key = 0; key < held->lent_count; key++)
		release_value(selection, held->lent[key]);
	free(held);
}

static void take_held_out(struct selection *selection, struct selection_request *request,
			  struct selection_held *held)
{
	DL_DELETE(request->held, held);
	selection->held_bytes -= held->size_bytes;
	if (!request->held)
		DL_DELETE(selection->holders, request);
}

static void free_request(struct selection *selection, struct selection_request *request)
{
	while (request->held) {
		struct selection_held *held = request->held;

		take_held_out(selection, request, held);
		free_held(selection, held);
	}
	for (size_t i = 0; i < 2 * request->key_count; i++)
		release_value(selection, request->values[i]);
	free(request->values);
	free(request);
}

void selection_deinit(struct selection *selection)
{
	while (selection->requests.oldest) {
		struct open_request *open = selection->requests.oldest;

		open_requests_take(&selection->requests, open);
		free_request(selection, (struct selection_request *)open);
	}
	for (size_t i = 0; i < selection->key_count; i++)
		free(selection->keys[i]);
	packing_deinit(&selection->packing);
	free(selection->scratch.bytes);
	free(selection->views);
	known_records_deinit(&selection->known);
	recording_deinit(&selection->recording);
	filter_deinit(&selection->filter);
	*selection = (struct selection){ 0 };
}

/* Keys that are not lent, since each record has its own value: fields of the schema, comm and
 * attribution. */
static bool is_of_record(const char *key)
{
	return record_fields_are_taken(key) || strcmp(key, "comm") == 0 ||
	       strcmp(key, "attribution") == 0;
}

static int ask(struct selection *selection, struct record_text key)
{
	_cleanup_free_ char *name = NULL;

	for (size_t i = 0; i < selection->key_count; i++)
		if (record_text_is(key, selection->keys[i]))
			return 0;
	if (selection->key_count == SELECTION_KEYS_MAX || record_text_is(key, "request_id"))
		return 0;
	name = strndup(key.bytes, key.size_bytes);
	if (!name)
		return -ENOMEM;
	if (!is_of_record(name))
		selection->keys[selection->key_count++] = TAKE_PTR(name);
	return 0;
}

int selection_ask(struct selection *selection, const char *key)
{
	return ask(selection, (struct record_text){ key, strlen(key) });
}

/* Called before the recording's own keys are asked for, which may exceed SELECTION_KEYS_MAX. */
static int ask_filter(struct selection *selection)
{
	int r = 0;

	for (size_t i = 0; i < selection->filter.condition_count && r == 0; i++)
		r = selection_ask(selection, selection->filter.conditions[i].key);
	selection->has_asked = r == 0;
	return r;
}

/* Asks for the keys that the record has, and for those that a meta record announces. */
static int ask_for_all(struct selection *selection, const struct record_view *record)
{
	const struct record_field *names =
		record->kind == RECORD_KIND_META ? record_view_find(record, "keys") : NULL;
	int r = 0;

	for (size_t i = 0; names && i < names->item_count && r == 0; i++)
		r = ask(selection, names->items[i]);
	for (size_t i = 0; i < record->field_count && r == 0; i++)
		if (record->fields[i].is_key)
			r = ask(selection, record->fields[i].name);
	return r;
}

/* Returns the record's own value of a key; empty if it has none. */
static struct record_text value_in(const struct record_view *record, const char *key)
{
	const struct record_field *field = record_view_find(record, key);

	return field && field->is_key ? field->text : (struct record_text){ 0 };
}

/* Returns 0, -ENOMEM. */
static int provide_views(struct selection *selection)
{
	if (!selection->views)
		selection->views = malloc(VIEW_COUNT * sizeof(struct record_view));
	return selection->views ? 0 : -ENOMEM;
}

/* The copy shares the items of its lists. */
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

/* Returns false if the record has no free field. */
static bool lend(struct record_view *record, const char *key, const struct selection_value *value)
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

/* Passes the record to the consumer, with the values lent for the first key_count keys. */
static int deliver(struct selection *selection, const struct selection_consumer *consumer,
		   struct selection_record *taken, struct selection_value *const *lent,
		   size_t key_count)
{
	bool has_room = true;

	taken->view = taken->raw;
	for (size_t key = 0; key < key_count; key++) {
		if (!lent[key])
			continue;
		if (taken->view == taken->raw) {
			if (provide_views(selection) < 0)
				return -ENOMEM;
			copy_view(taken->raw, &selection->views[VIEW_LENT]);
			taken->view = &selection->views[VIEW_LENT];
		}
		has_room &= lend(&selection->views[VIEW_LENT], selection->keys[key], lent[key]);
	}
	selection->given_up += !has_room;
	taken->is_wanted = filter_wants(&selection->filter, taken->view, taken->comm);
	return consumer->take(consumer->context, taken);
}

/* Delivers the oldest waiting record, with the values that its request has so far. */
static int deliver_held(struct selection *selection, const struct selection_consumer *consumer,
			struct selection_request *request)
{
	struct selection_held *held = request->held;
	struct selection_record taken = { .attribution = held->attribution,
					  .number = held->number,
					  .request = request };
	struct packed_head head;
	size_t offset = 0;
	int r = provide_views(selection);

	if (r < 0)
		return r;
	taken.raw = &selection->views[VIEW_HELD];
	for (size_t key = 0; key < held->lent_count; key++)
		if (held->missing & UINT64_C(1) << key)
			held->lent[key] = share_value(*first_of(request, key));
	if (held->comm)
		taken.comm = (struct record_text){ held->comm, strlen(held->comm) };
	(void)packing_next_head(&held->packed, &offset, &head);
	packing_get(&selection->packing, &held->packed, offset, &head,
		    &selection->views[VIEW_HELD]);
	selection->views[VIEW_HELD].clock_set_ns = (int64_t)head.tag;
	take_held_out(selection, request, held);
	r = deliver(selection, consumer, &taken, held->lent, held->lent_count);
	free_held(selection, held);
	return r;
}

static bool has_all(const struct selection *selection, const struct selection_request *request,
		    uint64_t missing)
{
	for (size_t key = 0; key < selection->key_count; key++)
		if (missing & UINT64_C(1) << key && !*first_of(request, key))
			return false;
	return true;
}

/* Delivers the request's records that wait for nothing any more; is_end: all of them. */
static int release(struct selection *selection, const struct selection_consumer *consumer,
		   struct selection_request *request, bool is_end)
{
	int r = 0;

	while (r == 0 && request->held &&
	       (is_end || has_all(selection, request, request->held->missing)))
		r = deliver_held(selection, consumer, request);
	return r;
}

/* Out of memory bounds: delivers the request's waiting records without the missing values. */
static int give_up(struct selection *selection, const struct selection_consumer *consumer,
		   struct selection_request *request)
{
	struct selection_held *held;

	DL_FOREACH(request->held, held)
		selection->given_up += held->missing != 0;
	return release(selection, consumer, request, true);
}

/* Allocates the record packed in scratch with everything that belongs to it. Returns NULL if memory
 * runs out. */
static struct selection_held *new_held(const struct selection *selection,
				       const struct selection_record *taken,
				       struct selection_value *const *lent, uint64_t missing)
{
	size_t lent_bytes = selection->key_count * sizeof(struct selection_value *);
	size_t comm_bytes = taken->comm.bytes ? taken->comm.size_bytes + 1 : 0;
	size_t packed_bytes = selection->scratch.size_bytes;
	size_t size_bytes = sizeof(struct selection_held) + lent_bytes + comm_bytes + packed_bytes;
	struct selection_held *held = malloc(size_bytes);
	char *rest;

	if (!held)
		return NULL;
	*held = (struct selection_held){ .missing = missing,
					 .attribution = taken->attribution,
					 .number = taken->number,
					 .size_bytes = size_bytes,
					 .lent_count = selection->key_count };
	for (size_t key = 0; key < held->lent_count; key++)
		held->lent[key] = share_value(lent[key]);
	rest = (char *)held->lent + lent_bytes;
	if (comm_bytes > 0) {
		memcpy(rest, taken->comm.bytes, comm_bytes - 1);
		rest[comm_bytes - 1] = '\0';
		held->comm = rest;
	}
	memcpy(rest + comm_bytes, selection->scratch.bytes, packed_bytes);
	held->packed = (struct packed){ .bytes = (uint8_t *)rest + comm_bytes,
					.size_bytes = packed_bytes };
	return held;
}

/* Returns -E2BIG if the record would need one more shape than packing can hold. */
static int hold(struct selection *selection, const struct selection_record *taken,
		struct selection_value *const *lent, uint64_t missing)
{
	struct selection_request *request = taken->request;
	struct selection_held *held;
	int r;

	selection->scratch.size_bytes = 0;
	r = packing_put(&selection->packing, taken->raw, (uint64_t)taken->raw->clock_set_ns,
			&selection->scratch);
	if (r < 0)
		return r;
	held = new_held(selection, taken, lent, missing);
	if (!held)
		return -ENOMEM;
	if (!request->held)
		DL_APPEND(selection->holders, request);
	DL_APPEND(request->held, held);
	selection->held_bytes += held->size_bytes;
	return 0;
}

/* Stores the record's own values in the request; returns the values lent to the record, and the
 * keys that it lacks. Returns 0, -ENOMEM. */
static int exchange(struct selection *selection, const struct record_view *record,
		    struct selection_request *request, struct selection_value **ret_lent,
		    uint64_t *ret_missing)
{
	*ret_missing = 0;
	for (size_t key = 0; key < selection->key_count; key++) {
		struct record_text own = value_in(record, selection->keys[key]);
		struct selection_value **first = first_of(request, key);
		struct selection_value **last = last_of(request, key);

		if (own.size_bytes == 0) {
			ret_lent[key] = *last;
			*ret_missing |= *last ? 0 : UINT64_C(1) << key;
			continue;
		}
		if (!is_value(*last, own)) {
			struct selection_value *value = new_value(selection, own);

			if (!value)
				return -ENOMEM;
			release_value(selection, *last);
			*last = value;
		}
		if (!*first)
			*first = share_value(*last);
	}
	return 0;
}

static int add_to_request(struct selection *selection, const struct selection_consumer *consumer,
			  struct selection_record *taken)
{
	struct selection_value *lent[SELECTION_KEYS_MAX] = { 0 };
	struct selection_request *request = taken->request;
	uint64_t missing;
	int r = exchange(selection, taken->raw, request, lent, &missing);

	if (r == 0)
		r = release(selection, consumer, request, false);
	if (r < 0)
		return r;
	if (!missing && !request->held)
		return deliver(selection, consumer, taken, lent, selection->key_count);
	r = hold(selection, taken, lent, missing);
	if (r == -E2BIG) {
		selection->given_up += missing != 0;
		r = give_up(selection, consumer, request);
		if (r == 0)
			r = deliver(selection, consumer, taken, lent, selection->key_count);
	}
	while (r == 0 && selection->held_bytes > selection->held_bytes_max)
		r = give_up(selection, consumer, selection->holders);
	return r;
}

/* Sets the record's request, which becomes the newest; NULL if it has none. Returns 0, -ENOMEM. */
static int find_request(struct selection *selection, struct selection_record *taken)
{
	struct open_request *open;
	struct record_text id;
	int r;

	if (!attribution_has_context(taken->attribution) ||
	    !record_view_text(taken->raw, "request_id", &id) || id.size_bytes == 0)
		return 0;
	r = open_requests_touch(&selection->requests, id, &open);
	if (r < 0)
		return r;
	taken->request = (struct selection_request *)open;
	return provide_values(selection, taken->request);
}

/* Releases waiting records, then ends requests, until the values are within bounds. */
static int bound_values(struct selection *selection, const struct selection_consumer *consumer)
{
	int r = 0;

	while (r == 0 && selection->value_bytes > selection->value_bytes_max) {
		size_t open_count = open_requests_count(&selection->requests);

		if (!selection->holders && open_count == 1)
			break;
		r = selection->holders ? give_up(selection, consumer, selection->holders)
				       : selection_settle(selection, consumer, open_count - 1);
	}
	return r;
}

static int add_activity(struct selection *selection, const struct selection_consumer *consumer,
			const struct record_view *record)
{
	struct selection_record taken = { .raw = record,
					  .attribution = attribution_of(record),
					  .number = ++selection->last_number };
	int r = find_request(selection, &taken);

	if (r < 0)
		return r;
	taken.comm = recording_comm(&selection->recording, record);
	r = taken.request ? add_to_request(selection, consumer, &taken)
			  : deliver(selection, consumer, &taken, NULL, 0);
	if (r == 0)
		r = bound_values(selection, consumer);
	return r < 0 ? r : selection_settle(selection, consumer, REQUESTS_OPEN_MAX);
}

static bool is_activity(const struct record_view *record)
{
	return record->kind == RECORD_KIND_CPU || record->kind == RECORD_KIND_SLICE ||
	       record->kind == RECORD_KIND_SAMPLE || record->kind == RECORD_KIND_SYSCALL ||
	       record->kind == RECORD_KIND_IO || record->kind == RECORD_KIND_STALL;
}

bool selection_holds_at_any_time(const struct record_view *record)
{
	return record->kind == RECORD_KIND_META || record->kind == RECORD_KIND_PROCESS ||
	       record->kind == RECORD_KIND_STACK;
}

/* Whether a record counts, judged before the consumer has taken it. */
static bool is_new(struct selection *selection, const struct record_view *record)
{
	/* Must come first: relative times begin at the very first record. */
	bool is_in_time = filter_is_in_time(&selection->filter, record);

	if (known_records_has(&selection->known, record)) {
		selection->double_records++;
		return false;
	}
	return is_in_time || selection_holds_at_any_time(record);
}

/* Returns 0, -ENOMEM. */
static int note(struct selection *selection, const struct record_view *record)
{
	int r = known_records_add(&selection->known, record);

	return r == 0 ? recording_add(&selection->recording, record) : r;
}

int selection_admit(struct selection *selection, const struct record_view *record)
{
	int r;

	if (!is_new(selection, record))
		return 0;
	r = note(selection, record);
	return r < 0 ? r : 1;
}

int selection_add(struct selection *selection, const struct selection_consumer *consumer,
		  const struct record_view *record)
{
	int r = selection->has_asked ? 0 : ask_filter(selection);

	if (r < 0 || !is_new(selection, record))
		return r;
	if (!is_activity(record) && consumer->other)
		r = consumer->other(consumer->context, record);
	if (r == 0)
		r = note(selection, record);
	if (r == 0 && selection->lends_all)
		r = ask_for_all(selection, record);
	if (r < 0 || !is_activity(record))
		return r;
	if (consumer->prepare)
		r = consumer->prepare(consumer->context);
	return r < 0 ? r : add_activity(selection, consumer, record);
}

int selection_settle(struct selection *selection, const struct selection_consumer *consumer,
		     size_t open_max)
{
	int r = 0;

	while (r == 0 && open_requests_count(&selection->requests) > open_max) {
		struct selection_request *request =
			(struct selection_request *)selection->requests.oldest;

		r = release(selection, consumer, request, true);
		if (r == 0 && consumer->end)
			r = consumer->end(consumer->context, request);
		open_requests_take(&selection->requests, &request->open);
		free_request(selection, request);
	}
	return r;
}
