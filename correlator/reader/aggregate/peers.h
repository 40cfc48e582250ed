/* SPDX-License-Identifier: GPL-2.0-only */
/* Requests that are compared with the requests of their endpoint. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer {
	const void *endpoint; /* the same for those that are compared; NULL: it has none */
	int64_t number; /* of what they are compared by */
	size_t index; /* the caller's, below that of its marks; no two are equal */
};

/* Marks the `most` with the largest numbers, whatever their endpoints; of equal ones that with the
 * lower index. Reorders peers. */
void peers_mark_most(struct peer *peers, size_t count, size_t most, bool *ret_is_marked);

/* Marks those of each endpoint whose number is above this percentile of its peers: the least number
 * that percent (above 0, at most 100) of them do not exceed. Reorders peers. */
void peers_mark_above(struct peer *peers, size_t count, double percent, bool *ret_is_marked);
