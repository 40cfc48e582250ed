/* SPDX-License-Identifier: GPL-2.0-only */
#include "report/totals.h"

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
	recording_init(&totals->recording);
	known_records_init(&totals->known);
	requests_init(&totals->requests);
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
	recording_deinit(&totals->recording);
	known_records_deinit(&totals->known);
	requests_deinit(&totals->requests);
	filter_deinit(&totals->filter);
	*totals = (struct totals){ 0 };
}

enum totals_part totals_part_of(enum attribution attribution)
{
	if (attribution == ATTRIBUTION_OVERFLOW)
		return TOTALS_PART_OVERFLOW;
	return attribution_has_context(attribution) ? TOTALS_PART_ATTRIBUTED
						    : TOTALS_PART_UNATTRIBUTED;
}

/* Whose a record is: of a context that is known, NULL, or a sum of what is not told apart. */
static struct costs *find_sum(struct totals *totals, enum attribution attribution)
{
	enum totals_part part = totals_part_of(attribution);

	if (part == TOTALS_PART_OVERFLOW)
		return &totals->overflow;
	return part == TOTALS_PART_ATTRIBUTED ? NULL : &totals->unattributed;
}

/* Of a recording's keys the default ones; in place of a request_id that is none, the first other.
 */
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

/* Once, when a key is known, and before anything is grouped by one. 0, -ENOMEM. */
static int choose_keys(struct totals *totals)
{
	const char *keys[TOTALS_GROUPINGS_MAX];
	size_t count;
	int r = 0;

	if (!totals->follows_keys || totals->recording.key_count == 0)
		return 0;
	totals->follows_keys = false;
	count = default_keys_of(&totals->recording, keys);
	while (totals->grouping_count > count)
		grouping_deinit(&totals->groupings[--totals->grouping_count]);
	for (size_t i = 0; i < totals->grouping_count && r == 0; i++)
		r = grouping_rename(&totals->groupings[i], keys[i]);
	/* There is no group yet. */
	if (r == 0 && totals->keeps_one && totals->grouping_count > 1 &&
	    !totals->groupings[1].is_by_request)
		grouping_deinit(&totals->groupings[--totals->grouping_count]);
	return r;
}

/* Of two by default: what is not needed, as soon as that is known. Of requests, which are rows when
 * they have ended, none that is open has a place in the second. */
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

static int settle_in(struct grouping *grouping, struct request *request, struct group **place,
		     struct held **held)
{
	const struct record_text endpoint = { request->endpoint, request->endpoint_bytes };

	if (grouping->is_by_request)
		return grouping_settle_request(grouping, open_request_id(&request->open),
					       &request->costs, endpoint, place);
	return grouping_settle(grouping, *place, &request->costs, held);
}

static int settle(struct totals *totals, struct request *request)
{
	int r = totals->listener ? totals->listener->settle(totals->listener->context, request) : 0;

	if (r < 0 || request->verdict != FILTER_YES)
		return r;
	totals->inherited_requests += request->is_inherited;
	for (size_t i = 0; i < totals->grouping_count && r == 0; i++)
		r = settle_in(&totals->groupings[i], request, &request->groups[i],
			      &request->held[i]);
	if (r == 0 && totals->groupings[0].above_percent > 0 && request->groups[0])
		request->groups[0]->of = request->groups[1];
	return r;
}

int totals_settle(struct totals *totals, size_t open_max)
{
	struct request *request;
	int r = 0;

	while (r == 0 && (request = requests_take(&totals->requests, open_max))) {
		r = settle(totals, request);
		request_free(request);
	}
	drop_other(totals, false);
	return r;
}

/* Whose a record is of what was recorded: its process's name, and its request (NULL: of none). */
struct owner {
	struct record_text comm;
	struct request *request;
};

static int group_in(struct grouping *grouping, const struct record_view *record,
		    const struct costs *costs, const struct owner *owner, size_t index)
{
	struct request *request = owner->request;
	struct record_text endpoint = { 0 };

	if (!request)
		return grouping_add(grouping, record, costs, owner->comm, NULL, NULL, NULL);
	if (!grouping->is_by_request)
		return grouping_add(grouping, record, costs, owner->comm, &request->groups[index],
				    &request->costs, &request->held[index]);
	/* A row of its own when it has ended. */
	(void)record_view_text(record, "endpoint", &endpoint);
	request_set_endpoint(request, endpoint);
	return 0;
}

static int group(struct totals *totals, const struct record_view *record, const struct costs *costs,
		 bool is_attributed, const struct owner *owner)
{
	int r = 0;

	for (size_t i = 0; i < totals->grouping_count && r == 0; i++)
		if (is_attributed || totals->groupings[i].has_all_time)
			r = group_in(&totals->groupings[i], record, costs, owner, i);
	return r;
}

/* What was held back of a request until it was known that it is wanted. */
static int add_held(struct totals *totals, const struct record_view *record,
		    const struct owner *owner)
{
	struct request *request = owner->request;
	int r = 0;

	costs_add(&totals->all, &request->costs);
	for (size_t i = 0; i < totals->grouping_count && r == 0; i++) {
		struct grouping *grouping = &totals->groupings[i];

		if (grouping->part_count > 1)
			r = grouping_hold(grouping, record, owner->comm, &request->costs,
					  &request->held[i]);
		else if (grouping->has_all_time)
			costs_add(&grouping->without_value, &request->costs);
	}
	return r;
}

