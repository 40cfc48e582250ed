/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/stacks.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/random.h"
#include "figures/costs.h"
#include "reader/aggregate/peers.h"
#include "reader/profile/stacks_spread.h"
#include "reader/query/record_context.h"

struct stacks_request {
	struct selection_request selection;
	struct stacks_context *first; /* first part; NULL: none is wanted, or none fit */
};

void stacks_init(struct stacks *stacks, enum stacks_measure measure, struct filter *filter)
{
	*stacks = (struct stacks){ .measure = measure, .seed = random_seed() };
	selection_init(&stacks->selection, sizeof(struct stacks_request));
	selection_take_filter(&stacks->selection, filter);
	stacks->selection.lends_all = true;
	frames_init(&stacks->frames);
}

static void free_context(struct stacks_context *context)
{
	if (context)
		free(context->labels);
	free(context);
}

static void free_contexts(struct stacks_context *contexts)
{
	struct stacks_context *context, *next;

	HASH_ITER(hh, contexts, context, next) {
		HASH_DELETE(hh, contexts, context);
		free_context(context);
	}
}

void stacks_deinit(struct stacks *stacks)
{
	struct stacks_place *place, *next_place;

	HASH_ITER(hh, stacks->places, place, next_place) {
		HASH_DELETE(hh, stacks->places, place);
		free(place);
	}
	free_contexts(stacks->contexts);
	free_contexts(stacks->lenders);
	free_context(stacks->rest);
	frames_deinit(&stacks->frames);
	selection_deinit(&stacks->selection);
}

/* Adds a part to a request. */
static void join(struct stacks_request *request, struct stacks_context *context)
{
	if (!request->first)
		request->first = context;
	context->request = request->first;
	if (context != request->first) {
		context->next_part = request->first->next_part;
		request->first->next_part = context;
	}
}

static struct stacks_context **table_of(struct stacks *stacks, const struct selection_record *taken)
{
	return taken->is_wanted ? &stacks->contexts : &stacks->lenders;
}

static int new_context(struct stacks *stacks, const struct selection_record *taken, const char *id,
		       size_t size_bytes, struct stacks_context **ret_context)
{
	struct stacks_context **table = table_of(stacks, taken), *context;

	if (!taken->is_wanted && HASH_COUNT(*table) >= STACKS_CONTEXTS_MAX)
		return 0;
	context = calloc(1, sizeof(*context) + size_bytes);
	if (!context)
		return -ENOMEM;
	context->attribution = taken->attribution;
	context->is_wanted = taken->is_wanted;
	memcpy(context->id, id, size_bytes);
	*ret_context = context;
	if (HASH_COUNT(*table) >= STACKS_CONTEXTS_MAX) {
		stacks->rest = context;
		return 0;
	}
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, *table, context->id, size_bytes,
				    hash_table_key(stacks->seed, id, size_bytes), context);
	if (!context->hh.tbl) {
		free(context);
		return -ENOMEM;
	}
	context->is_request = taken->request != NULL;
	if (taken->request && taken->is_wanted)
		join((struct stacks_request *)taken->request, context);
	return 0;
}

/* Finds or adds the record's context. If there is no room: stacks->rest, or NULL if it is not
 * wanted. 0, -ENOMEM. */
static int find_context(struct stacks *stacks, const struct selection_record *taken,
			struct stacks_context **ret_context)
{
	char id[RECORD_CONTEXT_ID_BYTES];
	bool is_request;
	size_t size_bytes =
		record_context_part_id(taken->view, taken->attribution, id, &is_request);
	unsigned int hash = hash_table_key(stacks->seed, id, size_bytes);

	HASH_FIND_BYHASHVALUE(hh, *table_of(stacks, taken), id, size_bytes, hash, *ret_context);
	if (!*ret_context && taken->is_wanted &&
	    HASH_COUNT(stacks->contexts) >= STACKS_CONTEXTS_MAX)
		*ret_context = stacks->rest;
	return *ret_context ? 0 : new_context(stacks, taken, id, size_bytes, ret_context);
}

