/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/contexts.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"

/* What the kernel's map has of one context, and how often it was told to remove it. */
struct snapshot {
	bool is_there;
	unsigned int removals;
};

enum {
	HASH = 77,
	WINDOWS_MAX = 8
};

static void remove_snapshot(void *user, uint64_t hash)
{
	struct snapshot *snapshot = user;

	assert_int_equal(hash, HASH);
	snapshot->is_there = false;
	snapshot->removals++;
}

static void add(struct context_table *table, uint64_t hash, uint64_t window)
{
	const char *const values[] = { "x" };
	struct context context = { .hash = hash, .values = values, .last_window = window };

	assert_int_equal(context_table_add(table, &context, 1), 0);
}

/* Its values may be partly those of the one whose place it takes. */
TEST(context_table_replaces_context_of_equal_hash)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	const char *values[] = { "r1", NULL };
	struct context context = { .hash = HASH, .values = values, .last_window = 3 };
	const struct context *found;
	uint64_t digest;

	assert_null(context_table_look(table, HASH));
	assert_int_equal(context_table_add(table, &context, 2), 0);
	found = context_table_look(table, HASH);
	digest = found->texts_digest;
	values[0] = found->values[0];
	values[1] = "GET /";
	assert_int_equal(context_table_add(table, &context, 2), 0);
	assert_int_equal(context_table_count(table), 1);
	found = context_table_look(table, HASH);
	assert_string_equal(found->values[0], "r1");
	assert_string_equal(found->values[1], "GET /");
	assert_int_not_equal(found->texts_digest, digest);
	assert_int_equal(found->last_window, 3);
}

TEST(context_table_finds_context_with_copied_values)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	char id[] = "req-1";
	const char *const values[] = { id, NULL, "GET /" };
	struct context context = { .hash = 77, .values = values, .last_window = 1 };
	const struct context *found;

	assert_int_equal(context_table_add(table, &context, 3), 0);
	id[0] = 'X'; /* values are copied */
	found = context_table_find(table, 77, 2);
	assert_non_null(found);
	assert_string_equal(found->values[0], "req-1");
	assert_null(found->values[1]);
	assert_string_equal(found->values[2], "GET /");
	assert_null(context_table_find(table, 78, 2));
}

TEST(context_table_adds_nothing_without_memory)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	const char *const values[] = { "x" };
	const struct context context = { .hash = HASH, .values = values };
	size_t failures = 0;

	assert_each_allocation_can_fail(
		context_table_add(table, &context, 1),
		(failures++, assert_int_equal(context_table_count(table), 0)));
	assert_int_equal(context_table_count(table), 1);
	/* The context, its table, and the table's buckets. */
	assert_int_equal(failures, 3);
	assert_string_equal(context_table_look(table, HASH)->values[0], "x");
	context_table_free(NULL);
}

TEST(context_table_distinguishes_empty_from_absent_value)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	const char *const values[] = { "", NULL };
	struct context context = { .hash = 1, .values = values };

	assert_int_equal(context_table_add(table, &context, 2), 0);
	assert_string_equal(context_table_find(table, 1, 0)->values[0], "");
	assert_null(context_table_find(table, 1, 0)->values[1]);
}

TEST(context_table_digests_distinguish_texts)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	const char *const texts[][2] = { { "ab", "c" }, { "a", "bc" },	{ "ab", NULL },
					 { "ab", "" },	{ NULL, "ab" }, { "ab", "c" } };
	const size_t count = sizeof(texts) / sizeof(texts[0]);
	uint64_t digests[6];

	for (size_t i = 0; i < count; i++) {
		struct context context = { .hash = i + 1, .values = texts[i] };

		assert_int_equal(context_table_add(table, &context, 2), 0);
		digests[i] = context_table_find(table, i + 1, 0)->texts_digest;
		for (size_t j = 0; j < i; j++)
			assert_int_equal(digests[i] == digests[j], i == count - 1 && j == 0);
	}
}

TEST(context_table_keeps_context_found_in_each_window)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	struct snapshot snapshot = { .is_there = true };

	add(table, HASH, 1);
	for (uint64_t window = 1; window < WINDOWS_MAX; window++) {
		assert_non_null(context_table_find(table, HASH, window));
		context_table_end_window(table, window, remove_snapshot, &snapshot);
	}
	assert_true(snapshot.is_there);
}

