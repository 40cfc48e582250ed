/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/top/streams.h"

static struct history history;

static int setup(void **state)
{
	(void)state;
	return history_init(&history);
}

static int teardown(void **state)
{
	(void)state;
	memory_never_fails();
	history_deinit(&history);
	return 0;
}

static void put_request(uint64_t window, const char *id, int64_t cpu_ns)
{
	stream_cpu(&history, (struct stream_cpu){ .window = window,
						  .tid = 7,
						  .request_id = id,
						  .endpoint = "GET /a",
						  .cpu_ns = cpu_ns,
						  .first_ns = 100,
						  .last_ns = 50 });
}

static int64_t cpu_of(const struct history_span *span)
{
	const char *by = "request_id";
	struct totals totals;
	int64_t cpu_ns;

	assert_int_equal(totals_init(&totals, &by, 1), 0);
	assert_int_equal(history_add_up(&history, span, &totals), 0);
	cpu_ns = totals.all.sums[COST_CPU];
	totals_deinit(&totals);
	return cpu_ns;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(history_window_holds_records_with_same_end)
{
	assert_int_equal(history_closed_count(&history), 0);
	put_request(1, "a", 10);
	put_request(1, "b", 20);
	assert_int_equal(history_closed_count(&history), 0);
	put_request(2, "a", 40);
	assert_int_equal(history_closed_count(&history), 1);
	assert_int_equal(history.count, 2);
	assert_int_equal(history.bytes,
			 history_window(&history, 0)->records.capacity_bytes +
				 history_window(&history, 1)->records.capacity_bytes);
	history_close_window(&history);
	assert_int_equal(history_closed_count(&history), 2);
	assert_int_equal(history_window(&history, 0)->record_count, 2);
	assert_int_equal(history.bytes, history_window(&history, 0)->records.size_bytes +
						history_window(&history, 1)->records.size_bytes);
	assert_int_equal(history_window(&history, 0)->end_ns, stream_end_ns(1));
	assert_int_equal(history_window(&history, 0)->start_ns, stream_end_ns(0));
	assert_int_equal(history_window(&history, 1)->record_count, 1);
}

FIXTURE_TEST(history_late_record_reopens_last_window)
{
	put_request(1, "a", 10);
	put_request(2, "a", 20);
	history_close_window(&history);
	put_request(1, "b", 40);
	assert_int_equal(history.count, 2);
	assert_int_equal(history_closed_count(&history), 1);
	assert_int_equal(history_window(&history, 1)->record_count, 2);
	/* Its own window began earlier. */
	assert_int_equal(history_window(&history, 1)->start_ns, stream_end_ns(0));
	assert_int_equal(history_window(&history, 1)->end_ns, stream_end_ns(2));
}

FIXTURE_TEST(history_span_sums_its_windows)
{
	put_request(1, "a", 1);
	put_request(2, "b", 2);
	put_request(3, "c", 4);
	put_request(4, "d", 8);
	assert_int_equal(cpu_of(&(struct history_span){ .first = 0, .last = 3 }), 15);
	assert_int_equal(cpu_of(&(struct history_span){ .first = 1, .last = 2 }), 6);
	assert_int_equal(cpu_of(&(struct history_span){ .first = 2, .last = 2 }), 4);
}

static bool is_tag(const void *context, uint64_t tag)
{
	return tag == *(const uint64_t *)context;
}

FIXTURE_TEST(history_span_selects_requests_by_tag_and_keeps_balance)
{
	uint64_t tag = history_tag(&history, (struct record_text){ "b", 1 });
	struct history_span span = { .first = 0, .last = 1, .wants = is_tag, .context = &tag };
	const char *by = "request_id";
	struct totals totals;

	assert_int_equal(history_tag(&history, (struct record_text){ "", 0 }), 0);
	assert_int_not_equal(tag, 0);
	assert_int_not_equal(tag, history_tag(&history, (struct record_text){ "a", 1 }));
	put_request(1, "a", 1);
	put_request(1, "b", 2);
	put_request(1, "", 4);
	put_request(2, "b", 8);
	stream_balance(&history, 2, 15, 15, 0);
	assert_int_equal(cpu_of(&span), 10);
	span.wants = NULL;
	span.has_no_cpu = true;
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	assert_int_equal(history_add_up(&history, &span, &totals), 0);
	assert_int_equal(totals.all.record_count, 0);
	assert_int_equal(totals.books.exec_ns, 15);
	totals_deinit(&totals);
}

static int note(void *user, const struct history_window *window, const struct record_view *record)
{
	int64_t *sum = user, cpu_ns;

	assert_true(record_view_count(record, "cpu_ns", &cpu_ns));
	assert_int_equal(window->end_ns, record->wall_ns);
	*sum = 10 * *sum + cpu_ns;
	return cpu_ns == 3 ? -EINTR : 0;
}

FIXTURE_TEST(history_visits_oldest_first_until_callback_fails)
{
	const struct history_span span = { .first = 0, .last = 2 };
	int64_t sum = 0;

	put_request(1, "a", 1);
	stream_balance(&history, 1, 5, 5, 0);
	put_request(2, "b", 2);
	assert_int_equal(history_visit(&history, &(struct history_span){ .first = 0, .last = 1 },
				       note, &sum),
			 0);
	assert_int_equal(sum, 12);
	put_request(3, "c", 3);
	put_request(3, "d", 4);
	sum = 0;
	assert_int_equal(history_visit(&history, &span, note, &sum), -EINTR);
	assert_int_equal(sum, 123);
}

FIXTURE_TEST(history_ignores_duplicate_record)
{
	for (int i = 0; i < 2; i++)
		stream_record(&history, 1, "cpu record_id=:1 pid=42 cpu_ns=9");
	assert_int_equal(history_window(&history, 0)->record_count, 1);
}

FIXTURE_TEST(history_counts_balance_without_times_as_damaged)
{
	stream_record(&history, 1, "balance pid=42 exec_ns=9");
	assert_int_equal(history.damaged, 1);
	assert_int_equal(history.count, 0);
}

FIXTURE_TEST(history_applies_process_and_meta_records_to_all_windows)
{
	struct sample sample;
	struct totals totals;
	struct record_text comm;
	static struct record_view view;
	const char *by = "comm";

	stream_record(&history, 1, "process pid=42 event=found comm=puma");
	stream_record(&history, 1, "meta pid=1 mode=lean");
	assert_int_equal(history.count, 0);
	put_request(5, "a", 3);
	put_request(6, "a", 4);
	assert_int_equal(totals_init(&totals, &by, 1), 0);
	assert_int_equal(
		history_add_up(&history, &(struct history_span){ .first = 1, .last = 1 }, &totals),
		0);
	assert_string_equal(totals.selection.recording.last_mode.mode, "lean");
	assert_int_equal(totals.groupings[0].group_count, 1);
	assert_memory_equal(totals.groupings[0].groups->value, "puma", 4);
	assert_int_equal(recording_duration_ns(&totals.selection.recording), STREAM_WINDOW_NS);
	totals_deinit(&totals);
	/* They were borrowed. */
	sample_record(&sample, "cpu pid=42");
	sample_decode(&sample, &view);
	comm = recording_comm(&history.selection.recording, &view);
	assert_true(record_text_is(comm, "puma"));
	msgpack_sbuffer_destroy(&sample.buffer);
}

FIXTURE_TEST(history_drops_windows_beyond_maximum_age)
{
	const uint64_t per_minute = 120, most = HISTORY_SECONDS_MAX * 2;

	for (uint64_t window = 1; window <= most + 1; window++)
		put_request(window, "a", 1);
	/* The first ended 600 s before the last. */
	assert_int_equal(history.first, 0);
	assert_int_equal(history.count, most + 1);
	put_request(most + 2, "a", 1);
	assert_int_equal(history.first, 1);
	put_request(most + 2 + per_minute, "a", 1);
	assert_int_equal(history.first, per_minute + 1);
	put_request(10 * most, "a", 1);
	assert_int_equal(history.count, 1);
}

FIXTURE_TEST(history_drops_oldest_windows_beyond_byte_limit)
{
	size_t bytes = 0;

	history.bytes_max = 20000;
	for (uint64_t window = 1; window <= 1000; window++)
		put_request(window, "a", 1);
	history_close_window(&history);
	assert_true(history.bytes <= 20000);
	assert_true(history.count > 10);
	assert_int_equal(history.first + history.count, 1000);
	for (uint64_t number = history.first; number < 1000; number++)
		bytes += history_window(&history, number)->records.capacity_bytes;
	assert_int_equal(history.bytes, bytes);
	/* The last one stays. */
	history.bytes_max = 1;
	put_request(1001, "a", 1);
	assert_int_equal(history.count, 1);
	assert_int_equal(history_window(&history, 1000)->record_count, 1);
}

FIXTURE_TEST(history_limits_number_of_windows)
{
	struct sample sample;

	for (uint64_t i = 1; i <= HISTORY_WINDOWS_MAX + 5; i++) {
		sample_record(&sample, "gap pid=42");
		assert_int_equal(stream_put(&history, &sample, stream_end_ns(1) + i), 0);
	}
	assert_int_equal(history.count, HISTORY_WINDOWS_MAX - 1);
	assert_int_equal(history.first, 6);
	assert_int_equal(history_window(&history, 6)->end_ns, stream_end_ns(1) + 7);
}

FIXTURE_TEST(history_drops_and_counts_records_of_excess_shapes)
{
	for (int i = 0; i < PACKING_SHAPES_MAX + 3; i++)
		stream_record(&history, 1, "cpu pid=42 n%d=1", i);
	assert_int_equal(history.left_out, 3);
	assert_int_equal(history_window(&history, 0)->record_count, PACKING_SHAPES_MAX);
}

FIXTURE_TEST(history_keeps_frames_of_dropped_windows)
{
	const struct stream_cpu cpu = { .tid = 7, .request_id = "r", .endpoint = "GET /a" };
	struct history_span span;
	struct stacks stacks;

	history.bytes_max = 1;
	stream_frame(&history, 1, "1", "", "main");
	for (uint64_t window = 1; window <= 5; window++) {
		struct stream_cpu one = cpu;

		one.window = window;
		one.cpu_ns = 10;
		put_request(window, "r", 10);
		stream_sample(&history, one, "1", (int64_t)window);
	}
	history_close_window(&history);
	assert_int_equal(history.first, 4);
	span = (struct history_span){ .first = 4, .last = 4 };
	stacks_init(&stacks, STACKS_CPU, &(struct filter){ 0 });
	assert_int_equal(history_add_stacks(&history, &span, &stacks), 0);
	assert_int_equal(stacks.sums.samples, 5);
	assert_int_equal(stacks.sums.spent_ns, 10);
	assert_int_equal(stacks.frames.untold_count, 0);
	stacks_deinit(&stacks);
}

FIXTURE_TEST(history_drops_and_counts_frames_beyond_byte_limit)
{
	char name[2001];

	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	while (history.frames.size_bytes < HISTORY_FRAMES_BYTES_MAX)
		stream_frame(&history, 1, "1", "", name);
	assert_int_equal(history.left_out, 0);
	stream_frame(&history, 1, "1", "", name);
	assert_int_equal(history.left_out, 1);
	assert_in_range(history.frames.size_bytes, HISTORY_FRAMES_BYTES_MAX,
			HISTORY_FRAMES_BYTES_MAX + 3000);
	/* They are of no window. */
	assert_int_equal(history.count, 0);
}

FIXTURE_TEST(history_fails_with_enomem_when_allocation_fails)
{
	static struct record_view view;
	struct history other;
	struct sample sample;

	memory_fails_after(0);
	assert_int_equal(history_init(&other), -ENOMEM);
	history_deinit(&other);
	memory_never_fails();
	sample_begin_cpu(&sample, 42, 7, "r", 1, 1);
	sample_decode(&sample, &view);
	assert_each_allocation_can_fail(history_add(&history, &view), (void)0);
	msgpack_sbuffer_destroy(&sample.buffer);
	assert_int_equal(history_window(&history, 0)->record_count, 1);
	/* What it holds more than it needs is then kept. */
	memory_fails_after(0);
	history_close_window(&history);
	memory_never_fails();
	assert_int_equal(history_closed_count(&history), 1);
	assert_int_equal(history.bytes, history_window(&history, 0)->records.capacity_bytes);
	assert_int_equal(cpu_of(&(struct history_span){ 0 }), 2);
}