static int set_label(struct stacks *stacks, struct stacks_context *context,
		     const struct record_field *field)
{
	const struct frames_text *key, *value;
	struct stacks_label *labels;
	size_t i;
	int r = frames_text(&stacks->frames, field->name, &key);

	if (r == 0)
		r = frames_text(&stacks->frames, field->text, &value);
	if (r < 0 || !key || !value)
		return r;
	for (i = 0; i < context->label_count && context->labels[i].key != key; i++)
		;
	if (i == STACKS_LABELS_MAX)
		return 0;
	if (i == context->label_count) {
		labels = realloc(context->labels, (i + 1) * sizeof(*labels));
		if (!labels)
			return -ENOMEM;
		context->labels = labels;
		context->label_count++;
	}
	context->labels[i] = (struct stacks_label){ key, value };
	return 0;
}

static int set_labels(struct stacks *stacks, struct stacks_context *context,
		      const struct record_view *record)
{
	int r = 0;

	for (size_t i = 0; i < record->field_count && r == 0; i++) {
		const struct record_field *field = &record->fields[i];

		if (field->is_key && field->text.size_bytes > 0 &&
		    (context->is_wanted || record_text_is(field->name, STACKS_POOL_KEY)))
			r = set_label(stacks, context, field);
	}
	return r;
}

static void add_spent(struct stacks *stacks, struct stacks_context *context,
		      const struct record_view *record)
{
	static const enum cost spent[][2] = { [STACKS_CPU] = { COST_CPU, _COST_MAX },
					      [STACKS_OFF_CPU] = { COST_BLOCKED, COST_RUN_QUEUE } };
	struct costs costs = costs_of_record(record);

	for (size_t i = 0; i < 2; i++) {
		enum cost cost = spent[stacks->measure][i];

		if (cost == _COST_MAX)
			continue;
		if (costs_has(&costs, cost))
			saturated_add_to(&context->spent_ns, costs.sums[cost]);
		else
			context->lacks_spent = true;
	}
	stacks->cpu_records_left_out += context == stacks->rest;
	if (record->wall_ns > context->window_ns)
		context->window_ns = record->wall_ns;
	if (costs.lacks_span) {
		context->lacks_span = true;
		return;
	}
	if (context->first_ns == 0 || costs.first_ns < context->first_ns)
		context->first_ns = costs.first_ns;
	if (costs.last_ns > context->last_ns)
		context->last_ns = costs.last_ns;
}

/* Finds or adds the context's place; NULL: there is no room. 0, -ENOMEM. */
static int find_place(struct stacks *stacks, struct stacks_context *context,
		      const struct stacks_place *wanted, struct stacks_place **ret_place)
{
	unsigned int hash = hash_table_key(stacks->seed, &wanted->where, sizeof(wanted->where));
	struct stacks_place *place;

	HASH_FIND_BYHASHVALUE(hh, stacks->places, &wanted->where, sizeof(wanted->where), hash,
			      place);
	*ret_place = place;
	if (place || HASH_COUNT(stacks->places) >= STACKS_PLACES_MAX ||
	    (!context->is_wanted && stacks->lender_places >= STACKS_PLACES_MAX / 2))
		return 0;
	place = malloc(sizeof(*place));
	if (!place)
		return -ENOMEM;
	*place = *wanted;
	HASH_ADD_BYHASHVALUE(hh, stacks->places, where, sizeof(place->where), hash, place);
	if (!place->hh.tbl) {
		free(place);
		return -ENOMEM;
	}
	place->next = context->places;
	context->places = place;
	stacks->lender_places += !context->is_wanted;
	*ret_place = place;
	return 0;
}

static bool weigh_samples(const struct record_view *record, uint64_t *ret_samples,
			  uint64_t *ret_stands_for_ns)
{
	int64_t samples, period_ns = 0;

	if (!record_view_count_at(record, RECORD_PLACE(sample, samples), &samples) || samples == 0)
		return false;
	(void)record_view_count_at(record, RECORD_PLACE(sample, period_ns), &period_ns);
	*ret_samples = (uint64_t)samples;
	if (__builtin_mul_overflow((uint64_t)samples, (uint64_t)(period_ns > 0 ? period_ns : 1),
				   ret_stands_for_ns))
		*ret_stands_for_ns = UINT64_MAX;
	return true;
}

