/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/story/story_lane.h"

enum {
	LINES_MAX = 64
};

static struct story_thread one, two;

static const char *join(const struct story_lane *lane)
{
	static char text[STORY_LANE_CELLS_MAX * STORY_LANE_CELL_BYTES];

	text[0] = '\0';
	for (size_t i = 0; i < lane->cell_count; i++)
		(void)strcat(text, lane->cells[i]);
	return text;
}

static struct story_slice slice_of(const struct story_thread *thread, int64_t start_ns,
				   int64_t end_ns, enum sched_state state)
{
	return (struct story_slice){
		.thread = thread,
		.view = { .start_ns = start_ns, .end_ns = end_ns, .state = state },
	};
}

static const char *lane_of(struct story_slice *slices, size_t count, int64_t last_ns,
			   size_t cells_max)
{
	static struct story_lane lane;
	struct story story = {
		.slices = slices, .slice_count = count, .first_ns = 1000, .last_ns = 1000 + last_ns
	};

	for (size_t i = 0; i < count; i++) {
		slices[i].view.start_ns += 1000;
		slices[i].view.end_ns += 1000;
	}
	story_lane_of_slices(&story, &(struct story_lane_owner){ .thread = &one }, cells_max,
			     &lane);
	return join(&lane);
}

TEST(lane_cell_shows_longest_state)
{
	struct story_slice slices[] = {
		slice_of(&one, 0, 14, SCHED_RUNNING),
		slice_of(&one, 14, 20, SCHED_RUN_QUEUE),
		slice_of(&one, 20, 69, SCHED_BLOCKED),
		slice_of(&one, 70, 79, SCHED_UNINTERRUPTIBLE),
		slice_of(&two, 0, 99, SCHED_RUNNING),
		slice_of(&one, 96, 97, SCHED_RUNNING),
	};

	assert_string_equal(lane_of(slices, 6, 99, 10), "█▒·····• █");
}

TEST(lane_slice_fills_all_cells_it_covers)
{
	struct story_slice slices[] = {
		slice_of(&one, 9, 31, SCHED_RUNNING),
		slice_of(&one, 31, 40, SCHED_BLOCKED),
		slice_of(&one, 0, 2, SCHED_RUN_QUEUE),
	};

	assert_string_equal(lane_of(slices, 3, 49, 5), "▒██· ");
}

TEST(lane_of_one_instant_has_one_cell)
{
	struct story_slice slices[] = {
		slice_of(&one, 0, 0, SCHED_RUNNING),
	};

	assert_string_equal(lane_of(slices, 1, 0, 5), " ");
}

TEST(lane_never_exceeds_maximum_number_of_cells)
{
	struct story story = { .first_ns = 5 };

	for (int64_t length = 0; length < 100; length++) {
		for (size_t room = 1; room < 20; room++) {
			int64_t cell_ns;

			story.last_ns = 5 + length;
			cell_ns = story_lane_cell_ns(&story, room);
			assert_true(cell_ns >= 1);
			assert_true(length / cell_ns + 1 <= (int64_t)room);
		}
	}
}

static struct story_window window(const struct story_thread *thread, int64_t first_ns,
				  int64_t last_ns, int64_t cpu_ns)
{
	struct story_window window = { .thread = thread };

	window.costs.first_ns = 1000 + first_ns;
	window.costs.last_ns = 1000 + last_ns;
	window.costs.sums[COST_CPU] = cpu_ns;
	return window;
}

static const char *lane_of_windows(struct story_window *windows, size_t count, int64_t last_ns,
				   size_t cells_max)
{
	static struct story_lane lane;
	struct story story = { .windows = windows,
			       .window_count = count,
			       .first_ns = 1000,
			       .last_ns = 1000 + last_ns };

	story_lane_of_windows(&story, &one, cells_max, &lane);
	return join(&lane);
}

