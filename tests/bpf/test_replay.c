/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic, natively and in the kernel: the same text gives the same results, whatever it is
 * given, and what a life that can be comes to is what its events sum up to. REPLAY_SEED repeats
 * one.
 */
#include "replay.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "kernel_test.h"
#include "replay.skel.h"
#include "replay_life.h"

enum {
	ROUNDS = 400
};

static uint64_t next_random(uint64_t *seed)
{
	/* Knuth's MMIX generator: reproducible, the upper bits are good. */
	*seed = *seed * 6364136223846793005ULL + 1442695040888963407ULL;
	return *seed >> 20;
}

/* Mostly plausible boundaries, with clocks that jump back and figures that shrink among them. */
static void fill_steps(struct replay *replay, uint64_t *seed)
{
	struct replay_step step = { .now_ns = 1000000 };

	for (unsigned int i = 0; i < REPLAY_STEPS_MAX; i++) {
		step.now_ns += next_random(seed) % 100000;
		step.stolen_ns += next_random(seed) % 4 ? 0 : next_random(seed) % 50000;
		step.figures.exec_ns += next_random(seed) % 80000;
		step.figures.run_delay_ns += next_random(seed) % 5000;
		step.figures.voluntary += next_random(seed) % 2;
		step.figures.involuntary += next_random(seed) % 2;
		if (next_random(seed) % 16 == 0)
			step.now_ns -= next_random(seed) % 200000;
		step.operation = (uint32_t)(next_random(seed) % (_REPLAY_MAX + 1));
		step.argument = (uint32_t)next_random(seed);
		replay->steps[i] = step;
	}
}

static void fill_table(struct replay *replay, uint64_t *seed)
{
	uint64_t capacity = 1ULL << (next_random(seed) % 8);
	uint64_t wanted = next_random(seed) % (next_random(seed) % 2 ? 4 : STATE_CAPACITY_MAX);

	replay->header.capacity = next_random(seed) % 8 ? capacity : next_random(seed) % 80;
	replay->header.size = next_random(seed) % (replay->header.capacity + 1) + !(seed[0] % 9);
	for (unsigned int i = 0; i < STATE_CAPACITY_MAX; i++) {
		replay->pairs[i].key =
			next_random(seed) % 8 ? (next_random(seed) % 64) << 4 | 1 : 0;
		replay->pairs[i].value = next_random(seed);
	}
	replay->wanted_key = replay->pairs[wanted].key;
}

static void fill_value(struct replay *replay, uint64_t *seed)
{
	struct value_snapshot *value = &replay->value;

	memset(value, 0, sizeof(*value));
	value->kind = VALUE_KIND_STRING;
	value->length_bytes = (uint16_t)(next_random(seed) % (VALUE_BYTES_MAX + 1));
	value->raw = value->length_bytes;
	for (unsigned int i = 0; i < value->length_bytes; i++)
		value->bytes[i] = (uint8_t)next_random(seed);
	replay->hash_key.words[0] = next_random(seed);
	replay->hash_key.words[1] = next_random(seed);
}

static void run_in_kernel(struct replay_bpf *skeleton, const struct replay *in, struct replay *out)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);
	int map = bpf_map__fd(skeleton->maps.exchange);
	uint32_t slot = 0;

	assert_int_equal(bpf_map_update_elem(map, &slot, in, BPF_ANY), 0);
	for (unsigned int i = 0; i <= REPLAY_STEPS_MAX; i++) {
		assert_int_equal(bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.run_replay),
							&options),
				 0);
		assert_int_equal(options.retval, 0);
	}
	assert_int_equal(bpf_map_lookup_elem(map, &slot, out), 0);
}

static void run_natively(struct replay *replay)
{
	for (unsigned int i = 0; i <= REPLAY_STEPS_MAX; i++)
		replay_run(replay);
}

static void kernel_and_native_results_are_equal(void **state)
{
	struct replay_bpf *skeleton = *state;
	static struct replay in, native, kernel;
	unsigned int found = 0;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		uint64_t seed = round;

		memset(&in, 0, sizeof(in));
		fill_steps(&in, &seed);
		fill_table(&in, &seed);
		fill_value(&in, &seed);
		native = in;
		run_natively(&native);
		run_in_kernel(skeleton, &in, &kernel);
		if (memcmp(&native.clock, &kernel.clock,
			   sizeof(native) - offsetof(struct replay, clock)))
			fail_msg("results differ for seed %lu", (unsigned long)round);
		found += native.slot >= 0;
	}
	/* The comparison is of something: tables were found in, time was charged. */
	assert_in_range(found, ROUNDS / 10, ROUNDS);
	assert_true(native.totals.user_ns && native.totals.kernel_ns);
}

/* Where a story is run. */
static struct replay_bpf *where;

/* The first term that is not what the events sum up to; NULL = all are. */
static const char *find_difference(const struct story *story)
{
	static struct replay replay, result;
	struct account_totals model = life_tell(story, &replay);
	const struct account_totals *totals = &result.totals;

	result = replay;
	if (where)
		run_in_kernel(where, &replay, &result);
	else
		run_natively(&result);
#define COMPARE(term)                   \
	if (totals->term != model.term) \
	return #term
	COMPARE(user_ns);
	COMPARE(kernel_ns);
	COMPARE(run_queue_ns);
	COMPARE(blocked_ns);
	COMPARE(uninterruptible_ns);
	COMPARE(slices);
	COMPARE(switches_voluntary);
	COMPARE(switches_involuntary);
	COMPARE(migrations);
	COMPARE(stolen_ns);
#undef COMPARE
	return NULL;
}

static bool is_different(const struct story *story)
{
	return find_difference(story) != NULL;
}

static void assert_sums_up(uint64_t seed)
{
	static struct story story;

	story_write(&story, seed);
	if (!is_different(&story))
		return;
	story_shrink(&story, is_different);
	printf("REPLAY_SEED=%lu, shrunk to %zu steps:\n", seed, story.count);
	story_print(&story);
	fail_msg("%s is not what the events sum up to, seed %lu", find_difference(&story), seed);
}

static void assert_all_sum_up(struct replay_bpf *skeleton)
{
	const char *seed = getenv("REPLAY_SEED");

	where = skeleton;
	if (seed)
		assert_sums_up(strtoull(seed, NULL, 0));
	for (uint64_t i = 1; i <= ROUNDS && !seed; i++)
		assert_sums_up(i);
}

static void a_life_comes_to_what_its_events_sum_up_to(void **state)
{
	(void)state;
	assert_all_sum_up(NULL);
}

static void and_so_it_does_in_the_kernel(void **state)
{
	assert_all_sum_up(*state);
}

static int load(void **state)
{
	*state = replay_bpf__open_and_load();
	return *state ? 0 : -1;
}

static int unload(void **state)
{
	replay_bpf__destroy(*state);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_and_native_results_are_equal),
		cmocka_unit_test(a_life_comes_to_what_its_events_sum_up_to),
		cmocka_unit_test(and_so_it_does_in_the_kernel),
	};

	kernel_test_require();
	return cmocka_run_group_tests(tests, load, unload);
}
