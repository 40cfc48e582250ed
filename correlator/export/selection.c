/* SPDX-License-Identifier: GPL-2.0-only */
#include "export/selection.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "report/totals.h"
#include "requests/attribution.h"

/* A record, with its texts. */
struct held_record {
	struct held_record *prev, *next;
	uint64_t wall_ns;
	enum record_kind kind;
	struct record_places places;
	size_t field_count;
	size_t item_count;
	struct record_field *fields; /* these are in the same memory */
	struct record_text *items;
	char *bytes;
};

struct selected_request {
	struct open_request open;
	enum filter_verdict verdict;
	struct held_record *held; /* utlist, in their order */
};

int selection_init(struct selection *selection, struct filter *filter, selection_fn take,
		   void *context)
{
	*selection = (struct selection){ .filter = *filter,
					 .take = take,
					 .context = context,
					 .scratch = malloc(sizeof(struct record_view)) };
	*filter = (struct filter){ 0 };
	open_requests_init(&selection->requests, sizeof(struct selected_request));
	recording_init(&selection->recording);
	known_records_init(&selection->known);
	return selection->scratch ? 0 : -ENOMEM;
}

static size_t drop_held(struct selected_request *request)
{
	struct held_record *held, *next;
	size_t count = 0;

	DL_FOREACH_SAFE(request->held, held, next) {
		DL_DELETE(request->held, held);
		free(held);
		count++;
	}
	return count;
}

static void forget_oldest(struct selection *selection)
{
	struct selected_request *request = (struct selected_request *)selection->requests.oldest;
	size_t count = drop_held(request);

	selection->held_count -= count;
	selection->left_out += request->verdict == FILTER_UNKNOWN ? count : 0;
	open_requests_take(&selection->requests, &request->open);
	free(request);
}

void selection_deinit(struct selection *selection)
{
	while (selection->requests.oldest)
		forget_oldest(selection);
	recording_deinit(&selection->recording);
	known_records_deinit(&selection->known);
	filter_deinit(&selection->filter);
	free(selection->scratch);
	*selection = (struct selection){ 0 };
}

/* The record's request, the newest one now; NULL: it is of none. 0, -ENOMEM. */
static int find_request(struct selection *selection, const struct record_view *record,
			struct selected_request **ret_request)
{
	struct open_request *open;
	struct record_text id;
	int r;

	*ret_request = NULL;
	if (!attribution_has_context(attribution_of(record)) ||
	    !record_view_text(record, "request_id", &id) || id.size_bytes == 0)
		return 0;
	r = open_requests_touch(&selection->requests, id, &open);
	if (r < 0)
		return r;
	*ret_request = (struct selected_request *)open;
	if (r > 0)
		(*ret_request)->verdict = FILTER_UNKNOWN;
	if (open_requests_count(&selection->requests) > REQUESTS_OPEN_MAX)
		forget_oldest(selection);
	return 0;
}

static size_t text_bytes(const struct record_view *record)
{
	size_t size_bytes = 0;

	for (size_t i = 0; i < record->field_count; i++)
		size_bytes += record->fields[i].name.size_bytes + record->fields[i].text.size_bytes;
	for (size_t i = 0; i < record->item_count; i++)
		size_bytes += record->items[i].size_bytes;
	return size_bytes;
}

static void copy_text(struct record_text *text, char **bytes)
{
	if (text->size_bytes > 0)
		memcpy(*bytes, text->bytes, text->size_bytes);
	text->bytes = *bytes;
	*bytes += text->size_bytes;
}

static struct held_record *copy(const struct record_view *record)
{
	size_t fields_bytes = record->field_count * sizeof(struct record_field);
	size_t items_bytes = record->item_count * sizeof(struct record_text);
	size_t size_bytes =
		sizeof(struct held_record) + fields_bytes + items_bytes + text_bytes(record);
	struct held_record *held = malloc(size_bytes);
	char *bytes;

