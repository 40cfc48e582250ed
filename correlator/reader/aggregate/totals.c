/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/totals.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "requests/attribution.h"

enum {
	DEFAULT_ENDPOINT = 0,
	DEFAULT_REQUEST = 1,
};

static const char *const default_keys[TOTALS_GROUPINGS_MAX] = {
	[DEFAULT_ENDPOINT] = "endpoint",
	[DEFAULT_REQUEST] = "request_id",
};

int totals_init(struct totals *totals, const char *const *by_names, size_t by_count)
{
	int r;

	assert(by_count <= TOTALS_GROUPINGS_MAX);
	*totals = (struct totals){ .follows_keys = !by_names, .is_by_default = !by_names };
	if (!by_names)
		by_names = default_keys;
	selection_init(&totals->selection, sizeof(struct request));
	r = grouping_init(&totals->unattributed_threads, "thread_name,attribution");
	totals->unattributed_threads.group_max = TOTALS_THREADS_MAX;
	for (size_t i = 0; i < by_count && r == 0; i++) {
		r = grouping_init(&totals->groupings[i], by_names[i]);
		totals->grouping_count++;
	}
	if (r < 0)
		totals_deinit(totals);
	return r;
}

void totals_deinit(struct totals *totals)
{
	for (size_t i = 0; i < totals->grouping_count; i++)
		grouping_deinit(&totals->groupings[i]);
	grouping_deinit(&totals->unattributed_threads);
	selection_deinit(&totals->selection);
	*totals = (struct totals){ 0 };
}

enum totals_part totals_part_of(enum attribution attribution)
{
	if (attribution == ATTRIBUTION_OVERFLOW)
		return TOTALS_PART_OVERFLOW;
	return attribution_has_context(attribution) ? TOTALS_PART_ATTRIBUTED
						    : TOTALS_PART_UNATTRIBUTED;
}

/* The sum that a record counts in; NULL if its context is known: groups sum it up. */
static struct costs *find_sum(struct totals *totals, enum attribution attribution)
{
	enum totals_part part = totals_part_of(attribution);

	if (part == TOTALS_PART_OVERFLOW)
		return &totals->overflow;
	return part == TOTALS_PART_ATTRIBUTED ? NULL : &totals->unattributed;
}

/* The default keys that were recorded; without request_id, the first remaining key. */
static size_t default_keys_of(const struct recording *recording,
			      const char *ret_keys[static TOTALS_GROUPINGS_MAX])
{
	size_t count = 0;

	for (size_t i = 0; i < TOTALS_GROUPINGS_MAX; i++)
		if (recording_has_key(recording, default_keys[i]))
			ret_keys[count++] = default_keys[i];
	if (recording_has_key(recording, default_keys[DEFAULT_REQUEST]))
		return count;
	for (size_t i = 0; i < recording->key_count; i++) {
		if (strcmp(recording->keys[i], default_keys[DEFAULT_ENDPOINT]) != 0) {
			ret_keys[count++] = recording->keys[i];
			break;
		}
	}
	return count;
}

/* Chooses the keys once, when a key is known and before anything is grouped. Returns 0, -ENOMEM. */
static int choose_keys(struct totals *totals)
{
	const char *keys[TOTALS_GROUPINGS_MAX];
	size_t count;
	int r = 0;

	if (!totals->follows_keys || totals->selection.recording.key_count == 0)
		return 0;
	totals->follows_keys = false;
	count = default_keys_of(&totals->selection.recording, keys);
	while (totals->grouping_count > count)
		grouping_deinit(&totals->groupings[--totals->grouping_count]);
	for (size_t i = 0; i < totals->grouping_count && r == 0; i++)
		r = grouping_rename(&totals->groupings[i], keys[i]);
	/* No groups are lost: there are none yet. */
	if (r == 0 && totals->keeps_one && totals->grouping_count > 1 &&
	    !totals->groupings[1].is_by_request)
		grouping_deinit(&totals->groupings[--totals->grouping_count]);
	return r;
}

/* Drops the one of two default groupings that is not needed, as soon as that is known. Requests
 * become rows when they end: an open one has no place in the second grouping. */
