/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long waits usually are, by the value of a key: which of them are among the longest of their
 * own. A value is known after 100 waits if the longest percent is wanted, and learns on: old waits
 * count less and less. Waits are counted in steps of an eighth of their length or less. Bounded:
 * values beyond USUAL_WAITS_VALUES are one. Values are untrusted: looked up by a keyed hash. Pure;
 * single thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"

enum {
	USUAL_WAITS_VALUES = 1000, /* each takes some 1.3 KB */
	USUAL_WAITS_PERCENTILE_MIN = 50,
	USUAL_WAITS_PERCENTILE_MAX = 99,
	USUAL_WAITS_HALVED_AT = 20000, /* waits of a value; then each counts half */
};

/* Shorter ones are as long as that. */
#define USUAL_WAITS_LEAST_NS NS_PER_MS

struct usual_waits;

/* percentile: USUAL_WAITS_PERCENTILE_MIN to ..._MAX. NULL: no memory. */
struct usual_waits *usual_waits_new(uint32_t percentile);
void usual_waits_free(struct usual_waits *waits);
DEFINE_CLEANUP(struct usual_waits *, usual_waits_free);

/*
 * Learns one wait; value: NULL = without one, which is a value, too. Returns whether it is longer
 * than the percentile of those before it; false as long as the value is not known. Without memory
 * for another value, that is one of those beyond USUAL_WAITS_VALUES.
 */
bool usual_waits_learn(struct usual_waits *waits, const char *value, uint64_t wait_ns);