/* Whether the record is wanted; UNKNOWN: its request will tell. -ENOMEM. */
static int judge(struct totals *totals, const struct record_view *record, const struct owner *owner)
{
	struct request *request = owner->request;
	enum filter_verdict verdict = filter_judge(&totals->filter, record, owner->comm);
	int r = 0;

	if (!request)
		return verdict == FILTER_YES ? FILTER_YES : FILTER_NO;
	if (verdict == FILTER_UNKNOWN)
		return request->verdict;
	if (verdict == FILTER_YES && request->verdict == FILTER_UNKNOWN &&
	    request->costs.record_count > 0)
		r = add_held(totals, record, owner);
	/* Of a request that is wanted, a record may be left out. */
	if (request->verdict != FILTER_YES)
		request->verdict = verdict;
	return r < 0 ? r : (int)verdict;
}

static int add_wanted(struct totals *totals, const struct record_view *record,
		      const struct owner *owner, enum attribution attribution,
		      const struct costs *costs)
{
	struct request *request = owner->request;
	struct costs *sum = find_sum(totals, attribution);
	bool is_inherited = attribution == ATTRIBUTION_INHERITED;
	int r;

	costs_add(&totals->all, costs);
	if (sum)
		costs_add(sum, costs);
	if (is_inherited)
		costs_add(&totals->inherited, costs);
	r = group(totals, record, costs, !sum, owner);
	if (r == 0 && sum == &totals->unattributed)
		r = grouping_add(&totals->unattributed_threads, record, costs,
				 (struct record_text){ 0 }, NULL, NULL, NULL);
	if (r == 0 && request) {
		costs_add(&request->costs, costs);
		request->is_inherited |= is_inherited;
	}
	return r;
}

static int tell_charge(const struct totals *totals, const struct record_view *record,
		       enum attribution attribution, const struct request *request,
		       const struct costs *costs)
{
	const struct totals_listener *listener = totals->listener;

	return listener ? listener->charge(listener->context, record, totals_part_of(attribution),
					   request, costs)
			: 0;
}

static int add_cpu(struct totals *totals, const struct record_view *record)
{
	enum attribution attribution = attribution_of(record);
	const struct costs *sum = find_sum(totals, attribution);
	struct costs costs = costs_of_record(record);
	struct owner owner = { .comm = recording_comm(&totals->recording, record) };
	int r = choose_keys(totals), verdict;

	costs_add(&totals->observed, &costs);
	if (r == 0 && !sum)
		r = requests_touch(&totals->requests, record, &owner.request);
	if (r < 0)
		return r;
	verdict = judge(totals, record, &owner);
	if (verdict < 0)
		return verdict;
	if (verdict == FILTER_YES)
		r = add_wanted(totals, record, &owner, attribution, &costs);
	if (verdict == FILTER_UNKNOWN)
		costs_add(&owner.request->costs, &costs);
	if (r == 0 && verdict != FILTER_NO)
		r = tell_charge(totals, record, attribution, owner.request, &costs);
	return r < 0 ? r : totals_settle(totals, REQUESTS_OPEN_MAX);
}

static bool has_window(const struct record_view *record)
{
	return record->kind != RECORD_KIND_META && record->kind != RECORD_KIND_PROCESS &&
	       record->kind != RECORD_KIND_STACK;
}

int totals_add(struct totals *totals, const struct record_view *record)
{
	bool is_in_time = filter_is_in_time(&totals->filter, record);
	int r = 0;

	if (known_records_has(&totals->known, record)) {
		totals->double_records++;
		return 0;
	}
	if (!is_in_time && has_window(record))
		return 0;
	/* First, because it may be refused. */
	if (record->kind == RECORD_KIND_BALANCE)
		r = books_add_balance(&totals->books, record);
	if (r == 0)
		r = known_records_add(&totals->known, record);
	if (r == 0)
		r = recording_add(&totals->recording, record);
	if (r == 0 && totals->listener)
		r = totals->listener->take(totals->listener->context, record);
	if (r < 0)
		return r;
	if (record->kind == RECORD_KIND_CPU)
		return add_cpu(totals, record);
	if (record->kind == RECORD_KIND_GAP)
		books_add_gap(&totals->books, record);
	if (record->kind == RECORD_KIND_SELF)
		own_cost_add(&totals->own_cost, record);
	return 0;
}

/* No record of unattributed time means 0 of it, but only in columns that others measured. */
int totals_finish(struct totals *totals)
{
	int r;

	own_cost_finish(&totals->own_cost);
	if (totals->all.record_count == 0)
		totals->all.missing = UINT32_MAX;
	if (totals->observed.record_count == 0)
		totals->observed.missing = UINT32_MAX;
	if (totals->unattributed.record_count == 0)
		totals->unattributed.missing = totals->all.missing;
	if (totals->overflow.record_count == 0)
		totals->overflow.missing = totals->all.missing;
	r = totals_settle(totals, 0);
	if (r == 0)
		drop_other(totals, true);
	return r;
}

bool totals_cpu_percent(const struct totals *totals, const struct costs *costs, double *ret_percent)
{
	uint64_t duration_ns = recording_duration_ns(&totals->recording);

	if (!costs_has(costs, COST_CPU) || duration_ns == 0)
		return false;
	*ret_percent = 100.0 * (double)costs->sums[COST_CPU] / (double)duration_ns;
	return true;
}

bool totals_machine_percent(const struct totals *totals, const struct costs *costs,
			    double *ret_percent)
{
	double percent;

	if (totals->recording.cpu_count == 0 || totals->recording.has_several_hosts ||
	    !totals_cpu_percent(totals, costs, &percent))
		return false;
	*ret_percent = percent / (double)totals->recording.cpu_count;
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

	return books->balance_count == 0 || totals->filter.condition_count > 0 ||
	       (is_cpu_of(&totals->all, books_charged_ns(books)) &&
		is_cpu_of(&totals->unattributed, books->unattributed_ns) &&
		is_cpu_of(&totals->overflow, books->overflow_ns));
}
