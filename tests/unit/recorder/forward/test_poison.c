/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/forward/poison.h"

enum {
	ENTRIES_MAX = 3000,
	ENTRY_BYTES = 14 /* and one more for each odd entry */
};

/* A chunk of entries that each know their number, and a collector with a taste. */
struct scene {
	uint8_t bytes[ENTRIES_MAX * (ENTRY_BYTES + 1)];
	size_t size_bytes;
	uint32_t entries;
	size_t starts[ENTRIES_MAX + 1];
	bool is_bad[ENTRIES_MAX];
	bool was_acked[ENTRIES_MAX];
	bool was_rejected[ENTRIES_MAX];
	unsigned int tries;
};

static struct scene *make_scene(uint32_t entries)
{
	struct scene *scene = calloc(1, sizeof(*scene));

	assert_non_null(scene);
	assert_true(entries <= ENTRIES_MAX);
	scene->entries = entries;
	for (uint32_t i = 0; i < entries; i++) {
		uint8_t *entry = scene->bytes + scene->size_bytes;

		scene->starts[i] = scene->size_bytes;
		/* [EventTime 0, {"": 1}] or {"": uint8} */
		memcpy(entry, "\x92\xd7\x00\0\0\0\0\0\0\0\0\x81\xa0", 13);
		if (i % 2)
			entry[13] = 0xcc;
		scene->size_bytes += ENTRY_BYTES + i % 2;
	}
	scene->starts[entries] = scene->size_bytes;
	return scene;
}

/* The numbers of its entries; its edges must be theirs. */
static void find_entries(const struct scene *scene, const struct poison_part *part,
			 uint32_t *ret_first, uint32_t *ret_end)
{
	uint32_t first = 0;

	while (first < scene->entries && scene->starts[first] != part->offset_bytes)
		first++;
	assert_true(first + part->entries <= scene->entries);
	assert_int_equal(scene->starts[first + part->entries] - scene->starts[first],
			 part->size_bytes);
	*ret_first = first;
	*ret_end = first + part->entries;
}

static bool is_refused(const struct scene *scene, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		if (scene->is_bad[i])
			return true;
	}
	return false;
}

static void mark(bool *flags, const bool *others, uint32_t first, uint32_t end)
{
	for (uint32_t i = first; i < end; i++) {
		assert_false(flags[i] || others[i]);
		flags[i] = true;
	}
}

/* One try with a collector that takes everything but what is bad. False: nothing is left. */
static bool try_once(struct scene *scene, struct poison_hunt *hunt)
{
	struct poison_part part;
	uint32_t first, end;

	if (!poison_hunt_next(hunt, &part))
		return false;
	scene->tries++;
	find_entries(scene, &part, &first, &end);
	if (!is_refused(scene, first, end)) {
		mark(scene->was_acked, scene->was_rejected, first, end);
		poison_hunt_acked(hunt);
	} else if (poison_hunt_refused(hunt) == POISON_BAD) {
		assert_int_equal(end - first, 1);
		mark(scene->was_rejected, scene->was_acked, first, end);
	}
	return true;
}

static struct poison_hunt *start(struct scene *scene)
{
	struct poison_hunt *hunt = poison_hunt_new(scene->bytes, scene->size_bytes, scene->entries);

	assert_non_null(hunt);
	assert_int_equal(poison_hunt_refused(hunt), POISON_GO_ON);
	return hunt;
}

static void expect_outcome(const struct scene *scene)
{
	for (uint32_t i = 0; i < scene->entries; i++) {
		assert_int_equal(scene->was_rejected[i], scene->is_bad[i]);
		assert_int_equal(scene->was_acked[i], !scene->is_bad[i]);
	}
}

