/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "recorder/observe/window/window_slices.h"

#include "failing_memory.h"
#include "recorder/observe/fake_recorder.h"

UNIT_TEST_ALONE;

enum {
	ROOM = 3000, /* for stints */
	MANY = 12000, /* whose records are more than what is written at a time */
	MUCH_BYTES = 1024 * 1024
};

struct bench {
	struct window_slices *timeline;
	struct key_options keys;
	struct observed_table processes;
	struct context_table *contexts;
	struct output output;
	struct window window;
};

static int lay_out(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	if (!bench || set_up(state) < 0)
		return -1;
	bench->timeline = window_slices_new(ROOM * sizeof(struct stint) + sizeof(struct stint) - 1);
	bench->contexts = context_table_new();
	bench->processes.keys = &bench->keys;
	*state = bench;
	return bench->timeline && bench->contexts &&
			       window_init(&bench->window, &bench->keys) == 0 &&
			       observed_add(&bench->processes, life_of(FAKE_PID), FAKE_PID, 0,
					    "ruby") &&
			       output_prepare(&bench->output, &fake.recording.output) ==
				       EXIT_CODE_OK &&
			       output_open(&bench->output, FAKE_WALL_NS) == EXIT_CODE_OK
		       ? 0
		       : -1;
}

static int put_away(void **state)
{
	struct bench *bench = *state;

	memory_never_fails();
	window_slices_free(bench->timeline);
	output_deinit(&bench->output);
	context_table_free(bench->contexts);
	window_deinit(&bench->window);
	observed_table_deinit(&bench->processes);
	free(bench);
	return 0;
}

/* One of 1 ns, charged at once; no two begin together. */
static struct stint *run(uint64_t thread)
{
	static uint32_t charge;
	struct stint *stint = &fake.stints[fake.stint_count++];

	assert_true(fake.stint_count <= FAKE_STINTS_MAX);
	charge++;
	*stint = (struct stint){ .thread_serial = thread,
				 .life = life_of(FAKE_PID),
				 .charge = charge,
				 .start_ns = FAKE_START_NS + charge,
				 .end_ns = FAKE_START_NS + charge + 1,
				 .user_ns = 1,
				 .flags = STINT_IS_CHARGED };
	return stint;
}

static void run_often(struct bench *bench, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		(void)run(1);
		if (fake.stint_count == FAKE_STINTS_MAX || i + 1 == count)
			window_slices_read(bench->timeline, &fake.session,
					   window_slices_due_ns(bench->timeline));
	}
}

static int end_window(struct bench *bench)
{
	window_slices_settle(bench->timeline, &fake.session, &bench->window, &bench->processes);
	return window_slices_put(bench->timeline, &bench->window, &bench->processes,
				 bench->contexts, &bench->output);
}

static uint64_t lost(const struct bench *bench)
{
	return observed_find(&bench->processes, life_of(FAKE_PID))
		->books.balance.losses[COUNTER_SLICE_LOST];
}

/* The records of slices, once all is written. */
static const char *slices_recorded(struct bench *bench)
{
	assert_int_equal(output_write(&bench->output, FAKE_WALL_NS), 0);
	return strstr(recorded(), "slice");
}

#define FIXTURE_TEST(test) TEST_WITH(test, lay_out, put_away)

FIXTURE_TEST(timeline_reads_ring_20_times_per_second)
{
	struct bench *bench = *state;
	uint64_t now_ns = FAKE_START_NS;

	assert_int_equal(window_slices_due_ns(bench->timeline), 0);
	window_slices_read(bench->timeline, &fake.session, now_ns);
	assert_int_equal(fake.stint_readings, 1);
	assert_int_equal(window_slices_due_ns(bench->timeline), now_ns + NS_PER_S / 20);
	window_slices_read(bench->timeline, &fake.session, now_ns + NS_PER_S / 20 - 1);
	assert_int_equal(fake.stint_readings, 1);
	window_slices_read(bench->timeline, &fake.session, now_ns + NS_PER_S / 20);
	assert_int_equal(fake.stint_readings, 2);
}

FIXTURE_TEST(timeline_drops_and_counts_slices_over_capacity)
{
	struct bench *bench = *state;

	run_often(bench, ROOM + 3);
	assert_int_equal(end_window(bench), 0);
	assert_int_equal(lost(bench), 3);
	/* Nothing of that window is in the next one's way. */
	run_often(bench, ROOM);
	assert_int_equal(end_window(bench), 0);
	assert_int_equal(lost(bench), 3);
}

