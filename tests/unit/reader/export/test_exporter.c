/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/export/exported.h"
#include "reader/export/openmetrics_export.h"
#include "reader/query/packing.h"
#include "record/golden.h"
#include "record/record_reader.h"

static struct exported exported;

static int setup(void **state)
{
	(void)state;
	exported = (struct exported){ 0 };
	return setlocale(LC_CTYPE, "C.UTF-8") ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	exported_free(&exported);
	return 0;
}

static void add_golden(void)
{
	static struct record_view view;
	struct record_reader *reader = NULL;
	char path[4096];

	golden_path("shop.rec", path, sizeof(path));
	assert_int_equal(record_reader_open(path, &reader), 0);
	while (record_reader_next(reader, &view) > 0)
		assert_int_equal(exporter_add(exported.exporter, &view), 0);
	record_reader_free(reader);
}

static void export_golden(enum export_format format, const char *name)
{
	exported_begin(&exported, format, NULL, NULL);
	add_golden();
	exported_end(&exported);
	golden_compare(name, exported.text, exported.size_bytes);
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(exporter_csv_matches_golden_file)
{
	export_golden(EXPORT_FORMAT_CSV, "shop-export.csv");
}

FIXTURE_TEST(exporter_openmetrics_matches_golden_file)
{
	export_golden(EXPORT_FORMAT_OPENMETRICS, "shop.openmetrics");
}

FIXTURE_TEST(exporter_perfetto_matches_golden_file)
{
	export_golden(EXPORT_FORMAT_PERFETTO, "shop.pftrace");
	assert_true(exporter_lacks_slices(exported.exporter));
}

FIXTURE_TEST(exporter_ndjson_matches_golden_file)
{
	export_golden(EXPORT_FORMAT_NDJSON, "shop.ndjson");
	assert_false(exporter_lacks_slices(exported.exporter));
}

FIXTURE_TEST(exporter_lacks_slices_only_if_cpu_has_no_slices)
{
	struct sample sample;

	exported_begin(&exported, EXPORT_FORMAT_PERFETTO, NULL, NULL);
	assert_false(exporter_lacks_slices(exported.exporter));
	sample_begin_cpu(&sample, 7, 8, "r", 1, 1);
	exported_add(&exported, &sample);
	assert_true(exporter_lacks_slices(exported.exporter));
	exported_record(&exported, "slice pid=7 state=running start_ns=1 end_ns=1");
	assert_false(exporter_lacks_slices(exported.exporter));
	exported_end(&exported);
}

FIXTURE_TEST(openmetrics_init_takes_over_filter)
{
	struct openmetrics_export openmetrics;
	struct filter filter = { 0 };

	assert_int_equal(filter_add(&filter, "pid=7"), 0);
	assert_int_equal(openmetrics_export_init(&openmetrics, "pid", &filter), 0);
	assert_int_equal(filter.condition_count, 0);
	assert_int_equal(openmetrics.totals.selection.filter.condition_count, 1);
	openmetrics_export_deinit(&openmetrics);
}

FIXTURE_TEST(exporter_knows_recorded_keys_regardless_of_filter)
{
	static const char *const wheres[] = { "endpoint=GET /orders", "endpoint=GET /nowhere" };

	for (int format = 0; format < _EXPORT_FORMAT_MAX; format++) {
		for (size_t i = 0; i < 2; i++) {
			const struct recording *recording;

			exported_begin(&exported, (enum export_format)format, NULL, wheres[i]);
			recording = exporter_recording(exported.exporter);
			assert_false(recording_has_key(recording, "endpoint"));
			assert_false(exporter_has_chosen(exported.exporter));
			add_golden();
			assert_true(recording_has_key(recording, "endpoint"));
			assert_int_equal(exporter_has_chosen(exported.exporter), i == 0);
			assert_int_equal(exporter_filter(exported.exporter)->condition_count, 1);
			exported_end(&exported);
			exported_free(&exported);
			exported = (struct exported){ 0 };
		}
	}
}

FIXTURE_TEST(exporter_counts_records_given_up_by_filter)
{
	struct sample sample;
	uint64_t count = 0;

	exported_begin(&exported, EXPORT_FORMAT_CSV, NULL, "tenant=7");
	assert_int_equal(exporter_given_up(exported.exporter), 0);
	while (exporter_given_up(exported.exporter) == 0) {
		sample_begin_cpu(&sample, 7, 8, "r", 1, 1);
		sample_fields(&sample, "key_%lu=\"of a shape of its own\"", count);
		exported_add(&exported, &sample);
		count++;
	}
	assert_int_equal(exporter_given_up(exported.exporter), count);
	assert_int_equal(count, PACKING_SHAPES_MAX + 1);
	exported_end(&exported);
}

FIXTURE_TEST(exporter_new_fails_with_enomem_when_allocation_fails)
{
	for (int format = 0; format < _EXPORT_FORMAT_MAX; format++) {
		struct filter filter = { 0 };

		exporter_free(exported.exporter);
		exported.exporter = NULL;
		assert_each_allocation_can_fail(exporter_new((enum export_format)format, NULL,
							     STACKS_CPU, &filter, stdout,
							     &exported.exporter),
						assert_null(exported.exporter));
		assert_non_null(exported.exporter);
	}
}

static void begin_again(int format, FILE *out)
{
	struct filter filter = { 0 };

	exporter_free(exported.exporter);
	exported.exporter = NULL;
	assert_int_equal(exporter_new((enum export_format)format, NULL, STACKS_CPU, &filter, out,
				      &exported.exporter),
			 0);
}

/* An exporter without the memory for a record, or for the end of them, says so. */
FIXTURE_TEST(exporter_add_and_finish_fail_with_enomem)
{
	static char place[1 << 20];
	const struct record_view *view;
	struct sample sample;

	sample_begin_cpu(&sample, 7, 8, "r", 1, 1);
	view = exported_view(&sample);
	for (int format = 0; format < _EXPORT_FORMAT_MAX; format++) {
		FILE *out = fmemopen(place, sizeof(place), "w");

		assert_non_null(out);
		begin_again(format, out);
		assert_each_allocation_can_fail(exporter_add(exported.exporter, view),
						begin_again(format, out));
		if (format == EXPORT_FORMAT_OPENMETRICS || exporter_is_of_stacks(format)) {
			assert_each_allocation_can_fail(exporter_finish(exported.exporter),
							(void)0);
		} else {
			memory_fails_after(0);
			assert_int_equal(exporter_finish(exported.exporter), 0);
			memory_never_fails();
		}
		(void)fclose(out);
	}
}

FIXTURE_TEST(exporter_add_of_slice_fails_with_enomem)
{
	static char place[1 << 20];
	FILE *out = fmemopen(place, sizeof(place), "w");
	const struct record_view *view;
	struct sample sample;

	assert_non_null(out);
	sample_record(&sample, "slice pid=7 tid=8 request_id=r state=run_queue "
			       "start_ns=1 end_ns=2 woken_by_pid=7 woken_by_tid=9");
	view = exported_view(&sample);
	begin_again(EXPORT_FORMAT_PERFETTO, out);
	assert_each_allocation_can_fail(exporter_add(exported.exporter, view),
					begin_again(EXPORT_FORMAT_PERFETTO, out));
	(void)fclose(out);
}

FIXTURE_TEST(openmetrics_omits_wall_time_without_request_times)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, "endpoint", NULL);
	exported_record(&exported, "cpu pid=7 request_id=r endpoint=\"GET /a\" cpu_ns=5");
	exported_end(&exported);
	assert_non_null(strstr(exported.text,
			       "correlator_request_cpu_seconds{row=\"group\",endpoint=\"GET /a\","
			       "quantile=\"0.5\"} 0.000000005 "));
	assert_null(strstr(exported.text, "correlator_request_wall_seconds{"));
	assert_null(strstr(exported.text, "correlator_request_wall_seconds_count"));
	assert_null(strstr(exported.text, "correlator_user_seconds_total"));
}

