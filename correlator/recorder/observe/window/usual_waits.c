/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/usual_waits.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"

enum {
	STEPS = 8, /* of a doubling */
	STEPS_LOG2 = 3,
	/* From USUAL_WAITS_LEAST_NS on; the last one is of all that is longer (over 12 days). */
	DOUBLINGS = 30,
	BUCKETS = DOUBLINGS * STEPS,
};

struct usual {
	uint32_t counts[BUCKETS];
	uint32_t total;
	UT_hash_handle hh;
	char value[]; /* with its NUL */
};

struct usual_waits {
	uint32_t percent_above; /* that are longer than usual */
	uint64_t seed;
	struct usual *usuals; /* uthash */
	struct usual others;
};

struct usual_waits *usual_waits_new(uint32_t percentile)
{
	struct usual_waits *waits = calloc(1, sizeof(*waits));

	if (!waits)
		return NULL;
	waits->percent_above = 100 - percentile;
	waits->seed = random_seed();
	return waits;
}

void usual_waits_free(struct usual_waits *waits)
{
	struct usual *usual, *next;

	if (!waits)
		return;
	HASH_ITER(hh, waits->usuals, usual, next) {
		HASH_DEL(waits->usuals, usual);
		free(usual);
	}
	free(waits);
}

static struct usual *find_usual(struct usual_waits *waits, const char *value)
{
	size_t size_bytes = strlen(value);
	uint32_t hash = hash_table_key(waits->seed, value, size_bytes);
	struct usual *usual;

	HASH_FIND_BYHASHVALUE(hh, waits->usuals, value, size_bytes, hash, usual);
	if (usual)
		return usual;
	if (HASH_COUNT(waits->usuals) >= USUAL_WAITS_VALUES)
		return &waits->others;
	usual = calloc(1, sizeof(*usual) + size_bytes + 1);
	if (!usual)
		return &waits->others;
	memcpy(usual->value, value, size_bytes + 1);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, waits->usuals, usual->value, size_bytes, hash, usual);
	if (usual->hh.tbl)
		return usual;
	free(usual);
	return &waits->others;
}

/* Doublings since the least wait, and the step within the last one. */
static uint32_t bucket_of(uint64_t wait_ns)
{
	uint64_t multiple = (wait_ns << STEPS_LOG2) / USUAL_WAITS_LEAST_NS;
	uint32_t doublings, bucket;

	if (wait_ns >= USUAL_WAITS_LEAST_NS << (DOUBLINGS - 1))
		return BUCKETS - 1;
	if (wait_ns < USUAL_WAITS_LEAST_NS)
		return 0;
	doublings = 63 - (uint32_t)__builtin_clzll(multiple) - STEPS_LOG2;
	bucket = doublings * STEPS + (uint32_t)(multiple >> doublings) - STEPS;
	return bucket < BUCKETS ? bucket : BUCKETS - 1;
}

static void halve(struct usual *usual)
{
	usual->total = 0;
	for (uint32_t i = 0; i < BUCKETS; i++)
		usual->total += usual->counts[i] /= 2;
}

bool usual_waits_learn(struct usual_waits *waits, const char *value, uint64_t wait_ns)
{
	struct usual *usual = find_usual(waits, value ? value : "");
	uint32_t bucket = bucket_of(wait_ns), as_long = 0, least_total = 100 / waits->percent_above;
	bool is_long;

	for (uint32_t i = bucket; i < BUCKETS; i++)
		as_long += usual->counts[i];
	is_long =
		usual->total >= least_total && as_long * 100 < usual->total * waits->percent_above;
	usual->counts[bucket]++;
	if (++usual->total >= USUAL_WAITS_HALVED_AT)
		halve(usual);
	return is_long;
}
