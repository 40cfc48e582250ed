/* SPDX-License-Identifier: GPL-2.0-only */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit_test.h"

#include "reader/profile/recorded_stacks.h"
#include "reader/profile/stacks.h"
#include "reader/profile/stacks_spread.h"
#include "record/sample.h"

static const int64_t long_ns = (int64_t)STACKS_SPREAD_LONG_SAMPLES * RECORDED_STACKS_PERIOD_NS;

static void begin(struct stacks *stacks)
{
	struct filter filter = { 0 };

	stacks_init(stacks, STACKS_CPU, &filter);
	recorded_stacks_frame(stacks, "1", NULL, "one", 1);
	recorded_stacks_frame(stacks, "2", NULL, "two", 1);
}

static int setup(void **state)
{
	static struct stacks stacks;

	begin(&stacks);
	*state = &stacks;
	return 0;
}

static int teardown(void **state)
{
	stacks_deinit(*state);
	return 0;
}

static int64_t spent_in(const struct stacks *stacks, const char *name)
{
	int64_t spent_ns = 0;

	for (const struct stacks_place *place = stacks->places; place; place = place->hh.next)
		if (strcmp(place->where.frame->name->bytes, name) == 0)
			spent_ns += place->spent_ns;
	return spent_ns;
}

static const struct stacks_place *place_of(const struct stacks *stacks, const char *request_id)
{
	const struct stacks_context *context = NULL;

	while ((context = stacks_next(stacks, context)))
		if (strcmp(stacks_value(context, "request_id")->bytes, request_id) == 0)
			return context->places;
	fail_msg("no %s", request_id);
	return NULL;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(spread_pools_samples_of_short_requests_by_endpoint)
{
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 1000000);
	recorded_stacks_cpu_of(stacks, "b", "GET /", 9000000);
	recorded_stacks_cpu_of(stacks, "c", "GET /", 20000002);
	recorded_stacks_cpu_of(stacks, "d", "GET /d", 500000000);
	recorded_stacks_sample(stacks, "a", "1", 1);
	recorded_stacks_sample(stacks, "b", "2", 2);
	recorded_stacks_sample(stacks, "d", "2", 50);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), 10000000);
	assert_int_equal(spent_in(stacks, "two"), 20000002 + 500000000);
	/* Of a itself no more than it used. */
	assert_int_equal(place_of(stacks, "a")->spent_ns, 10000000);
	assert_int_equal(place_of(stacks, "a")->own_ns, 1000000);
	assert_int_equal(place_of(stacks, "b")->own_ns, 9000000);
	assert_int_equal(place_of(stacks, "d")->own_ns, 500000000);
	assert_int_equal(stacks->sums.sampled_ns, stacks->sums.spent_ns);
	assert_int_equal(stacks->sums.pooled_ns, 30000002);
	assert_int_equal(stacks->sums.pooled_contexts, 3);
	assert_int_equal(stacks->sums.sampled_contexts, 4);
	assert_int_equal(stacks->sums.unsampled_contexts, 0);
}

FIXTURE_TEST(spread_uses_own_samples_of_long_request)
{
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "long", "GET /", long_ns);
	recorded_stacks_cpu_of(stacks, "short", "GET /", long_ns - 1);
	recorded_stacks_cpu_of(stacks, "shorter", "GET /", 1);
	recorded_stacks_sample(stacks, "long", "1", 1);
	recorded_stacks_sample(stacks, "short", "2", 20);
	recorded_stacks_sample(stacks, "shorter", "2", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), long_ns);
	assert_int_equal(spent_in(stacks, "two"), long_ns);
	assert_int_equal(stacks->sums.pooled_contexts, 2);
}

FIXTURE_TEST(spread_does_not_pool_single_request)
{
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 1000000);
	recorded_stacks_sample(stacks, "a", "1", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "a")->own_ns, 1000000);
	assert_int_equal(stacks->sums.pooled_contexts, 0);
	assert_int_equal(stacks->sums.pooled_ns, 0);
}

FIXTURE_TEST(spread_uses_long_samples_if_short_requests_have_none)
{
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 3000000);
	recorded_stacks_cpu_of(stacks, "long", "GET /", long_ns);
	recorded_stacks_cpu_of(stacks, "longer", "GET /", 2 * long_ns);
	recorded_stacks_cpu_of(stacks, "other", "GET /b", 5000000);
	recorded_stacks_sample(stacks, "long", "1", 1);
	recorded_stacks_sample(stacks, "longer", "2", 2);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), long_ns + 1000000);
	assert_int_equal(spent_in(stacks, "two"), 2 * long_ns + 2000000);
	assert_int_equal(place_of(stacks, "long")->own_ns, long_ns);
	assert_int_equal(stacks->sums.pooled_contexts, 1);
	assert_int_equal(stacks->sums.unsampled_ns, 5000000);
	assert_int_equal(stacks->sums.unsampled_contexts, 1);
}

