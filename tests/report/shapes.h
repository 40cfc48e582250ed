/* SPDX-License-Identifier: GPL-2.0-only */
/* Distributions that requests may have, drawn by a seed. */
#pragma once

#include <math.h>
#include <stdint.h>

/* Uniform, above 0 and below 1. */
static double draw(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static double draw_normal(uint64_t *state)
{
	double radius = sqrt(-2 * log(draw(state)));

	return radius * cos(2 * M_PI * draw(state));
}

static double normal(uint64_t *state)
{
	return 1e6 * fmax(0.01, 1 + 0.1 * draw_normal(state));
}

static double lognormal_03(uint64_t *state)
{
	return 1e6 * exp(0.3 * draw_normal(state));
}

static double lognormal_09(uint64_t *state)
{
	return 1e6 * exp(0.9 * draw_normal(state));
}

static double lognormal_15(uint64_t *state)
{
	return 1e6 * exp(1.5 * draw_normal(state));
}

/* Without a variance. */
static double pareto(uint64_t *state)
{
	return 1e6 * pow(draw(state), -1 / 1.5);
}

static double two_humps(uint64_t *state)
{
	double middle = draw(state) < 0.9 ? 1e6 : 1e7;

	return middle * (1 + 0.05 * draw_normal(state));
}

static double one_bucket(uint64_t *state)
{
	return 3e8 + 500 * draw_normal(state);
}

static double sleeps(uint64_t *state)
{
	return 1e8 - 5e4 * log(draw(state));
}

static const struct shape {
	const char *name;
	double (*draw)(uint64_t *state);
	double mean;
} shapes[] = {
	{ "normal, sd 10 %", normal, 1e6 },
	{ "lognormal, sd 0.3", lognormal_03, 1046027.86 },
	{ "lognormal, sd 0.9", lognormal_09, 1499302.50 },
	{ "lognormal, sd 1.5", lognormal_15, 3080216.85 },
	{ "Pareto, 1.5", pareto, 3e6 },
	{ "two humps", two_humps, 1.9e6 },
	{ "all in one bucket", one_bucket, 3e8 },
	{ "sleeps", sleeps, 1e8 + 5e4 },
};