/* The same for waits: one that began earlier and continues adds time, but is not counted. */
static bool weigh_wait(const struct record_view *record, uint64_t *ret_waits,
		       uint64_t *ret_spent_ns)
{
	int64_t waits_count = 0, blocked_ns = 0, run_queue_ns = 0;

	(void)record_view_count_at(record, RECORD_PLACE(sample, waits), &waits_count);
	(void)record_view_count_at(record, RECORD_PLACE(sample, blocked_ns), &blocked_ns);
	(void)record_view_count_at(record, RECORD_PLACE(sample, run_queue_ns), &run_queue_ns);
	*ret_waits = (uint64_t)waits_count;
	*ret_spent_ns = (uint64_t)blocked_ns + (uint64_t)run_queue_ns;
	return *ret_spent_ns > 0;
}

bool stacks_weigh(const struct record_view *record, enum stacks_measure measure,
		  uint64_t *ret_samples, uint64_t *ret_stands_for_ns)
{
	return measure == STACKS_CPU ? weigh_samples(record, ret_samples, ret_stands_for_ns)
				     : weigh_wait(record, ret_samples, ret_stands_for_ns);
}

static int add_sample(struct stacks *stacks, struct stacks_context *context,
		      const struct record_view *record)
{
	struct stacks_place wanted = { 0 }, *place = NULL;
	uint64_t samples, stands_for_ns;
	struct frame *frame = NULL;
	int r = 0;

	if (!stacks_weigh(record, stacks->measure, &samples, &stands_for_ns))
		return 0;
	(void)record_view_count_at(record, RECORD_PLACE(common, pid), &wanted.where.pid);
	(void)record_view_count_at(record, RECORD_PLACE(sample, tid), &wanted.where.tid);
	if (context != stacks->rest)
		r = frames_find_sampled(&stacks->frames, record, &frame);
	wanted.where.context = context;
	wanted.where.frame = frame;
	if (r == 0 && context != stacks->rest)
		r = find_place(stacks, context, &wanted, &place);
	if (r != 0)
		return r;
	if (!place) {
		stacks->samples_left_out += context->is_wanted ? samples : 0;
		return 0;
	}
	place->samples += samples;
	if (__builtin_add_overflow(place->stands_for_ns, stands_for_ns, &place->stands_for_ns))
		place->stands_for_ns = UINT64_MAX;
	context->samples += samples;
	return 0;
}

static int take(void *user, const struct selection_record *taken)
{
	bool is_cpu = taken->view->kind == RECORD_KIND_CPU;
	struct stacks_context *context;
	struct stacks *stacks = user;
	int r;

	if (!is_cpu && taken->view->kind != RECORD_KIND_SAMPLE)
		return 0;
	/* Waits are exact: none stands for others. */
	if (!taken->is_wanted && stacks->measure != STACKS_CPU)
		return 0;
	r = find_context(stacks, taken, &context);
	if (r < 0 || !context)
		return r;
	stacks->has_wanted |= is_cpu && taken->is_wanted;
	if (context != stacks->rest)
		r = set_labels(stacks, context, taken->view);
	if (r < 0 || !is_cpu)
		return r < 0 ? r : add_sample(stacks, context, taken->view);
	add_spent(stacks, context, taken->view);
	if (context->request)
		context->request->last_part = context;
	return 0;
}

/* Takes stack records from outside the selected span of time, too. */
static int other(void *user, const struct record_view *record)
{
	struct stacks *stacks = user;

	return record->kind == RECORD_KIND_STACK ? frames_add(&stacks->frames, record) : 0;
}

/* All keys seen so far are lent anyway (lends_all); the pool key is needed before it is seen. */
static int prepare(void *user)
{
	struct stacks *stacks = user;

	if (stacks->is_prepared ||
	    !recording_may_have_key(&stacks->selection.recording, STACKS_POOL_KEY))
		return 0;
	stacks->is_prepared = true;
	return selection_ask(&stacks->selection, STACKS_POOL_KEY);
}