static void drop_other(struct totals *totals, bool is_end)
{
	struct grouping *first = &totals->groupings[0], *second = &totals->groupings[1];

	if (!totals->is_by_default || totals->grouping_count < 2 || !second->is_by_request)
		return;
	if (first->group_count > 0 && totals->keeps_one) {
		grouping_deinit(second);
		totals->grouping_count = 1;
	} else if (first->group_count == 0 && is_end && second->group_count > 0) {
		grouping_deinit(first);
		*first = *second;
		totals->grouping_count = 1;
	}
}

static int settle_in(struct grouping *grouping, struct request *request, struct group **place)
{
	const struct record_text endpoint = { request->endpoint, request->endpoint_bytes };

	if (grouping->is_by_request)
		return grouping_settle_request(grouping, request_id(request), &request->costs,
					       endpoint, place);
	return grouping_settle(grouping, *place, &request->costs);
}

static int settle(void *context, struct selection_request *ended)
{
	struct totals *totals = context;
	struct request *request = (struct request *)ended;
	const struct totals_listener *listener = totals->listener;
	int r = listener && listener->settle ? listener->settle(listener->context, request) : 0;

	if (r < 0 || request->costs.record_count == 0)
		return r;
	totals->inherited_requests += request->is_inherited;
	for (size_t i = 0; i < totals->grouping_count && r == 0; i++)
		r = settle_in(&totals->groupings[i], request, &request->groups[i]);
	if (r == 0 && totals->groupings[0].above_percent > 0 && request->groups[0])
		request->groups[0]->of = request->groups[1];
	return r;
}

static int group_in(struct totals *totals, const struct selection_record *taken,
		    const struct costs *costs, size_t index)
{
	struct request *request = (struct request *)taken->request;
	struct grouping *grouping = &totals->groupings[index];
	struct record_text endpoint = { 0 };

	if (!request || !grouping->is_by_request)
		return grouping_add(grouping, taken, costs,
				    request ? &request->groups[index] : NULL);
	/* It gets a row of its own when it ends. */
	(void)record_view_text(taken->view, "endpoint", &endpoint);
	request_set_endpoint(request, endpoint);
	return 0;
}

static int group(struct totals *totals, const struct selection_record *taken,
		 const struct costs *costs, bool is_attributed)
{
	int r = 0;

	for (size_t i = 0; i < totals->grouping_count && r == 0; i++)
		if (is_attributed || totals->groupings[i].has_all_time)
			r = group_in(totals, taken, costs, i);
	return r;
}

static int add_wanted(struct totals *totals, const struct selection_record *taken,
		      const struct costs *costs)
{
	struct request *request = (struct request *)taken->request;
	struct costs *sum = find_sum(totals, taken->attribution);
	bool is_inherited = taken->attribution == ATTRIBUTION_INHERITED;
	int r;

	costs_add(&totals->all, costs);
	if (sum)
		costs_add(sum, costs);
	if (is_inherited)
		costs_add(&totals->inherited, costs);
	r = group(totals, taken, costs, !sum);
	if (r == 0 && sum == &totals->unattributed)
		r = grouping_add(&totals->unattributed_threads, taken, costs, NULL);
	if (r == 0 && request) {
		costs_add(&request->costs, costs);
		request->is_inherited |= is_inherited;
	}
	return r;
}

static int take(void *context, const struct selection_record *taken)
{
	struct totals *totals = context;
	const struct totals_listener *listener = totals->listener;
	struct costs costs;
	int r = 0;

	if (taken->view->kind == RECORD_KIND_CPU) {
		costs = costs_of_record(taken->view);
		costs_add(&totals->observed, &costs);
		if (taken->is_wanted)
			r = add_wanted(totals, taken, &costs);
		if (r == 0 && taken->is_wanted && listener && listener->charge)
			r = listener->charge(listener->context, taken, &costs);
	}
	return r == 0 && listener ? listener->take(listener->context, taken) : r;
}