/* sample: the line up to its time. */
static void expect_sample(const char *sample)
{
	if (!strstr(exported.text, sample))
		fail_msg("%s is not in %s", sample, exported.text);
}

FIXTURE_TEST(openmetrics_has_sums_of_modules_that_were_on)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, NULL, NULL);
	exported_record(&exported,
			"meta pid=7 modules=[stall syscalls io] keys=[request_id endpoint]");
	exported_record(&exported, "cpu pid=7 tid=8 request_id=r endpoint=a cpu_ns=5");
	for (int i = 0; i < 2; i++) {
		exported_record(&exported, "syscall pid=7 tid=8 request_id=r endpoint=a "
					   "syscall=read syscalls=3 inside_ns=4000");
		exported_record(&exported,
				"io pid=7 tid=8 request_id=r endpoint=a io_on=tcp "
				"peer=\"10.0.0.%d:5\" io_calls=2 in_bytes=10 out_bytes=7",
				i);
		exported_record(&exported, "stall pid=7 tid=8 request_id=r endpoint=a start_ns=1 "
					   "end_ns=9 blocked_ns=6000 run_queue_ns=2000 "
					   "blocked_on=futex woken_by_endpoint=b");
		exported_record(&exported, "stall pid=7 tid=8 request_id=r endpoint=a start_ns=1 "
					   "end_ns=9 blocked_ns=1000 run_queue_ns=2000 "
					   "blocked_on=futex");
	}
	exported_record(&exported, "stall pid=7 tid=8 request_id=r endpoint=a hog=true start_ns=1 "
				   "end_ns=9 cpu_ns=1000 blocked_ns=2000 run_queue_ns=3000");
	exported_end(&exported);
	expect_sample(
		"correlator_syscall_calls_total{row=\"group\",endpoint=\"a\",syscall=\"read\"} 6 ");
	expect_sample(
		"correlator_syscall_seconds_total{row=\"group\",endpoint=\"a\",syscall=\"read\"} "
		"0.000008000 ");
	/* Peers are not told apart. */
	expect_sample("correlator_io_calls_total{row=\"group\",endpoint=\"a\",io_on=\"tcp\"} 4 ");
	expect_sample(
		"correlator_io_in_bytes_total{row=\"group\",endpoint=\"a\",io_on=\"tcp\"} 20 ");
	expect_sample(
		"correlator_io_out_bytes_total{row=\"group\",endpoint=\"a\",io_on=\"tcp\"} 14 ");
	expect_sample(
		"correlator_stalls_total{row=\"group\",endpoint=\"a\",blocked_on=\"futex\"} 2 ");
	expect_sample(
		"correlator_stalls_total{row=\"group\",endpoint=\"a\",blocked_on=\"cpu\"} 2 ");
	expect_sample("correlator_stall_seconds_total{row=\"group\",endpoint=\"a\","
		      "blocked_on=\"futex\"} 0.000016000 ");
	expect_sample("correlator_hogs_total{row=\"group\",endpoint=\"a\"} 1 ");
	expect_sample("correlator_hog_seconds_total{row=\"group\",endpoint=\"a\"} 0.000006000 ");
}

