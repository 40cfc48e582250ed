/* SPDX-License-Identifier: GPL-2.0-only */
#include <inttypes.h>
#include <stdio.h>

#include "unit_test.h"

#include "reader/aggregate/sample_totals.h"
#include "reader/query/known_records.h"

static int setup(void **state)
{
	static struct known_records known;

	known_records_init(&known);
	*state = &known;
	return 0;
}

static int teardown(void **state)
{
	known_records_deinit(*state);
	return 0;
}

/* A record of that id: whether it was known. It is afterwards. */
static bool meet(struct known_records *known, const char *id)
{
	struct record_view view = {
		.field_count = 1,
		.fields = { { .name = { "record_id", sizeof("record_id") - 1 },
			      .value = RECORD_VALUE_TEXT,
			      .text = { id, strlen(id) } } },
		.places.common.record_id = 1,
	};
	bool is_known = known_records_has(known, &view);

	assert_int_equal(known_records_add(known, &view), 0);
	return is_known;
}

static bool meet_number(struct known_records *known, const char *recorder, uint64_t number)
{
	char id[64];

	(void)snprintf(id, sizeof(id), "%s:%" PRIu64, recorder, number);
	return meet(known, id);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(known_records_recognize_repeated_record)
{
	for (uint64_t number = 1; number <= 3 * KNOWN_RECORDS_PAGE; number++)
		assert_false(meet_number(*state, "b0:42:7", number));
	for (uint64_t number = 3 * KNOWN_RECORDS_PAGE; number > 0; number--)
		assert_true(meet_number(*state, "b0:42:7", number));
	assert_false(meet_number(*state, "b0:42:7", 3 * KNOWN_RECORDS_PAGE + 1));
}

FIXTURE_TEST(known_records_keep_recorders_apart)
{
	assert_false(meet(*state, "b0:42:7:1"));
	assert_false(meet(*state, "b0:42:8:1"));
	assert_false(meet(*state, "b1:42:7:1"));
	assert_false(meet(*state, "b0:42:71:1"));
	assert_false(meet(*state, ":1"));
	assert_true(meet(*state, "b1:42:7:1"));
}

FIXTURE_TEST(known_records_never_recognize_malformed_id)
{
	static const char *const ids[] = { "",
					   "1",
					   "id",
					   "b0:",
					   "b0:x1",
					   "b0:01",
					   "b0:-1",
					   "b0:0",
					   "b0:18446744073709551616",
					   "b0:99999999999999999999" };
	char longest[256];

	memset(longest, 'r', sizeof(longest));
	memcpy(longest + sizeof(longest) - 3, ":1", 3);
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
		for (int round = 0; round < 2; round++)
			assert_false(meet(*state, ids[i]));
	assert_false(meet(*state, longest));
	assert_false(meet(*state, longest));
	assert_false(meet(*state, "b0:18446744073709551615"));
	assert_true(meet(*state, "b0:18446744073709551615"));
}

FIXTURE_TEST(known_records_limit_recorder_name_to_120_bytes)
{
	char id[120 + sizeof("1:1")];

	memset(id, 'r', sizeof(id));
	memcpy(id + 119, ":1", sizeof(":1"));
	assert_false(meet(*state, id));
	assert_true(meet(*state, id));
	memcpy(id + 119, "r:1", sizeof("r:1"));
	assert_false(meet(*state, id));
	assert_false(meet(*state, id));
}

FIXTURE_TEST(known_records_use_one_bit_per_record)
{
	const struct known_records *known = *state;
	const uint64_t count = 250 * KNOWN_RECORDS_PAGE;

	for (uint64_t number = 1; number < count; number++)
		assert_false(meet_number(*state, "b0071d00:4242:77", number));
	assert_int_equal(known->page_count, 250);
}

/* Numbers that a hostile file draws: each in a page of its own. */
FIXTURE_TEST(known_records_bound_memory_for_sparse_numbers)
{
	struct known_records *known = *state;
	const uint64_t apart = 1000 * KNOWN_RECORDS_PAGE;

	for (uint64_t number = 1; number <= KNOWN_RECORDS_PAGES_MAX; number++)
		assert_false(meet_number(known, "b0:42:7", apart * number));
	assert_false(known->is_full);
	assert_false(meet_number(known, "b0:42:7", 1));
	assert_true(known->is_full);
	assert_false(meet_number(known, "b0:42:7", 1));
	assert_int_equal(known->page_count, KNOWN_RECORDS_PAGES_MAX);
	assert_true(meet_number(known, "b0:42:7", apart));
}
