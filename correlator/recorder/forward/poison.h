/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The search for the entries of a chunk that a collector refuses: halves of what is refused are
 * tried until the bad ones stand alone. Pure: says what to try next, and is told what came of it.
 *
 * A collector that is down behind a proxy refuses everything, and nothing may be set aside for
 * that. So an entry is only called bad when it was refused alone three times, and something else
 * was acked between each two of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct poison_hunt;

/* Whole entries of a chunk. */
struct poison_part {
	size_t offset_bytes;
	size_t size_bytes;
	uint32_t entries;
};

enum poison_verdict {
	POISON_GO_ON = 0, /* try the next part */
	POISON_BAD = 1, /* that part was one entry, and it is bad: it is not tried again */
};

/* A chunk that was refused as a whole. bytes must stay what and where they are, or be given anew
 * by poison_hunt_rebind. NULL without memory. */
struct poison_hunt *poison_hunt_new(const void *bytes, size_t size_bytes, uint32_t entries);
void poison_hunt_free(struct poison_hunt *hunt);
DEFINE_CLEANUP(struct poison_hunt *, poison_hunt_free);
void poison_hunt_rebind(struct poison_hunt *hunt, const void *bytes);

/* The part to try now; false: every entry was acked or is bad. */
bool poison_hunt_next(const struct poison_hunt *hunt, struct poison_part *ret_part);

/* What came of it. */
void poison_hunt_acked(struct poison_hunt *hunt);
enum poison_verdict poison_hunt_refused(struct poison_hunt *hunt);
/* Something that is not of this chunk was acked: a proof that the collector takes something. */
void poison_hunt_witnessed(struct poison_hunt *hunt);

/* Nothing that is left can be judged before something else is acked. */
bool poison_hunt_is_stuck(const struct poison_hunt *hunt);
/*
 * When it is stuck and there is nothing else to send, the weaker proof will do: something was acked
 * after the chunk was refused, and before this entry was. As poison_hunt_refused, of the next part.
 */
enum poison_verdict poison_hunt_concede(struct poison_hunt *hunt);