FIXTURE_TEST(openmetrics_has_sums_of_modules_by_what_ran)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, "pid", NULL);
	exported_record(&exported, "meta pid=7 host_name=h modules=[syscalls] keys=[request_id]");
	exported_record(&exported, "cpu pid=7 host_name=h tid=8 request_id=r cpu_ns=5");
	exported_record(&exported, "syscall pid=7 host_name=h tid=8 request_id=r syscall=read "
				   "syscalls=3 inside_ns=4000");
	/* All time has a process. */
	exported_record(&exported, "syscall pid=7 host_name=h tid=8 request_id= syscall=read "
				   "syscalls=2 inside_ns=4000");
	exported_end(&exported);
	expect_sample(
		"correlator_syscall_calls_total{row=\"group\",pid=\"h:7\",syscall=\"read\"} 5 ");
}

FIXTURE_TEST(openmetrics_has_no_sums_of_a_wait_in_the_context_of_its_waker)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, "endpoint", NULL);
	exported_record(&exported, "meta pid=7 modules=[stall] keys=[request_id endpoint]");
	exported_record(&exported, "cpu pid=7 tid=8 request_id=r endpoint=a cpu_ns=5");
	exported_record(&exported, "stall pid=7 tid=8 request_id= endpoint= start_ns=1 end_ns=9 "
				   "blocked_ns=6 run_queue_ns=2 blocked_on=futex woken_by=thread "
				   "woken_by_endpoint=a");
	exported_end(&exported);
	expect_sample("correlator_stalls_total{row=\"unattributed\",blocked_on=\"futex\"} 1 ");
}

FIXTURE_TEST(openmetrics_key_with_name_of_a_label_is_told_apart)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, "syscall", NULL);
	exported_record(&exported, "cpu pid=7 request_id=r syscall=x cpu_ns=5");
	exported_end(&exported);
	expect_sample("correlator_cpu_seconds_total{row=\"group\",key_syscall=\"x\"} ");
}

