/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Searches for the entries of a chunk that a collector refuses: halves what is refused until the
 * bad entries stand alone. Pure: returns what to try next, and is given the result.
 *
 * A collector that is down behind a proxy refuses everything, and nothing may be set aside for
 * that. So an entry is only called bad after it was refused alone three times, with an ack of
 * something else between every two refusals.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct poison_hunt;

/* A run of whole entries of a chunk. */
struct poison_part {
	size_t offset_bytes;
	size_t size_bytes;
	uint32_t entries;
};

enum poison_verdict {
	POISON_GO_ON = 0, /* try the next part */
	POISON_BAD = 1, /* the part was one entry, which is bad: it is not tried again */
};

/*
 * Begins with a chunk that was refused as a whole. bytes must stay unchanged and in place, or be
 * set anew by poison_hunt_rebind. NULL: out of memory.
 */
struct poison_hunt *poison_hunt_new(const void *bytes, size_t size_bytes, uint32_t entries);
void poison_hunt_free(struct poison_hunt *hunt);
DEFINE_CLEANUP(struct poison_hunt *, poison_hunt_free);
void poison_hunt_rebind(struct poison_hunt *hunt, const void *bytes);

/* The part to try now; false: every entry was acked or is bad. */
bool poison_hunt_next(const struct poison_hunt *hunt, struct poison_part *ret_part);

/* The result of that try. */
void poison_hunt_acked(struct poison_hunt *hunt);
enum poison_verdict poison_hunt_refused(struct poison_hunt *hunt);
/* Data outside this chunk was acked: proof that the collector accepts something. */
void poison_hunt_witnessed(struct poison_hunt *hunt);

/* True if no remaining part can be judged before something else is acked. */
bool poison_hunt_is_stuck(const struct poison_hunt *hunt);
/*
 * When the hunt is stuck and there is nothing else to send, accepts a weaker proof: something was
 * acked after the chunk was refused, and before this entry was. Result as poison_hunt_refused, for
 * the next part.
 */
enum poison_verdict poison_hunt_concede(struct poison_hunt *hunt);
