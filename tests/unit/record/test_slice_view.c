/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "record/slice_view.h"

#include <errno.h>

#include <correlator/blocked_reason.h>

#include "record/sample.h"

static struct record_view view;
static struct slice_view slice;

static void begin(struct sample *sample, const char *name)
{
	sample_begin(sample, "slice", 7);
	sample_text(sample, "state", name);
	sample_number(sample, "start_ns", 100);
	sample_number(sample, "end_ns", 140);
}

/* The texts of the view are not read afterwards: a slice_view has none. */
static bool read_and_forget(struct sample *sample)
{
	bool is_read;

	sample_end(sample);
	assert_int_equal(record_view_decode((const uint8_t *)sample->buffer.data,
					    sample->buffer.size, &view),
			 0);
	is_read = slice_view_read(&view, &slice);
	msgpack_sbuffer_destroy(&sample->buffer);
	return is_read;
}

static struct record_text text_of(const char *text)
{
	return (struct record_text){ text, strlen(text) };
}

TEST(sched_state_lookup_by_name_rejects_unknown_names)
{
	for (int i = 0; i < _SCHED_STATE_MAX; i++)
		assert_int_equal(sched_state_find(text_of(sched_state_name((enum sched_state)i))),
				 i);
	assert_int_equal(sched_state_find(text_of("run queue")), -EINVAL);
	assert_int_equal(sched_state_find(text_of("")), -EINVAL);
	assert_string_equal(sched_state_name(SCHED_RUN_QUEUE), "run_queue");
	assert_string_equal(sched_state_title(SCHED_RUN_QUEUE), "run queue");
}

TEST(sched_state_is_asleep_only_if_blocked_or_uninterruptible)
{
	assert_false(sched_state_is_asleep(SCHED_RUNNING));
	assert_false(sched_state_is_asleep(SCHED_RUN_QUEUE));
	assert_true(sched_state_is_asleep(SCHED_BLOCKED));
	assert_true(sched_state_is_asleep(SCHED_UNINTERRUPTIBLE));
}

TEST(slice_view_reads_all_fields_of_running_slice)
{
	struct sample sample;

	begin(&sample, "running");
	sample_number(&sample, "cpu_ns", 39);
	sample_number(&sample, "cpu_number", 3);
	sample_number(&sample, "fiber", 5);
	sample_number(&sample, "woken_by_pid", 7);
	sample_number(&sample, "woken_by_tid", 12);
	assert_true(read_and_forget(&sample));
	assert_int_equal(slice.state, SCHED_RUNNING);
	assert_int_equal(slice.start_ns, 100);
	assert_int_equal(slice.end_ns, 140);
	assert_int_equal(slice.cpu_ns, 39);
	assert_int_equal(slice.cpu_number, 3);
	assert_int_equal(slice.fiber, 5);
	assert_int_equal(slice.woken_by_pid, 7);
	assert_int_equal(slice.woken_by_tid, 12);
	assert_int_equal(slice.blocked_on, -1);
	assert_int_equal(slice_view_spent_ns(&slice), 39);
}

TEST(slice_view_marks_absent_optional_fields_as_unknown)
{
	struct sample sample;

	for (int i = 0; i < _SCHED_STATE_MAX; i++) {
		begin(&sample, sched_state_name((enum sched_state)i));
		assert_true(read_and_forget(&sample));
		assert_int_equal(slice.state, i);
		assert_int_equal(slice.cpu_ns, 0);
		assert_int_equal(slice.cpu_number, -1);
		assert_int_equal(slice.fiber, 0);
		assert_int_equal(slice.woken_by_pid, 0);
		assert_int_equal(slice.woken_by_tid, 0);
		assert_int_equal(slice.blocked_on, -1);
		assert_int_equal(slice_view_spent_ns(&slice), i == SCHED_RUNNING ? 0 : 40);
	}
}

TEST(slice_view_ignores_cpu_fields_unless_running)
{
	struct sample sample;

	for (int i = 0; i < _SCHED_STATE_MAX; i++) {
		begin(&sample, sched_state_name((enum sched_state)i));
		sample_number(&sample, "cpu_ns", 39);
		sample_number(&sample, "cpu_number", 3);
		assert_true(read_and_forget(&sample));
		assert_int_equal(slice.cpu_ns, i == SCHED_RUNNING ? 39 : 0);
		assert_int_equal(slice.cpu_number, i == SCHED_RUNNING ? 3 : -1);
	}
}

TEST(slice_view_reads_blocked_reason_only_if_asleep)
{
	struct sample sample;

	for (int i = 0; i < _SCHED_STATE_MAX; i++) {
		begin(&sample, sched_state_name((enum sched_state)i));
		sample_text(&sample, "blocked_on", "disk");
		assert_true(read_and_forget(&sample));
		assert_int_equal(slice.blocked_on,
				 sched_state_is_asleep((enum sched_state)i) ? BLOCKED_ON_DISK : -1);
	}
	begin(&sample, "blocked");
	sample_text(&sample, "blocked_on", "the moon");
	assert_true(read_and_forget(&sample));
	assert_int_equal(slice.blocked_on, -1);
}

TEST(slice_view_ignores_cpu_number_over_int32_max)
{
	static const struct {
		int64_t number;
		int32_t is;
	} numbers[] = { { 0, 0 }, { INT32_MAX, INT32_MAX }, { INT32_MAX + INT64_C(1), -1 } };
	struct sample sample;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		begin(&sample, "running");
		sample_number(&sample, "cpu_number", numbers[i].number);
		assert_true(read_and_forget(&sample));
		assert_int_equal(slice.cpu_number, numbers[i].is);
	}
}

TEST(slice_view_ignores_waker_without_pid_and_tid)
{
	struct sample sample;

	begin(&sample, "run_queue");
	sample_number(&sample, "woken_by_pid", 7);
	assert_true(read_and_forget(&sample));
	assert_int_equal(slice.woken_by_pid, 0);
	begin(&sample, "run_queue");
	sample_number(&sample, "woken_by_tid", 12);
	assert_true(read_and_forget(&sample));
	assert_int_equal(slice.woken_by_tid, 0);
	begin(&sample, "run_queue");
	sample_number(&sample, "woken_by_pid", 7);
	sample_number(&sample, "woken_by_tid", 0);
	assert_true(read_and_forget(&sample));
	assert_int_equal(slice.woken_by_pid, 0);
}

TEST(slice_view_rejects_unknown_state_and_invalid_times)
{
	struct sample sample;

	begin(&sample, "zombie");
	assert_false(read_and_forget(&sample));

	sample_begin(&sample, "slice", 7);
	sample_number(&sample, "start_ns", 100);
	sample_number(&sample, "end_ns", 140);
	assert_false(read_and_forget(&sample));

	sample_begin(&sample, "slice", 7);
	sample_text(&sample, "state", "running");
	sample_number(&sample, "end_ns", 140);
	assert_false(read_and_forget(&sample));

	sample_begin(&sample, "slice", 7);
	sample_text(&sample, "state", "running");
	sample_number(&sample, "start_ns", 100);
	assert_false(read_and_forget(&sample));

	sample_begin(&sample, "slice", 7);
	sample_text(&sample, "state", "running");
	sample_number(&sample, "start_ns", 100);
	sample_number(&sample, "end_ns", 99);
	assert_false(read_and_forget(&sample));

	sample_begin(&sample, "slice", 7);
	sample_text(&sample, "state", "running");
	sample_number(&sample, "start_ns", 100);
	sample_number(&sample, "end_ns", 100);
	assert_true(read_and_forget(&sample));
}