TEST(lane_height_is_share_of_window_on_cpu)
{
	struct story_window windows[] = {
		window(&one, 0, 9, 9),	   window(&one, 10, 19, 0), window(&one, 20, 39, 1),
		window(&two, 0, 99, 99),   window(&one, 50, 59, 4), window(&one, 60, 68, 4),
		window(&one, 70, 79, 100), window(&one, 80, 80, 1),
	};

	assert_string_equal(lane_of_windows(windows, 8, 99, 10), "█·▁▁ ▄▅██ ");
}

TEST(lane_cell_shows_highest_of_its_windows)
{
	struct story_window windows[] = {
		window(&one, 0, 3, 3),
		window(&one, 4, 9, 0),
		window(&one, 10, 12, 0),
		window(&one, 13, 19, 7),
		{ .thread = &one, .costs = { .lacks_span = true } },
	};

	assert_string_equal(lane_of_windows(windows, 5, 29, 3), "██ ");
}

TEST(fold_shows_all_lines_of_short_list)
{
	static const int64_t weights[] = { 1, 2, 3, 4 };
	struct story_lines lines[LINES_MAX];
	size_t count = 0;

	for (size_t shown = 0; shown < 3; shown++) {
		assert_int_equal(story_fold(weights, 4, shown, lines, &count), 0);
		if (shown == 1)
			continue;
		assert_int_equal(count, 4);
		assert_int_equal(lines[3].first, 3);
		assert_int_equal(lines[3].count, 1);
	}
	assert_int_equal(story_fold(weights, 0, 2, lines, &count), 0);
	assert_int_equal(count, 0);
}

TEST(fold_shows_heaviest_lines_of_long_list)
{
	static const int64_t weights[] = { 5, 9, 1, 1, 5, 5, 8, 2 };
	struct story_lines lines[LINES_MAX];
	size_t count = 0;

	assert_int_equal(story_fold(weights, 8, 3, lines, &count), 0);
	assert_int_equal(count, 5);
	/* Of equal ones the first. */
	assert_int_equal(lines[0].first, 0);
	assert_int_equal(lines[0].count, 1);
	assert_int_equal(lines[1].first, 1);
	assert_int_equal(lines[1].count, 1);
	assert_int_equal(lines[2].first, 2);
	assert_int_equal(lines[2].count, 4);
	assert_int_equal(lines[3].first, 6);
	assert_int_equal(lines[3].count, 1);
	assert_int_equal(lines[4].first, 7);
	assert_int_equal(lines[4].count, 1);
}

TEST(fold_starts_above_twice_the_shown_count)
{
	static const int64_t weights[] = { 1, 2, 3, 4, 5 };
	struct story_lines lines[LINES_MAX];
	size_t count = 0;

	assert_int_equal(story_fold(weights, 4, 2, lines, &count), 0);
	assert_int_equal(count, 4);
	assert_int_equal(story_fold(weights, 5, 2, lines, &count), 0);
	assert_int_equal(count, 3);
	assert_int_equal(lines[0].count, 3);
}

TEST(fold_fails_with_enomem_when_allocation_fails)
{
	static const int64_t weights[] = { 1, 2, 3, 4, 5 };
	struct story_lines lines[LINES_MAX];
	size_t count = 77;
	int r;

	memory_fails_after(0);
	r = story_fold(weights, 5, 2, lines, &count);
	memory_fails_after(SIZE_MAX);
	assert_int_equal(r, -ENOMEM);
	assert_int_equal(count, 77);
}

TEST(lane_owners_fail_with_enomem_when_allocation_fails)
{
	struct story_lane_owner *owners = NULL;
	struct story story = { 0 };
	size_t count = 77;
	int r;

	memory_fails_after(0);
	r = story_lane_owners(&story, &owners, &count);
	memory_fails_after(SIZE_MAX);
	assert_int_equal(r, -ENOMEM);
	assert_null(owners);
	assert_int_equal(count, 77);
}
