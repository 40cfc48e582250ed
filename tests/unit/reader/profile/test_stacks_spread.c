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

static uint64_t pooled_contexts(const struct stacks *stacks)
{
	return stacks->sums.pooled_contexts[STACKS_SOURCE_CHOSEN];
}

static int64_t pooled_ns(const struct stacks *stacks)
{
	return stacks->sums.pooled_ns[STACKS_SOURCE_CHOSEN];
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
	assert_int_equal(pooled_ns(stacks), 30000002);
	assert_int_equal(pooled_contexts(stacks), 3);
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
	assert_int_equal(pooled_contexts(stacks), 2);
}

FIXTURE_TEST(spread_does_not_pool_single_request)
{
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 1000000);
	recorded_stacks_sample(stacks, "a", "1", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(place_of(stacks, "a")->own_ns, 1000000);
	assert_int_equal(pooled_contexts(stacks), 0);
	assert_int_equal(pooled_ns(stacks), 0);
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
	assert_int_equal(pooled_contexts(stacks), 1);
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

/* Few that are slow say little: those that were faster stand for them, too. */
FIXTURE_TEST(spread_borrows_from_requests_that_are_not_kept)
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
	assert_int_equal(pooled_contexts(stacks), 3);
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	assert_int_equal(spent_in(stacks, "one"), 3750000);
	assert_int_equal(spent_in(stacks, "two"), 1250000);
	assert_int_equal(stacks->sums.spent_ns, 5000000);
	assert_int_equal(stacks->sums.sampled_ns, 5000000);
	assert_int_equal(stacks->sums.samples, 4);
	assert_int_equal(stacks->sums.pooled_contexts[STACKS_SOURCE_RECORDING], 2);
	assert_int_equal(stacks->sums.pooled_ns[STACKS_SOURCE_RECORDING], 5000000);
	/* The sample of a is no evidence of its own. */
	assert_int_equal(stacks_part(place_of(stacks, "a"), STACKS_OWN).samples, 0);
	assert_int_equal(stacks_part(place_of(stacks, "a"), STACKS_OWN).spent_ns, 0);
	assert_int_equal(stacks_part(place_of(stacks, "a"), STACKS_OTHERS).samples, 3);
	assert_int_equal(stacks_part(place_of(stacks, "b"), STACKS_OWN).samples, 1);
}

FIXTURE_TEST(spread_uses_kept_requests_alone_if_they_are_long_together)
{
	const struct stacks_slowest slowest = { .count = 2, .by_cpu = true };
	struct stacks *stacks = *state;

	recorded_stacks_cpu_of(stacks, "a", "GET /", 1000000);
	recorded_stacks_cpu_of(stacks, "b", "GET /", long_ns / 2 + 1);
	recorded_stacks_cpu_of(stacks, "c", "GET /", long_ns / 2 + 1);
	recorded_stacks_sample(stacks, "a", "1", 3);
	recorded_stacks_sample(stacks, "b", "2", 1);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks_keep_slowest(stacks, &slowest), 0);
	assert_int_equal(spent_in(stacks, "one"), 0);
	assert_int_equal(spent_in(stacks, "two"), stacks->sums.spent_ns);
	assert_int_equal(stacks->sums.samples, 1);
	assert_int_equal(pooled_contexts(stacks), 2);
}

static void add_in_window(struct stacks *stacks, int window, struct sample *sample)
{
	sample_set_time(sample, 1700000000U + (uint32_t)window, 0);
	recorded_stacks_add(stacks, sample);
}

/* Requests that the filter leaves out, ten in each window, each with half of a long one's CPU and a
 * sample: of the first window in one, of the others in two. */
static void lend(struct stacks *stacks, const char *condition, int count)
{
	struct filter filter = { 0 };
	struct sample sample;

	stacks_deinit(stacks);
	assert_int_equal(filter_add(&filter, condition), 0);
	stacks_init(stacks, STACKS_CPU, &filter);
	recorded_stacks_frame(stacks, "1", NULL, "one", 1);
	recorded_stacks_frame(stacks, "2", NULL, "two", 1);
	for (int i = 0; i < count; i++) {
		sample_record(&sample, "cpu pid=7 request_id=\"%d\" endpoint=\"GET /\" cpu_ns=%ld",
			      i, long_ns / 2);
		add_in_window(stacks, i / 10, &sample);
		sample_record(&sample,
			      "sample pid=7 tid=8 request_id=\"%d\" stack_id=\"%d\" samples=1 "
			      "period_ns=%d",
			      i, i < 10 ? 1 : 2, RECORDED_STACKS_PERIOD_NS);
		add_in_window(stacks, i / 10, &sample);
	}
}

