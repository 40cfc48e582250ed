/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How often `report --diff` calls a figure changed, and how often its interval misses the true
 * change, over shapes of distributions and numbers of requests: intervals [FACTOR [PAIRS]]. The
 * second sample of each pair is FACTOR (1) times the first one's distribution. A line for each, in
 * percent of the pairs (1000).
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "reader/aggregate/statistics.h"
#include "shapes.h"

enum {
	FIGURES = 4,
	PERCENTILES = 3,
	EXACT_COUNT = 1000000, /* draws that the true percentiles are from */
};

static const double percents[PERCENTILES] = { 50, 90, 99 };

static const int counts[][2] = { { 12, 12 },   { 12, 120 },   { 12, 1200 },
				 { 50, 50 },   { 50, 5000 },  { 100, 1500 },
				 { 400, 400 }, { 400, 4000 }, { 5000, 5000 } };

struct tally {
	int compared;
	int changed;
	int missed;
};

static int compare_doubles(const void *a, const void *b)
{
	const double *first = a, *second = b;

	return (*first > *second) - (*first < *second);
}

/* The mean and the percentiles of a shape. */
static void find_truth(const struct shape *shape, double truth[static FIGURES])
{
	double *values = malloc(EXACT_COUNT * sizeof(*values));
	uint64_t state = 20261128;

	if (!values)
		abort();
	for (int i = 0; i < EXACT_COUNT; i++)
		values[i] = shape->draw(&state);
	qsort(values, EXACT_COUNT, sizeof(*values), compare_doubles);
	truth[0] = shape->mean;
	for (int i = 0; i < PERCENTILES; i++)
		truth[1 + i] = values[(int)(percents[i] / 100 * EXACT_COUNT)];
	free(values);
}

static void fill(struct histogram *histogram, const struct shape *shape, int count, double factor,
		 uint64_t *state)
{
	for (int i = 0; i < count; i++)
		if (histogram_add(histogram, (int64_t)(factor * shape->draw(state))) < 0)
			abort();
}

static void count_pair(const struct histogram *first, const struct histogram *second,
		       const double *truth, double factor, struct tally *tallies)
{
	for (int i = 0; i < FIGURES; i++) {
		double change = truth[i] * (factor - 1);
		struct difference difference;
		int r = i == 0 ? statistics_compare_means(first, second, &difference)
			       : statistics_compare_percentiles(first, second, percents[i - 1],
								&difference);

		if (r <= 0)
			continue;
		tallies[i].compared++;
		tallies[i].changed += statistics_is_change(&difference, difference.probability);
		tallies[i].missed += difference.low > change + 1 || difference.high < change - 1;
	}
}

static void print_tallies(const struct tally *tallies)
{
	for (int missed = 0; missed <= 1; missed++) {
		(void)printf(missed ? " | missed" : "changed");
		for (int i = 0; i < FIGURES; i++) {
			int number = missed ? tallies[i].missed : tallies[i].changed;

			if (tallies[i].compared > 0)
				(void)printf(" %5.1f", 100.0 * number / tallies[i].compared);
			else
				(void)printf("     -");
		}
	}
	(void)printf("\n");
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	double factor = argc > 1 ? atof(argv[1]) : 1;
	int pairs = argc > 2 ? atoi(argv[2]) : 1000;
	uint64_t state = UINT64_C(88172645463325252);

	(void)printf("%32s  mean   p50   p90   p99\n", "");
	for (size_t shape = 0; shape < sizeof(shapes) / sizeof(shapes[0]); shape++) {
		double truth[FIGURES];

		find_truth(&shapes[shape], truth);
		for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
			struct tally tallies[FIGURES] = { 0 };

			for (int pair = 0; pair < pairs; pair++) {
				struct histogram first = { 0 }, second = { 0 };

				fill(&first, &shapes[shape], counts[i][0], 1, &state);
				fill(&second, &shapes[shape], counts[i][1], factor, &state);
				count_pair(&first, &second, truth, factor, tallies);
				histogram_deinit(&first);
				histogram_deinit(&second);
			}
			(void)printf("%-17s %4d %4d  ", shapes[shape].name, counts[i][0],
				     counts[i][1]);
			print_tallies(tallies);
		}
	}
	return 0;
}