static struct account_key of_thread(uint64_t serial, uint64_t hash)
{
	return (struct account_key){ .thread_serial = serial,
				     .life = life_of(FAKE_PID),
				     .context_hash = hash };
}

FIXTURE_TEST(timeline_names_thread_after_its_first_account)
{
	static const struct {
		uint64_t thread;
		const char *name;
	} accounts[] = { { 1, "one" }, { 1ULL << 32 | 1, "two" }, { 1, "later" } };
	struct bench *bench = *state;

	for (size_t i = 0; i < 3; i++) {
		const struct account_key key = of_thread(accounts[i].thread, i);
		struct account account = { 0 };

		(void)snprintf((char *)account.comm, sizeof(account.comm), "%s", accounts[i].name);
		assert_int_equal(window_add_account(&bench->window, &key, &account), 0);
	}
	/* One of a process that nobody knows has no record, and is in nobody's way. */
	run(9)->life = life_of(FAKE_PID + 1);
	(void)run(1);
	(void)run(1ULL << 32 | 1);
	(void)run(3);
	assert_int_equal(end_window(bench), 0);
	assert_non_null(strstr(slices_recorded(bench), "slice 0 one - running"));
	assert_non_null(strstr(slices_recorded(bench), "slice 0 two - running"));
	assert_non_null(strstr(slices_recorded(bench), "slice 0 - - running"));
	assert_null(strstr(slices_recorded(bench), "later"));
}

FIXTURE_TEST(timeline_writes_early_if_window_has_many_slices)
{
	struct bench *bench = *state;
	struct stat status;

	window_slices_free(bench->timeline);
	bench->timeline = window_slices_new(MANY * sizeof(struct stint));
	assert_non_null(bench->timeline);
	/* A little is not. */
	run_often(bench, 10);
	assert_int_equal(end_window(bench), 0);
	assert_true(output_mark(&bench->output) > 0);
	run_often(bench, MANY);
	assert_int_equal(end_window(bench), 0);
	assert_in_range(output_mark(&bench->output), 1, MUCH_BYTES);
	assert_int_equal(stat(path, &status), 0);
	assert_in_range(status.st_size, MUCH_BYTES, 100 * MUCH_BYTES);
}

static void settle_one(struct bench *bench)
{
	(void)run(1);
	window_slices_settle(bench->timeline, &fake.session, &bench->window, &bench->processes);
}

FIXTURE_TEST(timeline_forgets_slices_of_window_without_memory)
{
	struct bench *bench = *state;
	const struct account_key key = of_thread(1, 0);
	const struct account account = { .comm = "one" };
	size_t failures = 0;

	assert_int_equal(window_add_account(&bench->window, &key, &account), 0);
	settle_one(bench);
	assert_each_allocation_can_fail(window_slices_put(bench->timeline, &bench->window,
							  &bench->processes, bench->contexts,
							  &bench->output),
					(failures++, settle_one(bench)));
	assert_true(failures > 1);
	/* Only the last one has a record, with all that is known of it. */
	assert_non_null(strstr(slices_recorded(bench), "slice 0 one -"));
	assert_null(strstr(slices_recorded(bench) + 1, "slice"));
}

TEST(timeline_new_fails_without_memory)
{
	struct window_slices *timeline;
	size_t failures = 0;

	assert_each_allocation_can_fail((timeline = window_slices_new(1000)) ? 0 : -ENOMEM,
					failures++);
	assert_true(failures > 1);
	window_slices_free(timeline);
	window_slices_free(NULL);
}

FIXTURE_TEST(timeline_null_reads_and_writes_nothing)
{
	struct bench *bench = *state;

	assert_int_equal(window_slices_due_ns(NULL), UINT64_MAX);
	window_slices_read(NULL, &fake.session, FAKE_START_NS);
	window_slices_settle(NULL, &fake.session, &bench->window, &bench->processes);
	assert_int_equal(fake.stint_readings, 0);
	assert_int_equal(window_slices_put(NULL, &bench->window, &bench->processes, bench->contexts,
					   &bench->output),
			 0);
}

TEST_GROUP(make_file, remove_file)