static void add_short(struct stacks *stacks, const char *endpoint, int window)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=7 request_id=wanted endpoint=\"%s\" cpu_ns=5000000",
		      endpoint);
	add_in_window(stacks, window, &sample);
}

/* A short request in this window borrows one_ns and two_ns of the two stacks, by this number of
 * samples. */
static void expect_borrowed(struct stacks *stacks, int window, int64_t one_ns, int64_t two_ns,
			    uint64_t samples, enum stacks_source source)
{
	lend(stacks, "request_id=wanted", 20);
	add_short(stacks, "GET /", window);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), one_ns);
	assert_int_equal(spent_in(stacks, "two"), two_ns);
	assert_int_equal(stacks->sums.samples, samples);
	assert_int_equal(stacks->sums.pooled_contexts[source], 1);
}

FIXTURE_TEST(spread_borrows_in_the_window_first)
{
	struct stacks *stacks = *state;

	expect_borrowed(stacks, 0, 5000000, 0, 10, STACKS_SOURCE_WINDOW);
	assert_int_equal(stacks->sums.spent_ns, 5000000);
	assert_int_equal(stacks->sums.pooled_ns[STACKS_SOURCE_WINDOW], 5000000);
	assert_int_equal(stacks->sums.unsampled_contexts, 0);
}

FIXTURE_TEST(spread_borrows_in_the_recording_if_the_window_has_too_little)
{
	expect_borrowed(*state, 8, 2500000, 2500000, 20, STACKS_SOURCE_RECORDING);
}

FIXTURE_TEST(spread_borrows_from_no_other_endpoint)
{
	struct stacks *stacks = *state;

	lend(stacks, "request_id=wanted", 20);
	add_short(stacks, "GET /b", 0);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(stacks->sums.unsampled_ns, 5000000);
	assert_int_equal(stacks->sums.samples, 0);
	assert_null(stacks_next(stacks, stacks_next(stacks, NULL)));
}

FIXTURE_TEST(spread_borrows_from_long_ones_that_are_left_out)
{
	struct stacks *stacks = *state;

	lend(stacks, "request_id=wanted", 0);
	recorded_stacks_cpu_of(stacks, "long", "GET /", 2 * long_ns);
	recorded_stacks_sample(stacks, "long", "1", 16);
	add_short(stacks, "GET /", 0);
	assert_int_equal(stacks_finish(stacks), 0);
	assert_int_equal(spent_in(stacks, "one"), 5000000);
	assert_int_equal(stacks->sums.spent_ns, 5000000);
	assert_int_equal(stacks->sums.samples, 16);
}

/* Rounded sums of three windows, each lent by samples that have time of others, too. */
FIXTURE_TEST(spread_loses_nothing_among_lenders)
{
	struct stacks *stacks = *state;
	struct sample sample;
	int64_t spent_ns = 0;

	lend(stacks, "tenant=big", 27);
	for (int i = 0; i < 5; i++) {
		sample_record(&sample,
			      "cpu pid=7 request_id=x%d endpoint=\"GET /\" tenant=big cpu_ns=%d", i,
			      1000003 + i);
		add_in_window(stacks, i, &sample);
	}
	assert_int_equal(stacks_finish(stacks), 0);
	for (const struct stacks_place *place = stacks->places; place; place = place->hh.next)
		spent_ns += place->spent_ns;
	assert_int_equal(spent_ns, 5 * 1000003 + 10);
	assert_int_equal(stacks->sums.spent_ns, spent_ns);
	assert_int_equal(stacks->sums.pooled_contexts[STACKS_SOURCE_WINDOW], 3);
	assert_int_equal(stacks->sums.pooled_contexts[STACKS_SOURCE_RECORDING], 2);
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

/* SPREAD_ROUNDS=1000, some 20 s, tells what the intervals of 95 % are worth. */
FIXTURE_TEST(spread_share_of_short_requests_is_within_error)
{
	const char *asked = getenv("SPREAD_ROUNDS");
	int rounds = asked ? atoi(asked) : 100, within = 0;
	double sum = 0;

	srand48(32);
	for (int round = 0; round < rounds; round++) {
		double distance = simulate(round);

		sum += distance;
		within += fabs(distance) < 1.96;
	}
	print_message("%d of %d within\n", within, rounds);
	/* The mean of 100 has an error of 0.1; of 95 that are within, one of 2.2. */
	assert_true(fabs(sum / rounds) < 0.4);
	assert_in_range(within, rounds * (rounds < 1000 ? 88 : 93) / 100,
			rounds * (rounds < 1000 ? 100 : 97) / 100);
}
