/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/stacks_spread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare.h"

struct member {
	struct stacks_context *context;
	int kind; /* -1: a request; else its attribution */
};

/* The contexts of one kind and endpoint, by window. */
struct pool {
	const struct member *members;
	size_t count;
	int64_t long_ns; /* least CPU of a long context */
	struct stacks_place **places; /* room for those of all members */
};

static int compare_ids(const struct stacks_context *first, const struct stacks_context *second)
{
	unsigned int least =
		first->hh.keylen < second->hh.keylen ? first->hh.keylen : second->hh.keylen;
	int order = memcmp(first->id, second->id, least);

	return order ? order : compare_u64(first->hh.keylen, second->hh.keylen);
}

/* A total order that does not depend on the order of the records. */
static int compare_places(const void *a, const void *b)
{
	const struct stacks_where *first = &(*(const struct stacks_place *const *)a)->where;
	const struct stacks_where *second = &(*(const struct stacks_place *const *)b)->where;
	int order = compare_u64(first->frame->number, second->frame->number);

	if (order == 0)
		order = compare_i64(first->pid, second->pid);
	if (order == 0)
		order = compare_i64(first->tid, second->tid);
	return order ? order : compare_ids(first->context, second->context);
}

static size_t count_places(const struct stacks_context *context)
{
	const struct stacks_place *place;
	size_t count = 0;

	for (place = context->places; place; place = place->next)
		count++;
	return count;
}

static size_t put_places(const struct stacks_context *context, struct stacks_place **places)
{
	size_t count = 0;

	for (struct stacks_place *place = context->places; place; place = place->next)
		places[count++] = place;
	return count;
}

enum part {
	PART_OWN, /* the context's own CPU */
	PART_SPENT,
};

static void add_part(struct stacks_place *place, enum part part, int64_t part_ns)
{
	saturated_add_to(part == PART_OWN ? &place->own_ns : &place->spent_ns, part_ns);
}

/* Each place gets the cumulative share up to and including it, less that of the places before it:
 * no nanosecond is lost, and no part is off by more than one. */
static void distribute(struct stacks_place **places, size_t count, int64_t sum_ns, enum part part)
{
	unsigned __int128 all = 0, before = 0;
	int64_t given_ns = 0, until_ns;

	for (size_t i = 0; i < count; i++)
		all += places[i]->stands_for_ns;
	for (size_t i = 0; i < count; i++) {
		before += places[i]->stands_for_ns;
		/* 63 bits times 64 fit in 127; only forged samples exceed 64 bits. */
		until_ns = before >> 64 ? (int64_t)((long double)sum_ns *
						    ((long double)before / (long double)all))
					: (int64_t)((unsigned __int128)sum_ns * before / all);
		if (before == all)
			until_ns = sum_ns;
		add_part(places[i], part, until_ns - given_ns);
		given_ns = until_ns;
	}
}

/* Computes own_ns of the places of a chosen context, and sorts them. */
static int spread_own(struct stacks_context *context)
{
	size_t count = count_places(context);
	_cleanup_free_ struct stacks_place **places =
		malloc((count + 1) * sizeof(struct stacks_place *));
	struct stacks_place **link = &context->places;

	if (!places)
		return -ENOMEM;
	(void)put_places(context, places);
	qsort(places, count, sizeof(struct stacks_place *), compare_places);
	for (size_t i = 0; i < count; i++) {
		*link = places[i];
		link = &places[i]->next;
		places[i]->own_ns = places[i]->spent_ns = 0;
	}
	*link = NULL;
	if (context->is_chosen)
		distribute(places, count, context->spent_ns, PART_OWN);
	return 0;
}

static void take_own(struct stacks_context *context)
{
	for (struct stacks_place *place = context->places; place; place = place->next)
		place->spent_ns = place->own_ns;
	context->is_spread = true;
}

static bool is_long(const struct pool *pool, const struct stacks_context *context)
{
	return context->places && context->spent_ns >= pool->long_ns;
}

/* A short context with time that is not spread yet. */
static bool is_waiting(const struct pool *pool, const struct stacks_context *context)
{
	return context->is_chosen && !context->is_spread && !is_long(pool, context);
}

/* Some of the pool's contexts, in a row. */
struct circle {
	const struct member *members;
	size_t count;
};

enum lenders {
	LENDERS_CHOSEN, /* short ones */
	LENDERS_SHORT, /* chosen or not */
	LENDERS_LONG,
};

static bool lends(const struct pool *pool, const struct stacks_context *context,
		  enum lenders lenders)
{
	if (is_long(pool, context))
		return lenders == LENDERS_LONG;
	return lenders == LENDERS_SHORT || (lenders == LENDERS_CHOSEN && context->is_chosen);
}

/* The lenders of a circle; their places are pool->places. */
struct loan {
	size_t place_count;
	int64_t spent_ns; /* what the lenders used */
	bool has_others; /* not all of those with places are chosen */
};

