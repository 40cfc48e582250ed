/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of records by a key and a name, as those of reads and writes: reader/aggregate/tally.h,
 * reader/aggregate/io.h. The sums of system calls are tested with their view. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/io.h"
#include "reader/aggregate/syscalls.h"
#include "record/sample.h"

static struct tally tally;

static void begin(const struct tally_subject *subject)
{
	struct filter filter = { 0 };

	tally_init(&tally, subject, &filter, NULL);
}

static int set_up(void **state)
{
	(void)state;
	begin(&io_subject);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	tally_deinit(&tally);
	return 0;
}

static int add_sample(struct sample *sample, size_t successes)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	memory_fails_after(successes);
	r = tally_add(&tally, &view);
	memory_never_fails();
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* Adds a record of a line (sample_record). */
__attribute__((format(printf, 1, 2))) static void add(const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(add_sample(&sample, SIZE_MAX), 0);
}

static void add_io(const char *endpoint, const char *on, int64_t in_bytes, int64_t out_bytes)
{
	add("io pid=7 tid=8 request_id=%s endpoint=%s io_on=%s io_calls=1 in_bytes=%ld "
	    "out_bytes=%ld",
	    endpoint, endpoint, on, in_bytes, out_bytes);
}

static void finish(void)
{
	assert_int_equal(tally_finish(&tally), 0);
}

