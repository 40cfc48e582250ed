/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "record/slice_view.h"

#include <errno.h>

#include <correlator/blocked_reason.h>

#include "record/sample.h"

static struct record_view view;
static struct slice_view slice;

/* Whether a slice of such fields is read. The texts of the view are not read afterwards: a
 * slice_view has none. */
__attribute__((format(printf, 1, 2))) static bool reads(const char *format, ...)
{
	struct sample sample;
	va_list values;
	bool is_read;

	sample_record(&sample, "slice pid=7");
	va_start(values, format);
	sample_fields_v(&sample, format, values);
	va_end(values);
	sample_decode(&sample, &view);
	is_read = slice_view_read(&view, &slice);
	msgpack_sbuffer_destroy(&sample.buffer);
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
	assert_true(reads("state=running start_ns=100 end_ns=140 cpu_ns=39 cpu_number=3 fiber=5 "
			  "woken_by_pid=7 woken_by_tid=12"));
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
	for (int i = 0; i < _SCHED_STATE_MAX; i++) {
		assert_true(reads("state=%s start_ns=100 end_ns=140",
				  sched_state_name((enum sched_state)i)));
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
	for (int i = 0; i < _SCHED_STATE_MAX; i++) {
		assert_true(reads("state=%s start_ns=100 end_ns=140 cpu_ns=39 cpu_number=3",
				  sched_state_name((enum sched_state)i)));
		assert_int_equal(slice.cpu_ns, i == SCHED_RUNNING ? 39 : 0);
		assert_int_equal(slice.cpu_number, i == SCHED_RUNNING ? 3 : -1);
	}
}

TEST(slice_view_reads_blocked_reason_only_if_asleep)
{
	for (int i = 0; i < _SCHED_STATE_MAX; i++) {
		assert_true(reads("state=%s start_ns=100 end_ns=140 blocked_on=disk",
				  sched_state_name((enum sched_state)i)));
		assert_int_equal(slice.blocked_on,
				 sched_state_is_asleep((enum sched_state)i) ? BLOCKED_ON_DISK : -1);
	}
	assert_true(reads("state=blocked start_ns=100 end_ns=140 blocked_on=\"the moon\""));
	assert_int_equal(slice.blocked_on, -1);
}

TEST(slice_view_ignores_cpu_number_over_int32_max)
{
	static const struct {
		int64_t number;
		int32_t is;
	} numbers[] = { { 0, 0 }, { INT32_MAX, INT32_MAX }, { INT32_MAX + INT64_C(1), -1 } };

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		assert_true(reads("state=running start_ns=100 end_ns=140 cpu_number=%ld",
				  numbers[i].number));
		assert_int_equal(slice.cpu_number, numbers[i].is);
	}
}

TEST(slice_view_ignores_waker_without_pid_and_tid)
{
	assert_true(reads("state=run_queue start_ns=100 end_ns=140 woken_by_pid=7"));
	assert_int_equal(slice.woken_by_pid, 0);
	assert_true(reads("state=run_queue start_ns=100 end_ns=140 woken_by_tid=12"));
	assert_int_equal(slice.woken_by_tid, 0);
	assert_true(reads("state=run_queue start_ns=100 end_ns=140 woken_by_pid=7 woken_by_tid=0"));
	assert_int_equal(slice.woken_by_pid, 0);
}

TEST(slice_view_rejects_unknown_state_and_invalid_times)
{
	assert_false(reads("state=zombie start_ns=100 end_ns=140"));
	assert_false(reads("start_ns=100 end_ns=140"));
	assert_false(reads("state=running end_ns=140"));
	assert_false(reads("state=running start_ns=100"));
	assert_false(reads("state=running start_ns=100 end_ns=99"));
	assert_true(reads("state=running start_ns=100 end_ns=100"));
}