static struct loan find_lenders(const struct pool *pool, const struct circle *circle,
				enum lenders lenders)
{
	struct loan loan = { 0 };

	for (size_t i = 0; i < circle->count; i++) {
		const struct stacks_context *context = circle->members[i].context;

		if (!lends(pool, context, lenders))
			continue;
		saturated_add_to(&loan.spent_ns, context->spent_ns);
		loan.place_count += put_places(context, pool->places + loan.place_count);
		loan.has_others |= context->places && !context->is_chosen;
	}
	return loan;
}

/* Sums up the circle's waiting contexts. *ret_only: NULL unless it is a single one. Returns how
 * many these are. */
static size_t sum_up_waiting(const struct pool *pool, const struct circle *circle,
			     int64_t *ret_spent_ns, const struct stacks_context **ret_only)
{
	size_t count = 0;

	*ret_spent_ns = 0;
	*ret_only = NULL;
	for (size_t i = 0; i < circle->count; i++)
		if (is_waiting(pool, circle->members[i].context)) {
			saturated_add_to(ret_spent_ns, circle->members[i].context->spent_ns);
			*ret_only = count++ == 0 ? circle->members[i].context : NULL;
		}
	return count;
}

/* Spreads the time of the circle's waiting contexts over the samples of its lenders, if there are
 * samples, and these used at least least_ns. */
static void borrow(const struct pool *pool, const struct circle *circle, enum lenders lenders,
		   enum stacks_source source, int64_t least_ns)
{
	const struct stacks_context *only;
	struct loan loan;
	int64_t waiting_ns;

	if (sum_up_waiting(pool, circle, &waiting_ns, &only) == 0)
		return;
	loan = find_lenders(pool, circle, lenders);
	if (loan.place_count == 0 || loan.spent_ns < least_ns)
		return;
	if (only && loan.place_count == count_places(only))
		source = STACKS_SOURCE_OWN;
	else if (!loan.has_others)
		source = STACKS_SOURCE_CHOSEN;
	qsort(pool->places, loan.place_count, sizeof(struct stacks_place *), compare_places);
	distribute(pool->places, loan.place_count, waiting_ns, PART_SPENT);
	for (size_t i = 0; i < circle->count; i++) {
		struct stacks_context *context = circle->members[i].context;

		context->is_lending |= lends(pool, context, lenders);
		if (is_waiting(pool, context)) {
			context->is_spread = true;
			context->source = source;
		}
	}
}

static void borrow_in_windows(const struct pool *pool)
{
	struct circle circle = { pool->members, 0 };

	for (size_t begin = 0; begin < pool->count; begin += circle.count) {
		circle.members = pool->members + begin;
		for (circle.count = 1; begin + circle.count < pool->count &&
				       circle.members[circle.count].context->window_ns ==
					       circle.members[0].context->window_ns;
		     circle.count++)
			;
		borrow(pool, &circle, LENDERS_SHORT, STACKS_SOURCE_WINDOW, pool->long_ns);
	}
}

/* Caps own_ns: a place holds no more of its context's time than spent_ns. */
static void bound_own(struct stacks_context *context)
{
	for (struct stacks_place *place = context->places; place; place = place->next)
		if (place->own_ns > place->spent_ns)
			place->own_ns = place->spent_ns;
}

static int spread_pool(const struct pool *pool)
{
	const struct circle all = { pool->members, pool->count };
	int r = 0;

	for (size_t i = 0; i < pool->count && r == 0; i++) {
		struct stacks_context *context = pool->members[i].context;

		r = spread_own(context);
		if (context->is_chosen && is_long(pool, context))
			take_own(context);
	}
	if (r < 0)
		return r;
	borrow(pool, &all, LENDERS_CHOSEN, STACKS_SOURCE_CHOSEN, pool->long_ns);
	borrow_in_windows(pool);
	borrow(pool, &all, LENDERS_SHORT, STACKS_SOURCE_RECORDING, 0);
	borrow(pool, &all, LENDERS_LONG, STACKS_SOURCE_RECORDING, 0);
	for (size_t i = 0; i < pool->count; i++)
		bound_own(pool->members[i].context);
	return 0;
}

static void add_chosen(struct stacks_sums *sums, const struct stacks_context *context)
{
	bool has_any = context->places || context->spent_ns > 0;

	saturated_add_to(&sums->spent_ns, context->spent_ns);
	if (!context->is_spread) {
		saturated_add_to(&sums->unsampled_ns, context->spent_ns);
		sums->unsampled_contexts += context->spent_ns > 0;
		return;
	}
	saturated_add_to(&sums->sampled_ns, context->spent_ns);
	sums->sampled_contexts += has_any;
	if (context->source != STACKS_SOURCE_OWN) {
		saturated_add_to(&sums->pooled_ns[context->source], context->spent_ns);
		sums->pooled_contexts[context->source] += has_any;
	}
}