/* Compares the groups, each as "KEY:" and its sums' kinds of files, with the expected text. */
static void expect(const char *expected)
{
	char text[512] = "";

	finish();
	for (const struct tally_group *group = tally.groups; group; group = group->hh.next) {
		(void)strncat(text, group->value.bytes, group->value.size_bytes);
		(void)strcat(text, ":");
		for (const struct tally_sum *sum = group->sums; sum; sum = sum->next) {
			struct record_text on = io_end_of(sum->name).on;

			(void)strcat(text, " ");
			(void)strncat(text, on.bytes, on.size_bytes);
		}
		(void)strcat(text, "\n");
	}
	assert_string_equal(text, expected);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(tally_sorts_by_sum_of_sorting_numbers)
{
	add_io("a", "tcp", 10, 0);
	add_io("b", "tcp", 5, 6);
	add_io("b", "unix", 0, 12);
	add_io("b", "pipe", 7, 6);
	expect("b: pipe unix tcp\na: tcp\n");
}

FIXTURE_TEST(tally_sorts_equal_sums_by_numbers_then_by_name)
{
	add_io("a", "unix", 2, 4);
	add_io("a", "file", 2, 4);
	add_io("a", "tcp", 3, 3);
	add_io("a", "pipe", 5, 1);
	expect("a: pipe tcp file unix\n");
}

FIXTURE_TEST(tally_sorts_groups_of_equal_size_by_value)
{
	add_io("b", "tcp", 1, 0);
	add_io("a", "tcp", 0, 1);
	expect("a: tcp\nb: tcp\n");
}

FIXTURE_TEST(tally_counts_missing_or_odd_fields_as_zero)
{
	add("io pid=7 tid=8 request_id=a endpoint=a");
	add("io pid=7 tid=8 request_id=a endpoint=a io_on=7 peer=nil accepted=1 io_calls=-1 "
	    "in_bytes=text out_bytes=[a b] connects=true");
	expect("a: ?\n");
	for (int i = 0; i < _IO_NUMBER_MAX; i++)
		assert_int_equal(tally.numbers[i], 0);
	assert_false(io_end_of(tally.groups->sums->name).is_accepted);
}

FIXTURE_TEST(tally_sums_each_number_of_its_subject)
{
	static const int64_t expected[_IO_NUMBER_MAX] = { 11, 22, 33, 44, 55, 66, 77 };

	for (int i = 1; i <= 10; i += 9)
		add("io pid=7 tid=8 request_id=a endpoint=a io_on=tcp io_calls=%d in_bytes=%d "
		    "out_bytes=%d connects=%d connect_ns=%d answers=%d answer_ns=%d",
		    i, 2 * i, 3 * i, 4 * i, 5 * i, 6 * i, 7 * i);
	finish();
	assert_memory_equal(tally.numbers, expected, sizeof(expected));
	assert_memory_equal(tally.groups->numbers, expected, sizeof(expected));
	assert_memory_equal(tally.groups->sums->numbers, expected, sizeof(expected));
}

FIXTURE_TEST(tally_numbers_saturate_at_int64_max)
{
	add_io("a", "tcp", INT64_MAX, INT64_MAX);
	add_io("a", "tcp", 1, 1);
	add_io("b", "tcp", INT64_MAX, 0);
	expect("a: tcp\nb: tcp\n");
	assert_true(tally.numbers[IO_IN_BYTES] == INT64_MAX);
	assert_true(tally.groups->sort_number == INT64_MAX);
}

FIXTURE_TEST(tally_sums_up_names_beyond_limit)
{
	for (int i = 0; i < 5000; i++)
		add("io pid=7 tid=8 request_id=a endpoint=a io_on=tcp peer=10.0.0.1:%d io_calls=1",
		    i);
	assert_int_equal(tally.left_out, 0);
	finish();
	/* One sum is of all further peers. */
	assert_int_equal(tally.sum_count, TALLY_NAMES_MAX + 1);
	assert_int_equal(tally.numbers[IO_CALLS], 5000);
	assert_int_equal(tally.groups->sums->numbers[IO_CALLS], 5000 - TALLY_NAMES_MAX);
	assert_memory_equal(io_end_of(tally.groups->sums->name).peer.bytes, "(others)", 8);
}

FIXTURE_TEST(tally_counts_records_without_name_beyond_limit)
{
	tally_deinit(&tally);
	begin(&syscalls_subject);
	for (int i = 0; i < 5000; i++)
		add("syscall pid=7 tid=8 request_id=a endpoint=a syscall=call_%d syscalls=1", i);
	assert_int_equal(tally.left_out, 5000 - TALLY_NAMES_MAX);
	finish();
	assert_int_equal(tally.numbers[SYSCALLS_CALLS], TALLY_NAMES_MAX);
}

FIXTURE_TEST(tally_cuts_long_texts)
{
	char text[TALLY_TEXT_BYTES_MAX + 100];
	struct io_end end;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	add("io pid=7 tid=8 request_id=a endpoint=%s io_on=%s peer=%s accepted=true", text, text,
	    text);
	finish();
	end = io_end_of(tally.groups->sums->name);
	assert_int_equal(tally.groups->value.size_bytes, TALLY_TEXT_BYTES_MAX);
	assert_int_equal(end.on.size_bytes, TALLY_TEXT_BYTES_MAX);
	assert_int_equal(end.peer.size_bytes, TALLY_TEXT_BYTES_MAX);
	assert_true(end.is_accepted);
}

FIXTURE_TEST(io_keeps_accepted_connections_apart)
{
	add("io pid=7 tid=8 request_id=a endpoint=a io_on=tcp peer=x accepted=true in_bytes=3");
	add("io pid=7 tid=8 request_id=a endpoint=a io_on=tcp peer=x accepted=false in_bytes=1");
	add("io pid=7 tid=8 request_id=a endpoint=a io_on=tcp peer=x in_bytes=1");
	expect("a: tcp tcp\n");
	assert_true(io_end_of(tally.groups->sums->name).is_accepted);
	assert_false(io_end_of(tally.groups->sums->next->name).is_accepted);
	assert_true(record_text_is(io_end_of(tally.groups->sums->next->name).peer, "x"));
	assert_int_equal(tally.groups->sums->next->numbers[IO_IN_BYTES], 2);
}

FIXTURE_TEST(io_cuts_kind_of_file_at_nul)
{
	struct sample sample;

	sample_record(&sample, "io pid=7 tid=8 request_id=a endpoint=a in_bytes=1");
	sample_pack_text(&sample.packer, "io_on", 5);
	sample_pack_text(&sample.packer, "tcp\0x", 5);
	sample_pack_text(&sample.packer, "peer", 4);
	sample_pack_text(&sample.packer, "\0y", 2);
	sample.field_count = (uint16_t)(sample.field_count + 2);
	assert_int_equal(add_sample(&sample, SIZE_MAX), 0);
	expect("a: tcp\n");
	assert_int_equal(io_end_of(tally.groups->sums->name).peer.size_bytes, 2);
}

FIXTURE_TEST(tally_takes_records_and_counters_of_its_subject_only)
{
	add("syscall pid=7 tid=8 request_id=a endpoint=a syscall=read syscalls=5");
	add("cpu pid=7 tid=8 request_id=a endpoint=a cpu_ns=1 syscalls=5");
	add("balance pid=7 window_ns=1 exec_ns=0 attributed_ns=0 unattributed_ns=0 overflow_ns=0 "
	    "residual_ns=0 syscalls_lost=3 io_lost=2");
	finish();
	assert_false(tally.has_any);
	assert_true(tally.has_wanted);
	assert_int_equal(tally.lost, 2);
	assert_int_equal(tally.account, 0);
	assert_null(tally.groups->sums);
	assert_int_equal(tally.groups->request_count, 1);
	tally_deinit(&tally);
	begin(&syscalls_subject);
	add_io("a", "tcp", 1, 1);
	finish();
	assert_false(tally.has_any);
	assert_null(tally.groups);
}

/* Fails each allocation once. */
FIXTURE_TEST(tally_returns_enomem_without_memory)
{
	int added = -ENOMEM, finished = -ENOMEM;

	for (size_t given = 0; added < 0 || finished < 0; given++) {
		struct sample sample;

		tally_deinit(&tally);
		begin(&io_subject);
		add_io("a", "tcp", 1, 1);
		sample_record(&sample, "io pid=7 tid=8 request_id=b endpoint=b io_on=unix");
		added = add_sample(&sample, given);
		memory_fails_after(given);
		finished = added == 0 ? tally_finish(&tally) : -ENOMEM;
		memory_never_fails();
		assert_true(added == 0 || added == -ENOMEM);
		assert_true(finished == 0 || finished == -ENOMEM);
	}
	assert_int_equal(tally.numbers[IO_CALLS], 1);
}
