/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <locale.h>

#include "export/exported.h"
#include "failing_memory.h"
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

static void the_golden_recording_as_csv(void **state)
{
	(void)state;
	export_golden(EXPORT_FORMAT_CSV, "shop-export.csv");
}

static void the_golden_recording_as_openmetrics(void **state)
{
	(void)state;
	export_golden(EXPORT_FORMAT_OPENMETRICS, "shop.openmetrics");
}

static void the_golden_recording_as_a_trace(void **state)
{
	(void)state;
	export_golden(EXPORT_FORMAT_PERFETTO, "shop.pftrace");
	assert_true(exporter_lacks_slices(exported.exporter));
}

static void the_golden_recording_as_ndjson(void **state)
{
	(void)state;
	export_golden(EXPORT_FORMAT_NDJSON, "shop.ndjson");
	assert_false(exporter_lacks_slices(exported.exporter));
}

static void a_trace_of_nothing_lacks_no_slices(void **state)
{
	struct sample sample;

	(void)state;
	exported_begin(&exported, EXPORT_FORMAT_PERFETTO, NULL, NULL);
	assert_false(exporter_lacks_slices(exported.exporter));
	sample_begin_cpu(&sample, 7, 8, "r", 1, 1);
	exported_add(&exported, &sample);
	assert_true(exporter_lacks_slices(exported.exporter));
	sample_begin(&sample, "slice", 7);
	sample_number(&sample, "start_ns", 1);
	sample_number(&sample, "end_ns", 1);
	exported_add(&exported, &sample);
	assert_false(exporter_lacks_slices(exported.exporter));
	exported_end(&exported);
}

static void a_key_is_one_of_the_records_or_what_ran(void **state)
{
	(void)state;
	exported_begin(&exported, EXPORT_FORMAT_OPENMETRICS, "request_id", NULL);
	assert_false(exporter_has_key(exported.exporter, "request_id"));
	add_golden();
	assert_true(exporter_has_key(exported.exporter, "request_id"));
	assert_true(exporter_has_key(exported.exporter, "comm"));
	assert_false(exporter_has_key(exported.exporter, "nix"));
	exported_end(&exported);
}

static void what_where_gave_up_is_counted(void **state)
{
	struct sample sample;

	(void)state;
	exported_begin(&exported, EXPORT_FORMAT_CSV, NULL, "tenant=7");
	assert_int_equal(exporter_left_out(exported.exporter), 0);
	for (int i = 0; i < 8193; i++) {
		sample_begin_cpu(&sample, 7, 8, "r", 1, 1);
		exported_add(&exported, &sample);
	}
	assert_int_equal(exporter_left_out(exported.exporter), 8193);
	exported_end(&exported);
}

static void without_memory_it_says_so(void **state)
{
	(void)state;
	for (int format = 0; format < _EXPORT_FORMAT_MAX; format++) {
		int r = -ENOMEM;

		for (size_t i = 0; r == -ENOMEM && i < 20; i++) {
			struct filter filter = { 0 };

			exporter_free(exported.exporter);
			exported.exporter = NULL;
			memory_fails_after(i);
			r = exporter_new((enum export_format)format, NULL, &filter, stdout,
					 &exported.exporter);
			memory_fails_after(SIZE_MAX);
			assert_true(r == 0 ? exported.exporter != NULL : !exported.exporter);
		}
		assert_int_equal(r, 0);
	}
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	static const struct CMUnitTest tests[] = {
		TEST(the_golden_recording_as_csv),
		TEST(the_golden_recording_as_openmetrics),
		TEST(the_golden_recording_as_a_trace),
		TEST(the_golden_recording_as_ndjson),
		TEST(a_trace_of_nothing_lacks_no_slices),
		TEST(a_key_is_one_of_the_records_or_what_ran),
		TEST(what_where_gave_up_is_counted),
		TEST(without_memory_it_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