TEST(context_table_retires_unused_snapshot_before_its_texts)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	struct snapshot snapshot = { .is_there = true };

	add(table, HASH, 1);
	context_table_end_window(table, 1, remove_snapshot, &snapshot);
	assert_int_equal(snapshot.removals, 0);
	context_table_end_window(table, 2, remove_snapshot, &snapshot);
	assert_int_equal(snapshot.removals, 1);
	/* Its texts go when both maps of accounts were drained since, and its snapshot only once.
	 */
	context_table_end_window(table, 3, remove_snapshot, &snapshot);
	assert_int_equal(context_table_count(table), 1);
	context_table_end_window(table, 4, remove_snapshot, &snapshot);
	assert_int_equal(context_table_count(table), 0);
	assert_int_equal(snapshot.removals, 1);
}

TEST(context_table_resets_retirement_when_context_is_found_again)
{
	_cleanup_(context_table_freep) struct context_table *table = context_table_new();
	struct snapshot snapshot = { .is_there = true };

	add(table, HASH, 1);
	context_table_end_window(table, 2, remove_snapshot, &snapshot);
	assert_non_null(context_table_find(table, HASH, 3));
	for (uint64_t window = 3; window <= 5; window++)
		context_table_end_window(table, window, remove_snapshot, &snapshot);
	assert_int_equal(snapshot.removals, 2);
	assert_int_equal(context_table_count(table), 1);
	context_table_end_window(table, 6, remove_snapshot, &snapshot);
	assert_int_equal(context_table_count(table), 0);
}

/* A thread that comes back, as charge_open_account() (bpf/charge.bpf.h) does it. */
static void open_account(struct snapshot *snapshot, bool *account)
{
	snapshot->is_there = true;
	*account = true;
}

/* As resolve_rows() does it. False: nobody knows what the account's context is. */
static bool drain(struct context_table *table, struct snapshot *snapshot, bool *account,
		  uint64_t window)
{
	bool was_opened = *account;

	*account = false;
	if (!was_opened || context_table_find(table, HASH, window))
		return true;
	if (!snapshot->is_there)
		return false;
	snapshot->is_there = false;
	add(table, HASH, window);
	return true;
}

/* When a thread comes back: as the window's drain begins, ends, after contexts were forgotten. */
enum return_way {
	AWAY,
	BEFORE_DRAIN,
	AFTER_DRAIN,
	DYING, /* after the drain, to the window that was drained */
	AFTER_END,
	RETURN_WAYS
};

/* One window, in which a thread comes back in that way; false: its account was nobody's. */
static bool pass_window(struct context_table *table, struct snapshot *snapshot, bool accounts[2],
			uint64_t window, enum return_way way)
{
	bool *ended = &accounts[window & 1], *open = &accounts[(window + 1) & 1];

	if (way == BEFORE_DRAIN)
		open_account(snapshot, open);
	if (!drain(table, snapshot, ended, window))
		return false;
	if (way == AFTER_DRAIN)
		open_account(snapshot, open);
	if (way == DYING)
		open_account(snapshot, ended);
	context_table_end_window(table, window, remove_snapshot, snapshot);
	if (way == AFTER_END)
		open_account(snapshot, open);
	return true;
}

TEST(context_table_knows_context_whenever_thread_returns)
{
	unsigned int count = 1;

	for (unsigned int i = 0; i < WINDOWS_MAX; i++)
		count *= RETURN_WAYS;
	for (unsigned int number = 0; number < count; number++) {
		struct context_table *table = context_table_new();
		struct snapshot snapshot = { 0 };
		bool accounts[2] = { false, false };
		unsigned int ways = number;

		for (uint64_t window = 1; window <= WINDOWS_MAX; window++, ways /= RETURN_WAYS)
			if (!pass_window(table, &snapshot, accounts, window, ways % RETURN_WAYS))
				fail_msg("ways number %u, window %u", number, (unsigned int)window);
		context_table_free(table);
	}
}
