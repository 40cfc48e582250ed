/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/peers.h"

#include <stdlib.h>

#include "base/compare.h"
#include "requests/histogram.h"

static int compare_numbers(const struct peer *first, const struct peer *second)
{
	int order = compare_i64(second->number, first->number);

	if (order == 0)
		return first->index < second->index ? -1 : first->index > second->index;
	return order;
}

static int compare_all(const void *a, const void *b)
{
	return compare_numbers(a, b);
}

static int compare_by_endpoint(const void *a, const void *b)
{
	const struct peer *first = a, *second = b;

	if (first->endpoint != second->endpoint)
		return first->endpoint < second->endpoint ? -1 : 1;
	return compare_numbers(first, second);
}

void peers_mark_most(struct peer *peers, size_t count, size_t most, bool *ret_is_marked)
{
	qsort(peers, count, sizeof(*peers), compare_all);
	for (size_t i = 0; i < count && i < most; i++)
		ret_is_marked[peers[i].index] = true;
}

/* Does the same for one endpoint; peers is sorted, the largest number first. */
static void mark_above(const struct peer *peers, size_t count, double percent, bool *ret_is_marked)
{
	int64_t limit = peers[count - histogram_rank(count, percent)].number;

	/* The loop ends at a peer whose number is the limit. */
	for (size_t i = 0; peers[i].number > limit; i++)
		ret_is_marked[peers[i].index] = true;
}

void peers_mark_above(struct peer *peers, size_t count, double percent, bool *ret_is_marked)
{
	size_t begin = 0;

	qsort(peers, count, sizeof(*peers), compare_by_endpoint);
	for (size_t i = 1; i <= count; i++) {
		if (i < count && peers[i].endpoint == peers[begin].endpoint)
			continue;
		mark_above(peers + begin, i - begin, percent, ret_is_marked);
		begin = i;
	}
}