static void add_to_sums(struct stacks_sums *sums, const struct stacks_context *context)
{
	if (context->is_chosen)
		add_chosen(sums, context);
	if (!stacks_is_shown(context))
		return;
	sums->samples += context->samples;
	for (const struct stacks_place *place = context->places; place; place = place->next)
		sums->squares += (double)place->spent_ns * (double)place->spent_ns /
				 (double)(place->samples ? place->samples : 1);
}

static int compare_members(const void *a, const void *b)
{
	const struct member *first = a, *second = b;

	if (first->kind != second->kind)
		return first->kind < second->kind ? -1 : 1;
	/* Equal texts have equal addresses. */
	if (first->context->pool_key != second->context->pool_key)
		return first->context->pool_key < second->context->pool_key ? -1 : 1;
	return compare_u64(first->context->window_ns, second->context->window_ns);
}

static bool are_of_one_pool(const struct member *first, const struct member *second)
{
	return first->kind == second->kind && first->context->pool_key == second->context->pool_key;
}

/* Waits are exact: only those of chosen contexts count. */
static struct member *add_members(const struct stacks *stacks, struct stacks_context *contexts,
				  struct member *next)
{
	for (struct stacks_context *context = contexts; context; context = context->hh.next) {
		context->is_spread = context->is_lending = false;
		context->source = STACKS_SOURCE_OWN;
		if (context->is_chosen || stacks->measure == STACKS_CPU)
			*next++ = (struct member){ context, context->is_request
								    ? -1
								    : (int)context->attribution };
	}
	return next;
}

/* Contexts that did not fit (stacks->rest) have no samples, and are in no pool. Returns the number
 * of members. */
static size_t find_members(const struct stacks *stacks, struct member *members)
{
	struct member *end = add_members(stacks, stacks->contexts, members);
	size_t count;

	end = add_members(stacks, stacks->lenders, end);
	count = (size_t)(end - members);
	qsort(members, count, sizeof(*members), compare_members);
	return count;
}

/* The mean time that a sample stands for, rounded down. Returns the number of places. */
static size_t find_period(const struct member *members, size_t count, int64_t *ret_period_ns)
{
	unsigned __int128 stands_for_ns = 0;
	uint64_t samples = 0;
	size_t place_count = 0;

	for (size_t i = 0; i < count; i++)
		for (const struct stacks_place *place = members[i].context->places; place;
		     place = place->next, place_count++) {
			stands_for_ns += place->stands_for_ns;
			samples += place->samples;
		}
	stands_for_ns /= samples ? samples : 1;
	*ret_period_ns = stands_for_ns > INT64_MAX ? INT64_MAX : (int64_t)stands_for_ns;
	return place_count;
}

/* Waits are exact, so each context is a pool of its own. */
static size_t pool_size(const struct stacks *stacks, const struct member *members, size_t count)
{
	size_t size = 1;

	while (stacks->measure == STACKS_CPU && size < count &&
	       are_of_one_pool(&members[0], &members[size]))
		size++;
	return size;
}

static int64_t find_long_ns(const struct stacks *stacks)
{
	int64_t long_ns;

	if (stacks->measure != STACKS_CPU)
		return 0;
	return __builtin_mul_overflow(STACKS_SPREAD_LONG_SAMPLES, stacks->sums.period_ns, &long_ns)
		       ? INT64_MAX
		       : long_ns;
}

static int spread_members(const struct stacks *stacks, const struct member *members, size_t count,
			  size_t place_count)
{
	_cleanup_free_ struct stacks_place **places =
		malloc((place_count + 1) * sizeof(struct stacks_place *));
	struct pool pool = { .long_ns = find_long_ns(stacks), .places = places };
	int r = 0;

	if (!places)
		return -ENOMEM;
	for (size_t begin = 0; begin < count && r == 0; begin += pool.count) {
		pool.members = members + begin;
		pool.count = pool_size(stacks, members + begin, count - begin);
		r = spread_pool(&pool);
	}
	return r;
}

int stacks_spread(struct stacks *stacks)
{
	_cleanup_free_ struct member *members = calloc(
		HASH_COUNT(stacks->contexts) + HASH_COUNT(stacks->lenders) + 1, sizeof(*members));
	size_t count, place_count;
	int r;

	stacks->sums = (struct stacks_sums){ 0 };
	if (!members)
		return -ENOMEM;
	count = find_members(stacks, members);
	place_count = find_period(members, count, &stacks->sums.period_ns);
	r = spread_members(stacks, members, count, place_count);
	for (size_t i = 0; i < count && r == 0; i++)
		add_to_sums(&stacks->sums, members[i].context);
	if (stacks->rest && stacks->rest->is_chosen)
		add_to_sums(&stacks->sums, stacks->rest);
	return r;
}