/* To the end; what is stuck sees something else go through, as behind other chunks. */
static void run(struct scene *scene)
{
	struct poison_hunt *hunt = start(scene);

	while (try_once(scene, hunt)) {
		if (poison_hunt_is_stuck(hunt))
			poison_hunt_witnessed(hunt);
		assert_true(scene->tries < 8 * scene->entries + 100);
	}
	expect_outcome(scene);
	assert_false(poison_hunt_is_stuck(hunt));
	assert_int_equal(poison_hunt_concede(hunt), POISON_GO_ON);
	poison_hunt_free(hunt);
}

TEST(poison_hunt_finds_bad_entry_at_any_position)
{
	for (uint32_t entries = 2; entries < 20; entries++) {
		for (uint32_t bad = 0; bad < entries; bad++) {
			struct scene *scene = make_scene(entries);

			scene->is_bad[bad] = true;
			run(scene);
			free(scene);
		}
	}
}

TEST(poison_hunt_needs_at_most_two_tries_per_halving)
{
	struct scene *scene = make_scene(ENTRIES_MAX);

	scene->is_bad[1234] = true;
	run(scene);
	/* 12 halvings of 3000, two tries each, and the last words on the bad one. */
	assert_true(scene->tries <= 2 * 12 + 3);
	free(scene);
}

TEST(poison_hunt_finds_every_set_of_bad_entries)
{
	enum {
		ENTRIES = 9
	};

	for (unsigned int set = 0; set < 1U << ENTRIES; set++) {
		struct scene *scene = make_scene(ENTRIES);

		for (uint32_t i = 0; i < ENTRIES; i++)
			scene->is_bad[i] = set >> i & 1;
		run(scene);
		free(scene);
	}
}

TEST(poison_hunt_rejects_no_entry_if_everything_is_refused)
{
	struct scene *scene = make_scene(1000);
	struct poison_hunt *hunt;
	struct poison_part part;

	memset(scene->is_bad, true, sizeof(scene->is_bad));
	hunt = start(scene);
	for (int i = 0; i < 5000; i++)
		assert_true(try_once(scene, hunt));
	for (uint32_t i = 0; i < scene->entries; i++)
		assert_false(scene->was_rejected[i]);
	assert_true(poison_hunt_is_stuck(hunt));
	assert_int_equal(poison_hunt_concede(hunt), POISON_GO_ON);
	/* When it comes back, everything goes through. */
	memset(scene->is_bad, false, sizeof(scene->is_bad));
	while (try_once(scene, hunt))
		assert_true(scene->tries < 10000);
	expect_outcome(scene);
	assert_false(poison_hunt_next(hunt, &part));
	poison_hunt_free(hunt);
	free(scene);
}

TEST(poison_hunt_rejects_no_good_entry_if_collector_dies)
{
	for (unsigned int alive_tries = 1; alive_tries < 40; alive_tries++) {
		struct scene *scene = make_scene(64);
		struct poison_hunt *hunt;

		scene->is_bad[7] = scene->is_bad[40] = true;
		hunt = start(scene);
		for (unsigned int i = 0; i < alive_tries; i++)
			(void)try_once(scene, hunt);
		memset(scene->is_bad, true, sizeof(scene->is_bad));
		for (int i = 0; i < 1000; i++)
			(void)try_once(scene, hunt);
		memset(scene->is_bad, false, sizeof(scene->is_bad));
		scene->is_bad[7] = scene->is_bad[40] = true;
		for (uint32_t i = 0; i < scene->entries; i++)
			assert_false(scene->was_rejected[i] && !scene->is_bad[i]);
		while (try_once(scene, hunt) && scene->tries < 5000) {
			if (poison_hunt_is_stuck(hunt))
				poison_hunt_witnessed(hunt);
		}
		expect_outcome(scene);
		poison_hunt_free(hunt);
		free(scene);
	}
}

TEST(poison_hunt_concedes_to_weaker_proof_without_other_chunks)
{
	struct scene *scene = make_scene(2);
	struct poison_hunt *hunt;
	struct poison_part part;

	scene->is_bad[1] = true;
	hunt = start(scene);
	while (!poison_hunt_is_stuck(hunt))
		assert_true(try_once(scene, hunt));
	assert_true(scene->was_acked[0]);
	assert_int_equal(poison_hunt_concede(hunt), POISON_BAD);
	assert_false(poison_hunt_next(hunt, &part));
	poison_hunt_free(hunt);
	free(scene);
}

