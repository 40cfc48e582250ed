/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/cost/ways.h"

#include "recorder/observe/fake_kernel.h"

UNIT_TEST_ALONE;

static const struct key_options keys = { 0 };
static struct observed_table table;
static struct observed *process;
static struct ways ways;
static struct split_way lengths[_SESSION_WAY_MAX];

static int set_up(void **state)
{
	(void)state;
	fake_reset();
	fake.has_split = true;
	fake.short_way_ns = 100;
	fake.long_way_ns = 300;
	table = (struct observed_table){ .keys = &keys };
	process = observed_add(&table, life_of(FAKE_PID), FAKE_PID, 0, "ruby");
	ways = (struct ways){ 0 };
	memset(lengths, 0, sizeof(lengths));
	return process ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	observed_table_deinit(&table);
	return 0;
}

static void look(int times, unsigned int lean_causes)
{
	process->lean_causes = lean_causes;
	for (int i = 0; i < times; i++)
		ways_follow(&ways, &fake.session, &table);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(ways_measure_long_way_while_in_use_and_a_while_after)
{
	look(20, 0);
	assert_string_equal(fake.told, "");
	look(3, LEAN_BUDGET);
	assert_string_equal(fake.told, "way 1\n");
	look(9, 0);
	assert_string_equal(fake.told, "way 1\n");
	look(1, 0);
	assert_string_equal(fake.told, "way 1\nno way 1\n");
	look(20, 0);
	look(1, LEAN_BUDGET);
	assert_string_equal(fake.told, "way 1\nno way 1\nway 1\n");
}

FIXTURE_TEST(ways_extend_measurement_when_long_way_is_used_again)
{
	look(1, LEAN_BUDGET);
	look(9, 0);
	look(1, LEAN_BUDGET);
	look(9, 0);
	assert_string_equal(fake.told, "way 1\n");
	look(1, 0);
	assert_string_equal(fake.told, "way 1\nno way 1\n");
}

FIXTURE_TEST(ways_do_not_retry_failed_measurement_at_once)
{
	fake.failures[FAKE_CALIBRATE] = -EIO;
	look(2, LEAN_BUDGET);
	assert_string_equal(fake.told, "way 1\n");
}

FIXTURE_TEST(ways_restart_measurement_after_split_is_given_up)
{
	look(1, LEAN_BUDGET);
	ways_give_up(&ways);
	look(1, LEAN_BUDGET);
	assert_string_equal(fake.told, "way 1\nway 1\n");
}

FIXTURE_TEST(ways_skip_long_way_without_split_or_in_lean_session)
{
	fake.has_split = false;
	look(1, LEAN_BUDGET);
	ways_measure(&fake.session, 0, lengths);
	fake.has_split = fake.is_lean = true;
	look(1, LEAN_BUDGET);
	assert_string_equal(fake.told, "");
	assert_true(lengths[SESSION_WAY_SHORT].hot_ns == 0);
	ways_note(&table, &fake.session);
	assert_int_equal(process->books.way, SESSION_WAY_SHORT);
	assert_false(process->books.has_both_ways);
}

FIXTURE_TEST(ways_use_short_way_with_full_spread_until_long_is_measured)
{
	ways_measure(&fake.session, 0, lengths);
	assert_true(lengths[SESSION_WAY_SHORT].hot_ns == 100);
	assert_true(lengths[SESSION_WAY_SHORT].spread_ns == 0);
	assert_true(lengths[SESSION_WAY_LONG].hot_ns == 100);
	assert_true(lengths[SESSION_WAY_LONG].spread_ns == 100);
	look(1, LEAN_BUDGET);
	ways_measure(&fake.session, 0, lengths);
	assert_true(lengths[SESSION_WAY_SHORT].hot_ns == 100);
	assert_true(lengths[SESSION_WAY_LONG].hot_ns == 300);
	assert_true(lengths[SESSION_WAY_LONG].spread_ns == 0);
}

FIXTURE_TEST(ways_note_both_ways_in_window_of_mode_change)
{
	static const struct {
		unsigned int lean_causes;
		enum session_way way;
		bool has_both;
	} windows[] = {
		{ 0, SESSION_WAY_SHORT, false },	   { LEAN_BUDGET, SESSION_WAY_LONG, true },
		{ LEAN_NO_SITE, SESSION_WAY_LONG, false }, { 0, SESSION_WAY_SHORT, true },
		{ 0, SESSION_WAY_SHORT, false },
	};

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		process->lean_causes = windows[i].lean_causes;
		ways_note(&table, &fake.session);
		assert_int_equal(process->books.way, windows[i].way);
		assert_int_equal(process->books.has_both_ways, windows[i].has_both);
	}
}
