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

/* The chosen contexts of one kind and endpoint. */
struct pool {
	const struct member *members;
	size_t count;
	int64_t long_ns; /* least CPU of a long context */
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

/* Computes own_ns of the context's places, and sorts them. */
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
	distribute(places, count, context->spent_ns, PART_OWN);
	return 0;
}

static void take_own(struct stacks_context *context)
{
	for (struct stacks_place *place = context->places; place; place = place->next)
		place->spent_ns = place->own_ns;
	context->is_spread = true;
	context->is_pooled = false;
}

static bool is_long(const struct pool *pool, const struct stacks_context *context)
{
	return context->places && context->spent_ns >= pool->long_ns;
}

static size_t find_places_of(const struct pool *pool, bool of_long, struct stacks_place **places)
{
	size_t count = 0;

	for (size_t i = 0; i < pool->count; i++)
		if (is_long(pool, pool->members[i].context) == of_long)
			count += put_places(pool->members[i].context, places + count);
	return count;
}

/* The places of the pool's short contexts, or those of its long ones if the short ones have
 * none. */
static size_t find_places(const struct pool *pool, struct stacks_place **places)
{
	size_t count = find_places_of(pool, false, places);

	return count > 0 ? count : find_places_of(pool, true, places);
}

/* Caps own_ns: a place holds no more of its context's time than spent_ns. */
static void bound_own(struct stacks_context *context)
{
	for (struct stacks_place *place = context->places; place; place = place->next)
		if (place->own_ns > place->spent_ns)
			place->own_ns = place->spent_ns;
}

static void spread_short(const struct pool *pool, struct stacks_place **places)
{
	int64_t short_ns = 0;
	size_t short_count = 0, place_count;
	bool is_own;

	for (size_t i = 0; i < pool->count; i++)
		if (!is_long(pool, pool->members[i].context)) {
			saturated_add_to(&short_ns, pool->members[i].context->spent_ns);
			short_count++;
		}
	if (short_count == 0)
		return;
	place_count = find_places(pool, places);
	qsort(places, place_count, sizeof(struct stacks_place *), compare_places);
	distribute(places, place_count, short_ns, PART_SPENT);
	is_own = short_count == 1 && place_count > 0;
	for (size_t i = 0; i < pool->count; i++) {
		struct stacks_context *context = pool->members[i].context;

		if (is_long(pool, context))
			continue;
		bound_own(context);
		context->is_spread = place_count > 0;
		context->is_pooled = context->is_spread && !(is_own && context->places);
	}
}

static int spread_pool(const struct pool *pool, struct stacks_place **places)
{
	int r = 0;

	for (size_t i = 0; i < pool->count && r == 0; i++) {
		r = spread_own(pool->members[i].context);
		if (is_long(pool, pool->members[i].context))
			take_own(pool->members[i].context);
	}
	if (r == 0)
		spread_short(pool, places);
	return r;
}

static void add_to_sums(struct stacks_sums *sums, const struct stacks_context *context)
{
	saturated_add_to(&sums->spent_ns, context->spent_ns);
	sums->samples += context->samples;
	if (!context->is_spread) {
		saturated_add_to(&sums->unsampled_ns, context->spent_ns);
		sums->unsampled_contexts += context->spent_ns > 0;
		return;
	}
	saturated_add_to(&sums->sampled_ns, context->spent_ns);
	sums->sampled_contexts += context->places || context->spent_ns > 0;
	if (context->is_pooled) {
		saturated_add_to(&sums->pooled_ns, context->spent_ns);
		sums->pooled_contexts += context->places || context->spent_ns > 0;
	}
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
	return (first->context->pool_key > second->context->pool_key) -
	       (first->context->pool_key < second->context->pool_key);
}

/* Contexts that did not fit (stacks->rest) have no samples, and are in no pool. Returns the number
 * of members. */
static size_t find_members(const struct stacks *stacks, struct member *members)
{
	struct stacks_context *context;
	size_t count = 0;

	for (context = stacks->contexts; context; context = context->hh.next)
		if (context->is_chosen)
			members[count++] = (struct member){
				context, context->is_request ? -1 : (int)context->attribution
			};
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
	       compare_members(&members[0], &members[size]) == 0)
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
	struct pool pool = { .long_ns = find_long_ns(stacks) };
	int r = 0;

	if (!places)
		return -ENOMEM;
	for (size_t begin = 0; begin < count && r == 0; begin += pool.count) {
		pool.members = members + begin;
		pool.count = pool_size(stacks, members + begin, count - begin);
		r = spread_pool(&pool, places);
	}
	return r;
}

int stacks_spread(struct stacks *stacks)
{
	_cleanup_free_ struct member *members =
		calloc(HASH_COUNT(stacks->contexts) + 1, sizeof(*members));
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
