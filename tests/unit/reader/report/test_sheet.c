/* SPDX-License-Identifier: GPL-2.0-only */
/* A sheet of each kind of rows and cells, in each format. */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "printed.h"
#include "reader/report/json_part.h"
#include "reader/report/sheet.h"

enum kind {
	KIND_STEP,
	KIND_GROUP,
	KIND_REST,
	KIND_LINE,
	KIND_SUM,
	KIND_TOTAL,
	_KIND_MAX,
};

static const struct sheet_kind kinds[_KIND_MAX] = {
	[KIND_STEP] = { "step", "steps", false, SHEET_PART_OF_ALL },
	[KIND_GROUP] = { "group", "groups", true, SHEET_PART_OF_ALL },
	[KIND_REST] = { "rest", NULL, true, SHEET_PART_OF_ALL },
	[KIND_LINE] = { "line", "lines", false, SHEET_PART_OF_DOCUMENTS },
	[KIND_SUM] = { "sum", "sums", false, SHEET_PART_OF_LINES },
	[KIND_TOTAL] = { "total", NULL, false, SHEET_PART_OF_ALL },
};

enum column {
	COLUMN_START,
	COLUMN_NAME,
	COLUMN_CPU,
	COLUMN_SHARE,
	COLUMN_IS_NEW,
};

static struct sheet sheet;

static void begin(enum output_format format, FILE *out)
{
	sheet_init(&sheet, format, "x", kinds, _KIND_MAX, out);
	(void)sheet_add(&sheet, NULL, "start");
	sheet.columns[COLUMN_START].is_inherited = true;
	(void)sheet_add(&sheet, NULL, "key");
	sheet.columns[COLUMN_NAME].csv_name = "na,me";
	(void)sheet_add(&sheet, "used", "cpu");
	(void)sheet_add(&sheet, "used", "share");
	(void)sheet_add(&sheet, NULL, "is_new");
	sheet_begin(&sheet);
}

static void put(enum kind kind, enum column column, struct cell cell)
{
	sheet_row(&sheet, kind);
	sheet_put(&sheet, column, cell);
	sheet_end_row(&sheet);
}

static void fill(void)
{
	put(KIND_STEP, COLUMN_START, cell_integer(-1));
	put(KIND_GROUP, COLUMN_NAME, cell_string("=a\"b\n"));
	put(KIND_GROUP, COLUMN_CPU, cell_integer(INT64_MAX));
	put(KIND_REST, COLUMN_SHARE, cell_real(0.1));
	put(KIND_STEP, COLUMN_IS_NEW, cell_bool(true));
	put(KIND_LINE, COLUMN_CPU, cell_integer(0));
	put(KIND_SUM, COLUMN_CPU, cell_integer(3));
	put(KIND_TOTAL, COLUMN_IS_NEW, cell_bool(false));
}

static int print(enum output_format format)
{
	FILE *out = printed_begin();
	int r;

	begin(format, out);
	sheet_member(&sheet, "before", json_integer(1));
	fill();
	sheet_end_rows(&sheet);
	sheet_member(&sheet, "behind", json_integer(2));
	r = sheet_finish(&sheet);
	printed_end(out);
	return r;
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, printed_forget)

FIXTURE_TEST(sheet_lines_repeat_inherited_columns)
{
	assert_int_equal(print(FORMAT_CSV), 0);
	assert_string_equal(printed, "row,start,\"na,me\",used_cpu,used_share,is_new\r\n"
				     "step,-1,,,,\r\n"
				     "group,-1,\"'=a\"\"b\\x0a\",,,\r\n"
				     "group,-1,,9223372036854775807,,\r\n"
				     "rest,-1,,,0.1,\r\n"
				     "step,,,,,true\r\n"
				     "sum,,,3,,\r\n"
				     "total,,,,,false\r\n");
	assert_int_equal(print(FORMAT_NDJSON), 0);
	assert_string_equal(
		printed,
		"{\"row\":\"step\",\"by\":\"x\",\"start\":-1}\n"
		"{\"row\":\"group\",\"by\":\"x\",\"start\":-1,\"key\":\"=a\\\"b\\\\x0a\"}\n"
		"{\"row\":\"group\",\"by\":\"x\",\"start\":-1,"
		"\"used\":{\"cpu\":9223372036854775807}}\n"
		"{\"row\":\"rest\",\"by\":\"x\",\"start\":-1,\"used\":{\"share\":0.1}}\n"
		"{\"row\":\"step\",\"by\":\"x\",\"is_new\":true}\n"
		"{\"row\":\"sum\",\"by\":\"x\",\"used\":{\"cpu\":3}}\n"
		"{\"row\":\"total\",\"by\":\"x\",\"is_new\":false}\n");
}

