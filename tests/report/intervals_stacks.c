/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often `report --stacks --diff` calls a method changed: intervals_stacks [FACTOR [PAIRS]].
 * Requests have CPU of a shape, samples meet it 99 times a second, nine of ten of them in the
 * method "most", else in "rest". The second recording of each pair has FACTOR (1) times the CPU. A
 * line for each shape, mean number of samples of a request and number of requests, in percent of
 * the pairs (1000) in which the method is tested; "-" where it never is.
 */
#include <stdio.h>
#include <stdlib.h>

#include "reader/profile/recorded_stacks.h"
#include "reader/profile/stacks_diff.h"
#include "shapes.h"

enum {
	METHODS = 2,
};

static const char *const methods[METHODS] = { "most", "rest" };
static const double samples_of_request[] = { 0.2, 2, 20 };
static const int counts[][2] = { { 50, 50 }, { 50, 1000 }, { 400, 400 }, { 2000, 2000 } };

struct tally {
	int tested;
	int changed;
};

/* The number of events of a Poisson process in a time in which `expected' are expected. */
static int draw_count(double expected, uint64_t *state)
{
	int count = -1;

	for (double time = 0; time < expected; count++)
		time -= log(draw(state));
	return count < 0 ? 0 : count;
}

static void add_request(struct stacks *stacks, int number, int64_t cpu_ns, uint64_t *state)
{
	int samples[METHODS] = { 0 };
	char id[16];

	(void)snprintf(id, sizeof(id), "r%d", number);
	recorded_stacks_cpu(stacks, id, cpu_ns);
	for (int left = draw_count((double)cpu_ns / RECORDED_STACKS_PERIOD_NS, state); left > 0;
	     left--)
		samples[draw(state) < 0.9 ? 0 : 1]++;
	for (int method = 0; method < METHODS; method++)
		if (samples[method] > 0)
			recorded_stacks_sample(stacks, id, methods[method], samples[method]);
}

/* scale_ns: what the shape's unit is. */
static void fill(struct stacks *stacks, const struct shape *shape, double scale_ns, int count,
		 uint64_t *state)
{
	struct filter filter = { 0 };

	stacks_init(stacks, STACKS_CPU, &filter);
	for (int method = 0; method < METHODS; method++)
		recorded_stacks_frame(stacks, methods[method], NULL, methods[method], 1);
	for (int i = 0; i < count; i++)
		add_request(stacks, i, (int64_t)(scale_ns * shape->draw(state)), state);
	if (stacks_finish(stacks) < 0)
		abort();
}

static void count_pair(const struct stacks *before, const struct stacks *after,
		       struct tally *tallies)
{
	struct stacks_diff diff;

	if (stacks_diff_init(&diff, before, after) < 0)
		abort();
	for (const struct stacks_diff_row *row = diff.rows; row; row = row->hh.next) {
		const struct diff_figure *figure = &row->figures[STACKS_DIFF_SELF];
		struct tally *tally = &tallies[strcmp(row->key.name->bytes, methods[0]) != 0];

		tally->tested += figure->is_tested;
		tally->changed +=
			figure->is_tested &&
			statistics_is_change(&figure->difference, figure->difference.probability);
	}
	stacks_diff_deinit(&diff);
}

static void print_line(const struct shape *shape, double samples, const int *count,
		       const struct tally *tallies)
{
	(void)printf("%-17s %4g %5d %5d  ", shape->name, samples, count[0], count[1]);
	for (int i = 0; i < METHODS; i++) {
		if (tallies[i].tested > 0)
			(void)printf(" %5.1f", 100.0 * tallies[i].changed / tallies[i].tested);
		else
			(void)printf("     -");
	}
	(void)printf("\n");
	(void)fflush(stdout);
}

static void compare(const struct shape *shape, double samples, const int *count, double factor,
		    int pairs)
{
	double scale_ns = samples * RECORDED_STACKS_PERIOD_NS / shape->mean;
	uint64_t state = UINT64_C(88172645463325252);
	struct tally tallies[METHODS] = { 0 };

	for (int pair = 0; pair < pairs; pair++) {
		struct stacks before, after;

		fill(&before, shape, scale_ns, count[0], &state);
		fill(&after, shape, factor * scale_ns, count[1], &state);
		count_pair(&before, &after, tallies);
		stacks_deinit(&before);
		stacks_deinit(&after);
	}
	print_line(shape, samples, count, tallies);
}

int main(int argc, char **argv)
{
	double factor = argc > 1 ? atof(argv[1]) : 1;
	int pairs = argc > 2 ? atoi(argv[2]) : 1000;

	(void)printf("%36s  most  rest\n", "");
	for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); shape++)
		for (size_t i = 0; i < sizeof(samples_of_request) / sizeof(double); i++)
			for (size_t j = 0; j < sizeof(counts) / sizeof(counts[0]); j++)
				compare(&shapes[shape], samples_of_request[i], counts[j], factor,
					pairs);
	return 0;
}