static struct selection_consumer consumer_of(struct stacks *stacks)
{
	return (struct selection_consumer){
		.other = other, .prepare = prepare, .take = take, .context = stacks
	};
}

int stacks_add(struct stacks *stacks, const struct record_view *record)
{
	const struct selection_consumer consumer = consumer_of(stacks);

	return selection_add(&stacks->selection, &consumer, record);
}

/* Puts the context's time that no wait accounts for into an unknown stack. 0, -ENOMEM. */
static int add_untold(struct stacks *stacks, struct stacks_context *context)
{
	struct stacks_place wanted = { .where = { context, stacks->frames.unknown, 0, 0 } }, *place;
	uint64_t told_ns = 0;
	int r;

	for (place = context->places; place; place = place->next)
		if (__builtin_add_overflow(told_ns, place->stands_for_ns, &told_ns))
			told_ns = UINT64_MAX;
	if (!context->places || told_ns >= (uint64_t)context->spent_ns)
		return 0;
	r = find_place(stacks, context, &wanted, &place);
	if (r == 0 && place)
		place->stands_for_ns += (uint64_t)context->spent_ns - told_ns;
	return r;
}

static int finish_context(struct stacks *stacks, struct stacks_context *context)
{
	int r = 0;

	context->pool_key = stacks_value(context, STACKS_POOL_KEY);
	context->is_chosen = context->is_wanted;
	for (struct stacks_place *place = context->places; place; place = place->next)
		if (!place->where.frame)
			place->where.frame = stacks->frames.unknown;
	if (stacks->measure == STACKS_OFF_CPU)
		r = add_untold(stacks, context);
	return r;
}

static int finish_contexts(struct stacks *stacks, struct stacks_context *contexts)
{
	int r = 0;

	for (struct stacks_context *context = contexts; context && r == 0;
	     context = context->hh.next)
		r = finish_context(stacks, context);
	return r;
}

int stacks_finish(struct stacks *stacks)
{
	const struct selection_consumer consumer = consumer_of(stacks);
	int r = selection_settle(&stacks->selection, &consumer, 0);

	if (r == 0)
		r = frames_finish(&stacks->frames);
	if (r == 0)
		r = finish_contexts(stacks, stacks->contexts);
	if (r == 0)
		r = finish_contexts(stacks, stacks->lenders);
	if (r == 0 && stacks->rest)
		r = finish_context(stacks, stacks->rest);
	return r == 0 ? stacks_spread(stacks) : r;
}

bool stacks_is_counted(const struct stacks_context *context)
{
	return context->is_request && context->request == context && context->last_part;
}

const struct frame *stacks_shown_frame(enum stacks_measure measure, const struct frame *innermost)
{
	if (measure == STACKS_OFF_CPU)
		while (innermost->kind == FRAME_KIND_KERNEL && innermost->parent)
			innermost = innermost->parent;
	return innermost;
}

const char *stacks_nowhere_name(const struct stacks *stacks)
{
	return stacks->measure == STACKS_CPU ? "[not sampled]" : "[in no stack]";
}

const struct frames_text *stacks_value(const struct stacks_context *context, const char *key)
{
	for (size_t i = 0; i < context->label_count; i++)
		if (strcmp(context->labels[i].key->bytes, key) == 0)
			return context->labels[i].value;
	return NULL;
}

int64_t stacks_unsampled_ns(const struct stacks_context *context)
{
	return context->is_chosen && !context->is_spread ? context->spent_ns : 0;
}

/* The contexts, then stacks->rest, then the lenders. */
static const struct stacks_context *next_context(const struct stacks *stacks,
						 const struct stacks_context *cursor)
{
	if (cursor == stacks->rest && cursor)
		return stacks->lenders;
	if (cursor && (cursor->hh.next || !cursor->is_wanted))
		return cursor->hh.next;
	if (!cursor && stacks->contexts)
		return stacks->contexts;
	return stacks->rest ? stacks->rest : stacks->lenders;
}