FIXTURE_TEST(sheet_names_key_column_by_its_key_unless_another_member_has_that_name)
{
	/* A column, one of an object, an array in a row, one beside the rows, and the kind. */
	static const char *const names[][2] = { { "endpoint", "endpoint" },
						{ "cpu", "key" },
						{ "used", "key" },
						{ "groups", "key" },
						{ "steps", "steps" },
						{ "row", "key" },
						{ "by", "key" } };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		sheet_init(&sheet, FORMAT_NDJSON, names[i][0], kinds, _KIND_MAX, printed_begin());
		assert_int_equal(sheet_add_key(&sheet), 0);
		(void)sheet_add(&sheet, NULL, "cpu");
		(void)sheet_add(&sheet, "used", "endpoint");
		sheet_begin(&sheet);
		assert_string_equal(sheet.columns[0].name, names[i][1]);
		sheet_end_rows(&sheet);
		assert_int_equal(sheet_finish(&sheet), 0);
		printed_end(sheet.out);
	}
}

FIXTURE_TEST(sheet_document_nests_inner_rows)
{
	assert_int_equal(print(FORMAT_JSON), 0);
	assert_string_equal(printed, "{\"by\":\"x\",\n\"before\":1,\n"
				     "\"steps\":[\n"
				     "{\"start\":-1,\"groups\":[{\"key\":\"=a\\\"b\\\\x0a\"},"
				     "{\"used\":{\"cpu\":9223372036854775807}}],"
				     "\"rest\":{\"used\":{\"share\":0.1}}},\n"
				     "{\"is_new\":true,\"groups\":[]}],\n"
				     "\"lines\":[\n{\"used\":{\"cpu\":0}}],\n"
				     "\"total\":{\"is_new\":false},\n"
				     "\"behind\":2}\n");
}

FIXTURE_TEST(sheet_document_without_rows_has_empty_arrays)
{
	FILE *out = printed_begin();

	begin(FORMAT_JSON, out);
	sheet_end_rows(&sheet);
	assert_int_equal(sheet_finish(&sheet), 0);
	printed_end(out);
	assert_string_equal(printed, "{\"by\":\"x\",\n\"steps\":[],\n\"lines\":[]}\n");
}

FIXTURE_TEST(sheet_document_continues_with_other_row_kinds)
{
	static const struct sheet_kind thread = { "thread", "threads", false,
						  SHEET_PART_OF_DOCUMENTS };

	for (int format = FORMAT_JSON; format <= FORMAT_NDJSON; format++) {
		FILE *out = printed_begin();
		bool is_document = format == FORMAT_JSON;

		begin((enum output_format)format, out);
		sheet_end_rows(&sheet);
		assert_int_equal(sheet_next(&sheet, &thread, 1), is_document);
		if (is_document) {
			assert_int_equal(sheet_add(&sheet, NULL, "tid"), 0);
			put(0, 0, cell_integer(7));
			sheet_end_rows(&sheet);
		}
		assert_int_equal(sheet_finish(&sheet), 0);
		printed_end(out);
		assert_int_equal(is_document,
				 strstr(printed, ",\n\"threads\":[\n{\"tid\":7}]}\n") != NULL);
	}
}

static int print_rows(int format)
{
	FILE *out = printed_begin();
	int r;

	begin((enum output_format)format, out);
	fill();
	sheet_end_rows(&sheet);
	r = sheet_finish(&sheet);
	printed_end(out);
	return r;
}

FIXTURE_TEST(sheet_returns_enomem_without_memory)
{
	static const enum output_format formats[] = { FORMAT_JSON, FORMAT_NDJSON };

	json_set_alloc_funcs(malloc, free);
	for (size_t i = 0; i < 2; i++) {
		size_t failures = 0;

		assert_each_allocation_can_fail(print_rows(formats[i]), failures++);
		assert_true(failures > 19);
	}
	memory_fails_after(0);
	assert_int_equal(print_rows(FORMAT_CSV), 0);
	memory_never_fails();
}