	if (!held)
		return NULL;
	*held = (struct held_record){ .wall_ns = record->wall_ns,
				      .kind = record->kind,
				      .places = record->places,
				      .field_count = record->field_count,
				      .item_count = record->item_count,
				      .fields = (struct record_field *)(held + 1) };
	held->items = (struct record_text *)(held->fields + record->field_count);
	bytes = (char *)(held->items + record->item_count);
	memcpy(held->fields, record->fields, fields_bytes);
	memcpy(held->items, record->items, items_bytes);
	for (size_t i = 0; i < held->field_count; i++) {
		struct record_field *field = &held->fields[i];

		copy_text(&field->name, &bytes);
		copy_text(&field->text, &bytes);
		if (field->items)
			field->items = held->items + (field->items - record->items);
	}
	for (size_t i = 0; i < held->item_count; i++)
		copy_text(&held->items[i], &bytes);
	assert(bytes == (char *)held + size_bytes);
	return held;
}

static int hold(struct selection *selection, struct selected_request *request,
		const struct record_view *record)
{
	struct held_record *held = copy(record);
	struct open_request *open;

	if (!held)
		return -ENOMEM;
	DL_APPEND(request->held, held);
	selection->held_count++;
	if (selection->held_count <= SELECTION_HELD_MAX)
		return 0;
	DL_FOREACH(selection->requests.oldest, open) {
		struct selected_request *oldest = (struct selected_request *)open;
		size_t count;

		if (!oldest->held)
			continue;
		count = drop_held(oldest);
		selection->held_count -= count;
		selection->left_out += count;
		return 0;
	}
	return 0;
}

static bool has_window(const struct record_view *record)
{
	return record->kind != RECORD_KIND_META && record->kind != RECORD_KIND_PROCESS;
}

static int take(struct selection *selection, const struct record_view *record)
{
	selection->taken_count += has_window(record);
	return selection->take(selection->context, record);
}

static int release(struct selection *selection, struct selected_request *request)
{
	struct record_view *record = selection->scratch;
	struct held_record *held;
	int r = 0;

	DL_FOREACH(request->held, held) {
		record->wall_ns = held->wall_ns;
		record->kind = held->kind;
		record->places = held->places;
		record->field_count = held->field_count;
		record->item_count = held->item_count;
		memcpy(record->fields, held->fields, held->field_count * sizeof(*held->fields));
		memcpy(record->items, held->items, held->item_count * sizeof(*held->items));
		if (r == 0)
			r = take(selection, record);
	}
	selection->held_count -= drop_held(request);
	return r;
}

/* As totals_add chooses. */
static int add_activity(struct selection *selection, const struct record_view *record)
{
	enum filter_verdict verdict = filter_judge(&selection->filter, record,
						   recording_comm(&selection->recording, record));
	struct selected_request *request = NULL;
	int r = find_request(selection, record, &request);

	if (r < 0)
		return r;
	if (request && verdict == FILTER_UNKNOWN)
		verdict = request->verdict;
	else if (request && request->verdict != FILTER_YES)
		request->verdict = verdict;
	if (verdict == FILTER_UNKNOWN && request)
		return hold(selection, request, record);
	if (verdict != FILTER_YES)
		return 0;
	if (request && request->held)
		r = release(selection, request);
	return r == 0 ? take(selection, record) : r;
}

int selection_add(struct selection *selection, const struct record_view *record)
{
	bool is_in_time = filter_is_in_time(&selection->filter, record);
	int r;

	if (known_records_has(&selection->known, record) || (!is_in_time && has_window(record)))
		return 0;
	r = known_records_add(&selection->known, record);
	if (r == 0)
		r = recording_add(&selection->recording, record);
	if (r < 0)
		return r;
	if (selection->filter.condition_count == 0 || !has_window(record))
		return take(selection, record);
	/* The books are of all. */
	if (record->kind != RECORD_KIND_CPU && record->kind != RECORD_KIND_SLICE)
		return 0;
	return add_activity(selection, record);
}