const struct stacks_context *stacks_next(const struct stacks *stacks,
					 const struct stacks_context *cursor)
{
	do
		cursor = next_context(stacks, cursor);
	while (cursor && !stacks_is_shown(cursor));
	return cursor;
}

/* The request's CPU or wall time over all its parts; -1: missing in some record. */
static int64_t measure_request(const struct stacks_context *request, bool by_cpu)
{
	int64_t spent_ns = 0, first_ns = request->first_ns, last_ns = request->last_ns;

	for (const struct stacks_context *part = request; part; part = part->next_part) {
		if (by_cpu ? part->lacks_spent : part->lacks_span)
			return -1;
		saturated_add_to(&spent_ns, part->spent_ns);
		if (part->first_ns > 0 && (first_ns == 0 || part->first_ns < first_ns))
			first_ns = part->first_ns;
		if (part->last_ns > last_ns)
			last_ns = part->last_ns;
	}
	return by_cpu ? spent_ns : last_ns - first_ns;
}

/* Gathers the requests, and those to compare, and marks all contexts as not chosen. Each array has
 * room for every context. Returns the number to compare. */
static size_t gather_requests(struct stacks *stacks, const struct stacks_slowest *slowest,
			      struct stacks_context **ret_requests, struct peer *ret_peers)
{
	struct stacks_context *context, *next;
	size_t request_count = 0, count = 0;

	HASH_ITER(hh, stacks->contexts, context, next) {
		if (context->is_chosen && stacks_is_counted(context)) {
			ret_requests[request_count] = context; /* its first part */
			ret_peers[count] = (struct peer){
				.endpoint = stacks_value(context->last_part, STACKS_POOL_KEY),
				.number = measure_request(context, slowest->by_cpu),
				.index = request_count++,
			};
			/* A request whose figure is not known ranks below all others, and is left
			 * out of percentiles. */
			count += slowest->count > 0 || ret_peers[count].number >= 0;
		}
		context->is_chosen = false;
	}
	if (stacks->rest)
		stacks->rest->is_chosen = false;
	return count;
}

int stacks_keep_slowest(struct stacks *stacks, const struct stacks_slowest *slowest)
{
	size_t room = HASH_COUNT(stacks->contexts) + 1, count;
	_cleanup_free_ struct stacks_context **requests =
		calloc(room, sizeof(struct stacks_context *));
	_cleanup_free_ struct peer *peers = calloc(room, sizeof(*peers));
	_cleanup_free_ bool *is_kept = calloc(room, sizeof(*is_kept));

	if (!requests || !peers || !is_kept)
		return -ENOMEM;
	count = gather_requests(stacks, slowest, requests, peers);
	if (slowest->count > 0)
		peers_mark_most(peers, count, slowest->count, is_kept);
	else
		peers_mark_above(peers, count, slowest->percent, is_kept);
	for (size_t i = 0; requests[i]; i++)
		for (struct stacks_context *part = requests[i]; part; part = part->next_part)
			part->is_chosen = is_kept[i];
	return stacks_spread(stacks);
}

struct stacks_part stacks_part(const struct stacks_place *place, enum stacks_whose whose)
{
	bool has_samples = (whose == STACKS_OWN) == place->where.context->is_chosen;

	return (struct stacks_part){ whose == STACKS_OWN ? place->own_ns
							 : place->spent_ns - place->own_ns,
				     has_samples ? place->samples : 0 };
}

bool stacks_label_is_of(const struct stacks_label *label, enum stacks_whose whose)
{
	return whose == STACKS_OWN || strcmp(label->key->bytes, STACKS_POOL_KEY) == 0;
}

double stacks_error(const struct stacks_sums *sums, double share)
{
	double count = 0, middle;

	if (sums->squares > 0)
		count = (double)sums->sampled_ns * (double)sums->sampled_ns / sums->squares;
	if (count <= 0)
		return 1;
	middle = (share * count + 2) / (count + 4);
	return sqrt(middle * (1 - middle) / (count + 4));
}