TEST(poison_hunt_of_single_entry_requires_witness)
{
	struct scene *scene = make_scene(1);
	struct poison_hunt *hunt;

	scene->is_bad[0] = true;
	hunt = start(scene);
	for (int i = 0; i < 10; i++)
		assert_true(try_once(scene, hunt));
	assert_true(poison_hunt_is_stuck(hunt));
	assert_int_equal(poison_hunt_concede(hunt), POISON_GO_ON);
	for (int i = 0; i < 2; i++) {
		assert_false(scene->was_rejected[0]);
		poison_hunt_witnessed(hunt);
		assert_false(poison_hunt_is_stuck(hunt));
		assert_true(try_once(scene, hunt));
	}
	expect_outcome(scene);
	poison_hunt_free(hunt);
	free(scene);
}

/* Each refusal but the last made one part more. */
TEST(poison_hunt_is_stuck_at_first_part_it_cannot_halve)
{
	struct scene *scene = make_scene(1000);
	struct poison_hunt *hunt;
	unsigned int refusals = 1, parts = 0;

	memset(scene->is_bad, true, sizeof(scene->is_bad));
	hunt = start(scene);
	while (!poison_hunt_is_stuck(hunt)) {
		assert_true(try_once(scene, hunt));
		refusals++;
	}
	memset(scene->is_bad, false, sizeof(scene->is_bad));
	while (try_once(scene, hunt))
		parts++;
	assert_int_equal(parts, refusals);
	poison_hunt_free(hunt);
	free(scene);
}

static void expect_whole(const struct scene *scene, const struct poison_hunt *hunt,
			 uint32_t entries)
{
	struct poison_part part;

	assert_true(poison_hunt_next(hunt, &part));
	assert_int_equal(part.offset_bytes, 0);
	assert_int_equal(part.size_bytes, scene->size_bytes);
	assert_int_equal(part.entries, entries);
}

/* Cut off, or with fewer entries than it says: the first half would be all, or more. */
TEST(poison_hunt_does_not_halve_chunk_with_wrong_entry_count)
{
	static const uint32_t said[] = { 6, 8, 100 };
	struct scene *scene = make_scene(3);

	for (size_t i = 0; i < 3; i++) {
		struct poison_hunt *hunt =
			poison_hunt_new(scene->bytes, scene->size_bytes, said[i]);

		assert_int_equal(poison_hunt_refused(hunt), POISON_GO_ON);
		expect_whole(scene, hunt, said[i]);
		poison_hunt_free(hunt);
	}
	free(scene);
}

TEST(poison_hunt_keeps_chunk_whole_without_memory)
{
	struct scene *scene = make_scene(5);
	const uint8_t *bytes = scene->bytes;
	struct poison_hunt *hunt;
	size_t failures = 0;

	assert_each_allocation_can_fail(
		(hunt = poison_hunt_new(bytes, scene->size_bytes, scene->entries)) ? 0 : -ENOMEM,
		failures++);
	assert_true(failures > 1);
	for (size_t successes = 0; successes < 2; successes++) {
		memory_fails_once_after(successes);
		assert_int_equal(poison_hunt_refused(hunt), POISON_GO_ON);
		assert_int_equal(memory_failures(), 1);
		memory_never_fails();
		expect_whole(scene, hunt, scene->entries);
	}
	/* And is halved once there is some. */
	scene->is_bad[3] = true;
	while (try_once(scene, hunt))
		if (poison_hunt_is_stuck(hunt))
			poison_hunt_witnessed(hunt);
	expect_outcome(scene);
	poison_hunt_free(hunt);
	poison_hunt_free(NULL);
	free(scene);
}
