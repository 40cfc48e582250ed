/* SPDX-License-Identifier: GPL-2.0-only */
/* A recording with --stacks: when its samples are taken, and its processes' frames looked for. */
#include "unit_test.h"

#include "failing_memory.h"
#include "recorder/observe/fake_names.h"
#include "recorder/observe/fake_recorder.h"
#include "recorder/observe/fake_target.h"

UNIT_TEST_ALONE;

enum {
	HZ = 100,
	STACK = 1000,
};

static int begin(void **state)
{
	fake_targets_reset();
	memset(&fake_names, 0, sizeof(fake_names));
	if (set_up(state) < 0)
		return -1;
	fake_target_add(FAKE_PID)->found.ruby.symbols = (struct ruby_symbols *)&fake_names;
	fake.looks_at_start = true;
	fake.recording.stacks_hz = HZ;
	fake.recording.duration_ns = 2 * NS_PER_S;
	fake.sampled_stack = STACK;
	return 0;
}

static void meet_a_request(void)
{
	static struct stack_message message;

	run_a_request();
	message.stack = STACK;
	message.life = life_of(FAKE_PID);
	message.image = fake.processes[0].image;
	message.frames.count = 1;
	message.frames.frames[0] =
		(struct ruby_frame){ .object_kind = 8 | RUBY_FRAME_RUBY, .pc = 1 };
	fake.on_stack(fake.on_stack_context, &message);
	fake.sampled[0] = fake.accounts[0].key;
	fake.sampled_count = 1;
}

#define FIXTURE_TEST(test) TEST_WITH(test, begin, NULL)

FIXTURE_TEST(recorder_writes_samples_after_balance_of_their_window)
{
	plan(NS_PER_S / 2, meet_a_request);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake.options.stacks_hz, HZ);
	assert_string_equal(recorded(), "meta exact split\n"
					"process 0 found exact\n"
					"stack 0 method_8\n"
					"cpu 0 r1 600\n"
					"cpu 0  300\n"
					"self 0\n"
					"cpu 0 - 100\n"
					"balance 0 1000 = 600 + 300 + 100, own 0\n"
					"sample 0 r1 2 of 10000000 ns\n"
					"self 0\n"
					"balance 0 0 = 0 + 0 + 0, own 0\n");
}

static size_t fake_successes;

static void meet_without_memory(void)
{
	meet_a_request();
	memory_fails_after(fake_successes);
}

static void meet_another(void)
{
	memory_never_fails();
	meet_a_request();
	fake.sampled[0] = fake.accounts[2].key;
	fake.sampled_epoch = 1;
}

/* The frames of each sample are in the records, and it is there once. */
static void expect_whole_stacks(void)
{
	_cleanup_(record_reader_freep) struct record_reader *reader = NULL;
	static struct record_view view;
	char written[8][64];
	size_t count = 0, i;

	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0) {
		if (view.kind == RECORD_KIND_STACK) {
			assert_in_range(count, 0, 7);
			(void)snprintf(written[count++], sizeof(written[0]), "%s",
				       text(&view, "stack_id"));
		}
		if (view.kind != RECORD_KIND_SAMPLE)
			continue;
		for (i = 0; i < count && strcmp(written[i], text(&view, "stack_id")) != 0;)
			i++;
		assert_in_range(i + 1, 1, count);
	}
}

FIXTURE_TEST(recorder_keeps_samples_with_their_frames_without_memory)
{
	bool is_lost = true, is_missing = false;

	for (fake_successes = 0; is_lost || is_missing; fake_successes++) {
		assert_int_equal(begin(state), 0);
		fake.recording.duration_ns = 3 * NS_PER_S;
		plan(NS_PER_S / 2, meet_without_memory);
		plan(5 * NS_PER_S / 4, memory_never_fails);
		plan(3 * NS_PER_S / 2, meet_another);
		(void)record();
		memory_never_fails();
		is_missing = strstr(fake.said, "records are missing (no memory)");
		is_lost = strstr(fake.said, "no memory: the records of a window are lost");
		expect_whole_stacks();
		if (is_lost && !is_missing)
			assert_null(strstr(strstr(recorded(), "sample") + 1, "sample"));
	}
	assert_true(fake_successes > 5);
}

FIXTURE_TEST(recorder_requests_no_samples_without_stacks)
{
	fake.recording.stacks_hz = 0;
	fake.sampled_count = 1;
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_null(fake.on_stack);
	assert_int_equal(fake.options.stacks_hz, 0);
	assert_int_equal(fake.sampled_count, 1);
	assert_int_equal(fake_names.searches, 0);
}

FIXTURE_TEST(recorder_fails_if_stacks_cannot_be_walked)
{
	fake.cannot_walk = true;
	assert_int_equal(record(), EXIT_CODE_UNSUPPORTED);
	expect_said("5.17");
	fake.recording.stacks_hz = 0;
	assert_int_equal(record(), EXIT_CODE_OK);
}

static void expect_frames_at_start(void)
{
	expect_told("frames of 0\n");
	assert_int_equal(fake_names.searches, 1);
}

static void fork_one(void)
{
	happen(EVENT_KIND_FORK, 1, 0);
	fake_target_add(FAKE_PID + 1)->found.ruby.symbols = (struct ruby_symbols *)&fake_names;
}

FIXTURE_TEST(recorder_child_inherits_frame_layout_of_parent)
{
	plan(1, expect_frames_at_start);
	plan(NS_PER_S / 4, fork_one);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_non_null(strstr(recorded(), "process 1 fork exact\n"));
	assert_int_equal(fake_names.searches, 1);
}

static void find_them(void)
{
	/* After 10 and 20 ms. */
	assert_int_equal(fake_names.searches, 3);
	fake_names.state = RUBY_STACK_AGREED;
}

FIXTURE_TEST(recorder_searches_frame_layout_again_while_ruby_starts)
{
	fake_names.state = RUBY_STACK_MISSING;
	plan(NS_PER_S / 20, find_them);
	assert_int_equal(record(), EXIT_CODE_OK);
	assert_int_equal(fake_names.searches, 4);
	expect_told("frames of 0\n");
}

TEST_GROUP(make_file, remove_file)
