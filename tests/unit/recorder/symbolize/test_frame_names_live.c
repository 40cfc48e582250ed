/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The walk and the names against the Ruby that is installed: what Thread#backtrace_locations says
 * of a thread that stands still is the truth, frame by frame.
 */
#include "recorder/symbolize/frame_names.h"

#include <errno.h>

#include "unit_test.h"

#include "recorder/symbolize/known_ruby.h"

UNIT_TEST_ALONE;

enum {
	SEEDS = 40,
	CALLS = 120,
	FRAMES_MIN = 4000, /* that are compared in all */
	EVAL_ROUNDS = 100, /* at least */
};

/* A thread runs to where it stands still; its frames are read. */
static void stand(struct known_ruby *known, const char *body)
{
	char line[512];
	uint64_t context;

	(void)snprintf(line, sizeof(line), "stand(%u, %u) { %s }", layout_3_1.execution_thread,
		       layout_3_1.thread_self, body);
	context = known_ruby_ask(known, line);
	assert_true(context != 0);
	stack_reader_walk(&known->reader, &layout_3_1, context, 0, &known->frames);
}

static uint32_t compare_standing(struct known_ruby *known, const char *body)
{
	uint32_t count;

	stand(known, body);
	count = known_ruby_compare(known, 0, body);
	(void)known_ruby_ask(known, "go_on");
	return count;
}

TEST(frame_names_match_ruby_backtrace)
{
	struct known_ruby *known = *state;
	uint32_t compared = 0;
	char body[128];

	for (unsigned int seed = 0; seed < SEEDS; seed++) {
		(void)snprintf(body, sizeof(body), "Stacks.new(%u, %d).go", seed, CALLS);
		compared += compare_standing(known, body);
	}
	print_message("%u frames compared\n", compared);
	assert_true(compared > FRAMES_MIN);
}

TEST(frame_names_of_deep_recursion_match_innermost_frames)
{
	struct known_ruby *known = *state;

	stand(known, "Stacks.new(1, 3).recurse(2000)");
	assert_int_equal(known->frames.flags, RUBY_FRAMES_CUT);
	assert_int_equal(known_ruby_compare(known, 0, "recurse"), RUBY_FRAMES_MAX);
	(void)known_ruby_ask(known, "go_on");
}

/*
 * Code that comes and goes, with collections and compactions in between, until a frame was asked
 * for whose iseq and pc were those of other code before.
 */
TEST(frame_names_do_not_reuse_names_of_freed_code)
{
	struct known_ruby *known = *state;
	char body[128];

	for (unsigned int round = 0;
	     round < EVAL_ROUNDS || frame_names_count(known->names).changed == 0; round++) {
		(void)snprintf(body, sizeof(body), "Stacks.evaluate(%u)", round);
		(void)compare_standing(known, body);
		if (round % 20 == 0)
			(void)known_ruby_ask(known, "GC.compact; 0");
	}
}

TEST(frame_names_return_esrch_for_dead_process)
{
	struct known_ruby *known = *state;
	struct frame_name name = { .line = 77 };

	stand(known, "Stacks.new(1, 3).go");
	assert_int_equal(frame_names_find(known->names, NULL, &known->frames.frames[1], &name), 0);
	live_ruby_stop(&known->ruby);
	known->ruby.to = known->ruby.from = NULL;
	name.line = 77;
	/* One that is kept, and one that is not. */
	for (uint32_t i = 1; i < 3; i++)
		assert_int_equal(
			frame_names_find(known->names, NULL, &known->frames.frames[i], &name),
			-ESRCH);
	assert_int_equal(name.line, 77);
	stack_reader_walk(&known->reader, &layout_3_1, 0x10000, 0, &known->frames);
	assert_int_equal(known->frames.flags, RUBY_FRAMES_TORN);
}

TEST_GROUP(known_ruby_setup, known_ruby_teardown)

int main(void)
{
	/* Without this Ruby there is nothing to compare with: 77 is "skipped". */
	if (!known_ruby_is_here())
		return 77;
	return unit_test_run(NULL);
}
