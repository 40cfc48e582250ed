/* SPDX-License-Identifier: GPL-2.0-only */
/* Compares requests with the other requests of their endpoint. Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct peer {
	const void *endpoint; /* equal for peers that are compared with each other; NULL: none */
	int64_t number; /* that they are compared by */
	size_t index; /* of its mark in ret_is_marked; unique */
};

/* Marks the `most` peers with the largest numbers, regardless of endpoint; of equal ones the lower
 * index first. Reorders peers. */
void peers_mark_most(struct peer *peers, size_t count, size_t most, bool *ret_is_marked);

/* Marks the peers of each endpoint whose number is above this percentile of its peers: the smallest
 * number that percent (above 0, at most 100) of them do not exceed. Reorders peers. */
void peers_mark_above(struct peer *peers, size_t count, double percent, bool *ret_is_marked);