FIXTURE_TEST(openmetrics_has_no_sums_of_modules_that_were_off)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, NULL, NULL);
	exported_record(&exported, "meta pid=7 modules=[stacks] keys=[request_id endpoint]");
	exported_record(&exported, "cpu pid=7 tid=8 request_id=r endpoint=a cpu_ns=5");
	exported_end(&exported);
	assert_null(strstr(exported.text, "correlator_stall"));
	assert_null(strstr(exported.text, "correlator_io"));
	assert_null(strstr(exported.text, "correlator_syscall_"));
}

FIXTURE_TEST(openmetrics_label_names_replace_invalid_characters)
{
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, "1st.Key-z9", NULL);
	exported_record(&exported, "cpu pid=42 request_id=r 1st.Key-z9=v cpu_ns=5");
	exported_end(&exported);
	assert_non_null(strstr(exported.text, "{row=\"group\",_1st_Key_z9=\"v\""));
}

static void add_frame_of(struct exported *folded, const char *id, const char *parent,
			 const char *name, const char *kind)
{
	struct sample sample;

	sample_begin_frame(&sample, 7, id, parent, name, kind);
	exported_add(folded, &sample);
}

static void add_frame(struct exported *folded, const char *id, const char *parent, const char *name)
{
	add_frame_of(folded, id, parent, name, "ruby");
}

static void add_stack(struct exported *folded, const char *request_id, const char *stack_id,
		      int64_t cpu_ns, int64_t samples)
{
	exported_record(folded,
			"cpu pid=7 request_id=%s endpoint=%s cpu_ns=%ld user_ns=%ld kernel_ns=0",
			request_id, request_id, cpu_ns, cpu_ns);
	if (samples == 0)
		return;
	exported_record(folded,
			"sample pid=7 tid=7 request_id=%s stack_id=\"%s\" samples=%ld "
			"period_ns=10101010",
			request_id, stack_id, samples);
}

FIXTURE_TEST(folded_lines_add_up_to_exact_cpu)
{
	struct exported folded;

	exported_begin(&folded, EXPORT_FORMAT_FOLDED, NULL, NULL);
	add_frame(&folded, "1", NULL, "main");
	add_frame(&folded, "2", "1", "a;\n b");
	add_stack(&folded, "r", "2", 100, 3);
	add_stack(&folded, "q", "2", 20, 1);
	add_stack(&folded, "s", "never told", 7, 1);
	add_stack(&folded, "t", "", 5, 0);
	exported_end(&folded);
	assert_string_equal(folded.text, "main;a:\\x0a b 120\n[unknown] 7\n[not sampled] 5\n");
	exported_free(&folded);
	exported_begin(&folded, EXPORT_FORMAT_FOLDED, NULL, "request_id=q");
	add_frame(&folded, "2", NULL, "a");
	add_stack(&folded, "r", "2", 100, 3);
	add_stack(&folded, "q", "2", 20, 1);
	exported_end(&folded);
	assert_string_equal(folded.text, "a 20\n");
	assert_true(exporter_has_chosen(folded.exporter));
	exported_free(&folded);
}

FIXTURE_TEST(folded_marks_kernel_frames)
{
	struct exported folded;

	exported_begin(&folded, EXPORT_FORMAT_FOLDED, NULL, NULL);
	add_frame(&folded, "1", NULL, "main");
	add_frame_of(&folded, "2", "1", "read", "native");
	add_frame_of(&folded, "3", "2", "vfs_read", "kernel");
	add_stack(&folded, "r", "3", 100, 3);
	exported_end(&folded);
	assert_string_equal(folded.text, "main;read;vfs_read_[k] 100\n");
	exported_free(&folded);
}

static void begin_stacks(struct exported *stacks, int format)
{
	exported_begin(stacks, (enum export_format)format, NULL, NULL);
	add_frame(stacks, "1", NULL, "main");
	add_frame(stacks, "2", "1", "burn");
	add_stack(stacks, "r", "2", 100, 3);
	add_stack(stacks, "t", "", 5, 0);
}

static void drop(struct exported *dropped)
{
	assert_int_equal(fclose(dropped->out), 0);
	exported_free(dropped);
}

FIXTURE_TEST(exporter_finish_of_stacks_fails_with_enomem)
{
	for (int format = EXPORT_FORMAT_FOLDED; format < _EXPORT_FORMAT_MAX; format++) {
		struct exported stacks;

		begin_stacks(&stacks, format);
		assert_each_allocation_can_fail(exporter_finish(stacks.exporter),
						(drop(&stacks), begin_stacks(&stacks, format)));
		drop(&stacks);
	}
}