FIXTURE_TEST(spread_treats_unsampled_long_request_as_short)
{
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "missed", "GET /", 10 * long_ns);
	recorded_stacks_cpu_of(stacks, "a", "GET /", 1000000);
	recorded_stacks_sample(stacks, "a", "1", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), 10 * long_ns + 1000000);
	assert_int_equal(place_of(stacks, "a")->own_ns, 1000000);
}

FIXTURE_TEST(spread_pools_only_kept_requests)
{
	const struct stacks_slowest slowest = { .count = 2, .by_cpu = true };
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 1000000);
	recorded_stacks_cpu_of(stacks, "b", "GET /", 2000000);
	recorded_stacks_cpu_of(stacks, "c", "GET /", 3000000);
	recorded_stacks_sample(stacks, "a", "1", 3);
	recorded_stacks_sample(stacks, "b", "2", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), 4500000);
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	assert_int_equal(place_of(stacks, "b")->spent_ns, 5000000);
	assert_int_equal(stacks->sums.spent_ns, 5000000);
	assert_int_equal(stacks->sums.samples, 1);
}

FIXTURE_TEST(spread_is_independent_of_record_order)
{
	struct stacks *stacks = *state, other;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 5);
	recorded_stacks_cpu_of(stacks, "b", "GET /", 6);
	recorded_stacks_sample(stacks, "a", "1", 1);
	recorded_stacks_sample(stacks, "b", "1", 1);
	recorded_stacks_sample(stacks, "b", "2", 1);
	begin(&other);
	recorded_stacks_sample(&other, "b", "2", 1);
	recorded_stacks_sample(&other, "b", "1", 1);
	recorded_stacks_sample(&other, "a", "1", 1);
	recorded_stacks_cpu_of(&other, "b", "GET /", 6);
	recorded_stacks_cpu_of(&other, "a", "GET /", 5);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks_finish(&other), 0);
	for (size_t i = 0; i < 2; i++) {
		const char *id = i == 0 ? "a" : "b";

		assert_int_equal(place_of(stacks, id)->spent_ns, place_of(&other, id)->spent_ns);
		assert_int_equal(place_of(stacks, id)->own_ns, place_of(&other, id)->own_ns);
	}
	stacks_deinit(&other);
}

/* How many ticks of a clock of the samples' period fall in so much CPU. */
static int64_t tick(int64_t *until_ns, int64_t cpu_ns)
{
	int64_t ticks = 0;

	for (*until_ns -= cpu_ns; *until_ns < 0; ticks++)
		*until_ns += (int64_t)(-log(1 - drand48()) * RECORDED_STACKS_PERIOD_NS);
	return ticks;
}

/* Nine tenths of an endpoint's CPU are in requests of 1 ms that do one thing, a tenth in requests
 * of 10 ms that do another one. Returns by how many standard errors the share of the first is
 * beside 0.9. */
static double simulate(int round)
{
	struct stacks stacks;
	int64_t until_ns = (int64_t)(drand48() * RECORDED_STACKS_PERIOD_NS);
	double share, error;
	char id[32];

	begin(&stacks);
	for (int i = 0; i < 910; i++) {
		bool is_short = i % 91 != 0;
		int64_t cpu_ns = is_short ? 1000000 : 10000000;
		int64_t samples = tick(&until_ns, cpu_ns);

		(void)snprintf(id, sizeof(id), "%d-%d", round, i);
		recorded_stacks_cpu_of(&stacks, id, "GET /", cpu_ns);
		if (samples > 0)
			recorded_stacks_sample(&stacks, id, is_short ? "1" : "2", samples);
	}
	assert_int_equal(stacks_finish(&stacks), 0);
	share = (double)spent_in(&stacks, "one") / (double)stacks.sums.sampled_ns;
	error = stacks_error(&stacks.sums, share);
	stacks_deinit(&stacks);
	return (share - 0.9) / error;
}

FIXTURE_TEST(spread_share_of_short_requests_is_within_error)
{
	enum {
		ROUNDS = 100
	};
	int within = 0;
	double sum = 0;

	srand48(32);
	for (int round = 0; round < ROUNDS; round++) {
		double distance = simulate(round);

		sum += distance;
		within += fabs(distance) < 1.96;
	}
	/* The mean of 100 has an error of 0.1; of 95 that are within, one of 2.2. */
	assert_true(fabs(sum / ROUNDS) < 0.4);
	assert_in_range(within, 88, 100);
}