/* May reject a balance record. */
static int add_other(void *context, const struct record_view *record)
{
	struct totals *totals = context;
	const struct totals_listener *listener = totals->listener;
	int r = 0;

	if (record->kind == RECORD_KIND_BALANCE)
		r = books_add_balance(&totals->books, record);
	else if (record->kind == RECORD_KIND_GAP)
		books_add_gap(&totals->books, record);
	else if (record->kind == RECORD_KIND_SELF)
		self_cost_add(&totals->self_cost, record);
	return r == 0 && listener ? listener->other(listener->context, record) : r;
}

/* Returns 0, -ENOMEM. */
static int ask_for_keys(struct totals *totals)
{
	int r = 0;

	for (size_t i = 0; i < totals->grouping_count && r == 0; i++) {
		/* Rows of requests show their endpoint. */
		if (totals->groupings[i].is_by_request &&
		    recording_may_have_key(&totals->selection.recording, "endpoint"))
			r = selection_ask(&totals->selection, "endpoint");
		for (size_t key = 0; key < totals->groupings[i].key_count && r == 0; key++)
			r = selection_ask(&totals->selection, totals->groupings[i].keys[key]);
	}
	totals->is_asked = true;
	totals->asked_key_count = totals->selection.recording.key_count;
	return r;
}

static int prepare(void *context)
{
	struct totals *totals = context;
	bool followed_keys = totals->follows_keys;
	int r = choose_keys(totals);

	if (r == 0 && (!totals->is_asked || followed_keys != totals->follows_keys ||
		       totals->asked_key_count != totals->selection.recording.key_count))
		r = ask_for_keys(totals);
	return r;
}

static struct selection_consumer consumer_of(struct totals *totals)
{
	return (struct selection_consumer){ .other = add_other,
					    .prepare = prepare,
					    .take = take,
					    .end = settle,
					    .context = totals };
}

int totals_settle(struct totals *totals, size_t open_max)
{
	const struct selection_consumer consumer = consumer_of(totals);
	int r = selection_settle(&totals->selection, &consumer, open_max);

	drop_other(totals, false);
	return r;
}

int totals_add(struct totals *totals, const struct record_view *record)
{
	const struct selection_consumer consumer = consumer_of(totals);
	int r = selection_add(&totals->selection, &consumer, record);

	drop_other(totals, false);
	return r;
}

/* No record of unattributed time means that it is 0, but only in columns that others measured. */
int totals_finish(struct totals *totals)
{
	int r = totals_settle(totals, 0);

	self_cost_finish(&totals->self_cost);
	if (totals->all.record_count == 0)
		totals->all.missing = UINT32_MAX;
	if (totals->observed.record_count == 0)
		totals->observed.missing = UINT32_MAX;
	if (totals->unattributed.record_count == 0)
		totals->unattributed.missing = totals->all.missing;
	if (totals->overflow.record_count == 0)
		totals->overflow.missing = totals->all.missing;
	if (r == 0)
		drop_other(totals, true);
	return r;
}

bool totals_cpu_percent(const struct totals *totals, const struct costs *costs, double *ret_percent)
{
	uint64_t duration_ns = recording_duration_ns(&totals->selection.recording);

	if (!costs_has(costs, COST_CPU) || duration_ns == 0)
		return false;
	*ret_percent = 100.0 * (double)costs->sums[COST_CPU] / (double)duration_ns;
	return true;
}

bool totals_machine_percent(const struct totals *totals, const struct costs *costs,
			    double *ret_percent)
{
	double percent;

	if (totals->selection.recording.cpu_count == 0 ||
	    totals->selection.recording.has_several_hosts ||
	    !totals_cpu_percent(totals, costs, &percent))
		return false;
	*ret_percent = percent / (double)totals->selection.recording.cpu_count;
	return true;
}

static bool is_cpu_of(const struct costs *costs, int64_t cpu_ns)
{
	if (costs->record_count == 0)
		return cpu_ns == 0;
	return costs_has(costs, COST_CPU) && costs->sums[COST_CPU] == cpu_ns;
}

bool totals_match_books(const struct totals *totals)
{
	const struct books *books = &totals->books;

	return books->balance_count == 0 || totals->selection.filter.condition_count > 0 ||
	       (is_cpu_of(&totals->all, books_charged_ns(books)) &&
		is_cpu_of(&totals->unattributed, books->unattributed_ns) &&
		is_cpu_of(&totals->overflow, books->overflow_ns));
}
