/* SPDX-License-Identifier: GPL-2.0-only */
#include "unit_test.h"

#include "reader/query/recording.h"

#include <errno.h>

#include "failing_memory.h"
#include "record/sample.h"

#define START_NS (1700000001 * UINT64_C(1000000000)) /* of each sample */

static struct recording recording;

static int set_up(void **state)
{
	(void)state;
	recording_init(&recording);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	recording_deinit(&recording);
	return 0;
}

static int add_at(struct sample *sample, uint64_t wall_ns, size_t memory)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	view.wall_ns = wall_ns;
	memory_fails_after(memory);
	r = recording_add(&recording, &view);
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
	assert_int_equal(add_at(&sample, START_NS, SIZE_MAX), 0);
}

static int add_process(int64_t pid, const char *comm, int64_t end_ns, size_t memory)
{
	struct sample sample;

	sample_record(&sample, "process pid=%ld comm=%s ppid=3 start_ns=1000", pid, comm);
	if (end_ns)
		sample_fields(&sample, "end_ns=%ld", end_ns);
	else
		sample_fields(&sample, "server=puma");
	sample_fields(&sample, "ruby_version=\"3.3\n\" mode=lean");
	return add_at(&sample, START_NS, memory);
}

/* Its pid; 0: there is no other one. */
static int64_t next_process(const void **cursor, struct recording_process_info *ret_info)
{
	return recording_next_process(&recording, cursor, ret_info) ? ret_info->pid : 0;
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, tear_down)

FIXTURE_TEST(recording_keeps_latest_state_of_process)
{
	struct recording_process_info info;
	const void *cursor = NULL;

	assert_int_equal(add_process(7, "ruby", 0, SIZE_MAX), 0);
	assert_int_equal(add_process(8, "bundle", 0, SIZE_MAX), 0);
	assert_int_equal(add_process(7, "puma", 0, SIZE_MAX), 0);
	assert_int_equal(recording.process_count, 2);
	assert_int_equal(next_process(&cursor, &info), 7);
	assert_string_equal(info.host_name, "web-1");
	assert_string_equal(info.comm, "puma");
	assert_string_equal(info.server, "puma");
	assert_string_equal(info.ruby_version, "3.3\\x0a");
	assert_string_equal(info.mode, "lean");
	assert_int_equal(info.ppid, 3);
	assert_int_equal(info.start_ns, 1000);
	assert_int_equal(info.end_ns, 0);
	assert_int_equal(next_process(&cursor, &info), 8);
	assert_int_equal(next_process(&cursor, &info), 0);
	/* One that has ended leaves its pid to another. */
	assert_int_equal(add_process(7, "puma", 2000, SIZE_MAX), 0);
	cursor = NULL;
	(void)next_process(&cursor, &info);
	assert_string_equal(info.server, "puma");
	assert_int_equal(info.end_ns, 2000);
	assert_int_equal(add_process(7, "next", 3000, SIZE_MAX), 0);
	cursor = NULL;
	(void)next_process(&cursor, &info);
	assert_string_equal(info.server, "");
	assert_string_equal(info.comm, "next");
	assert_int_equal(info.end_ns, 3000);
	assert_int_equal(recording.process_count, 2);
}

static void add_mode_of_process(const char *mode, bool has_bound)
{
	struct sample sample;

	sample_record(&sample, "process pid=7");
	if (mode)
		sample_fields(&sample, "mode=%s", mode);
	if (has_bound)
		sample_fields(&sample, "ambiguous_is_bound=true");
	assert_int_equal(add_at(&sample, START_NS, SIZE_MAX), 0);
}

FIXTURE_TEST(recording_remembers_inexact_mode_without_bound)
{
	struct recording_process_info info;
	const void *cursor = NULL;

	add_mode_of_process("exact", false);
	add_mode_of_process("lean", true);
	/* The record of an end says nothing of it. */
	add_mode_of_process(NULL, false);
	assert_false(recording.lacks_bound);
	add_mode_of_process("partly-lean", false);
	assert_true(recording.lacks_bound);
	add_mode_of_process("exact", true);
	assert_true(recording.lacks_bound);
	(void)next_process(&cursor, &info);
	assert_true(info.lacks_bound);
}

FIXTURE_TEST(recording_ignores_processes_beyond_limit)
{
	struct recording_process_info info;
	const void *cursor = NULL;

	assert_int_equal(add_process(7, "ruby", 0, SIZE_MAX), 0);
	recording.process_count = RECORDING_PROCESSES_MAX - 1;
	assert_int_equal(add_process(8, "bundle", 0, SIZE_MAX), 0);
	assert_int_equal(add_process(9, "late", 0, SIZE_MAX), 0);
	assert_int_equal(add_process(7, "puma", 0, SIZE_MAX), 0);
	assert_int_equal(recording.process_count, RECORDING_PROCESSES_MAX);
	assert_int_equal(next_process(&cursor, &info), 7);
	assert_string_equal(info.comm, "puma");
	assert_int_equal(next_process(&cursor, &info), 8);
	assert_int_equal(next_process(&cursor, &info), 0);
}

FIXTURE_TEST(recording_adds_no_process_without_memory)
{
	for (size_t successes = 0; successes < 3; successes++) {
		assert_int_equal(add_process(7, "ruby", 0, successes), -ENOMEM);
		assert_int_equal(recording.process_count, 0);
	}
	assert_int_equal(add_process(7, "ruby", 0, 3), 0);
}

FIXTURE_TEST(recording_resolves_comm_of_record_by_process)
{
	static struct record_view view;
	struct sample sample;

	assert_int_equal(add_process(7, "ruby", 0, SIZE_MAX), 0);
	assert_int_equal(add_process(8, "", 0, SIZE_MAX), 0);
	for (int64_t pid = 7; pid <= 9; pid++) {
		struct record_text comm;

		sample_record(&sample, "cpu pid=%ld", pid);
		sample_decode(&sample, &view);
		comm = recording_comm(&recording, &view);
		assert_true(pid == 7 ? record_text_is(comm, "ruby") : !comm.bytes);
		msgpack_sbuffer_destroy(&sample.buffer);
	}
}

/* A cpu record is added: the comm that it then has, "" = not known. */
static struct record_text comm_of(const char *host, int64_t pid)
{
	static struct record_view view;
	struct record_text comm;
	struct sample sample;

	sample_record(&sample, "cpu host_name=%s pid=%ld", host, pid);
	sample_decode(&sample, &view);
	assert_int_equal(recording_add(&recording, &view), 0);
	comm = recording_comm(&recording, &view);
	msgpack_sbuffer_destroy(&sample.buffer);
	return comm.bytes ? comm : (struct record_text){ "", 0 };
}

static void add_process_on(const char *host, int64_t pid, const char *comm)
{
	add("process host_name=%s pid=%ld comm=%s", host, pid, comm);
}

FIXTURE_TEST(recording_finds_process_by_host_and_pid_in_any_order)
{
	static const char *const hosts[] = {
		"web-1", "web-2", "web-1", "web-10", "web-1", "web-2"
	};

	assert_true(record_text_is(comm_of("web-1", 7), ""));
	add_process_on("web-1", 7, "one");
	assert_true(record_text_is(comm_of("web-1", 7), "one"));
	add_process_on("web-2", 7, "two");
	add_process_on("web-1", 8, "eight");
	for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		const char *expected = strcmp(hosts[i], "web-1") == 0	? "one"
				       : strcmp(hosts[i], "web-2") == 0 ? "two"
									: "";

		assert_true(record_text_is(comm_of(hosts[i], 7), expected));
		assert_true(record_text_is(comm_of(hosts[i], 7), expected));
		assert_true(
			record_text_is(comm_of(hosts[i], 8), expected[0] == 'o' ? "eight" : ""));
	}
	/* From its next record on. */
	add_process_on("web-1", 7, "new");
	assert_true(record_text_is(comm_of("web-1", 7), "new"));
}

/* Up to 127 bytes it is kept as it is; longer ones are cut, and those that begin alike are one. */
FIXTURE_TEST(recording_finds_process_added_after_first_record)
{
	assert_true(record_text_is(comm_of("web-1", 7), ""));
	assert_int_equal(add_process(7, "ruby", 0, SIZE_MAX), 0);
	assert_true(record_text_is(comm_of("web-1", 7), "ruby"));
}

FIXTURE_TEST(recording_finds_process_on_host_of_any_length)
{
	char host[RECORDING_TEXT_BYTES + 8] = "";

	for (size_t size_bytes = 1; size_bytes < sizeof(host); size_bytes++) {
		memset(host, 'h', size_bytes);
		add_process_on(host, (int64_t)size_bytes, "known");
		for (int i = 0; i < 2; i++)
			assert_true(record_text_is(comm_of(host, (int64_t)size_bytes), "known"));
		host[0] = 'x';
		assert_true(record_text_is(comm_of(host, (int64_t)size_bytes), ""));
	}
}

FIXTURE_TEST(recording_detects_several_hosts_in_any_order)
{
	(void)comm_of("web-1", 7);
	(void)comm_of("web-1", 8);
	assert_string_equal(recording.first_host, "web-1");
	assert_false(recording.has_several_hosts);
	(void)comm_of("web-2", 8);
	assert_true(recording.has_several_hosts);
	(void)comm_of("web-1", 8);
	assert_true(recording.has_several_hosts);
	assert_string_equal(recording.first_host, "web-1");
	assert_int_equal(recording.record_count, 4);
}

FIXTURE_TEST(recording_deduplicates_keys_after_escaping)
{
	for (int i = 0; i < 2; i++)
		add("cpu pid=7 a\nb= a\\x0ab= a=");
	assert_int_equal(recording.key_count, 2);
	assert_string_equal(recording.keys[0], "a\\x0ab");
	assert_string_equal(recording.keys[1], "a");
}

static void add_meta_with_two_keys(void)
{
	add("meta pid=7 keys=[request_id queue]");
}

FIXTURE_TEST(recording_excludes_keys_only_if_all_metas_list_keys)
{
	assert_true(recording_may_have_key(&recording, "endpoint"));
	add_meta_with_two_keys();
	assert_true(recording_may_have_key(&recording, "queue"));
	assert_false(recording_may_have_key(&recording, "endpoint"));
	add("cpu pid=7 tid=1 request_id=r cpu_ns=2 endpoint=\"GET /\"");
	assert_true(recording_may_have_key(&recording, "endpoint"));
	assert_false(recording_may_have_key(&recording, "tenant"));
	add("meta pid=7");
	assert_true(recording_may_have_key(&recording, "tenant"));
}

FIXTURE_TEST(recording_keeps_keys_once_in_order_up_to_limit)
{
	add_meta_with_two_keys();
	add("cpu pid=7 tid=1 request_id=r cpu_ns=2 endpoint=\"GET /\" thread_name=worker");
	assert_int_equal(recording.key_count, 3);
	assert_string_equal(recording.keys[0], "request_id");
	assert_string_equal(recording.keys[1], "queue");
	assert_string_equal(recording.keys[2], "endpoint");
	assert_true(recording_has_key(&recording, "request_id"));
	assert_true(recording_has_key(&recording, "endpoint"));
	assert_false(recording_has_key(&recording, "thread_name"));
	for (int i = 3; i < RECORDING_KEYS_MAX + 2; i++)
		add("cpu pid=7 key_%d=", i);
	assert_int_equal(recording.key_count, RECORDING_KEYS_MAX);
	assert_string_equal(recording.keys[RECORDING_KEYS_MAX - 1], "key_63");
}

static void add_window(const char *kind, uint64_t end_ns, int64_t window_ns)
{
	struct sample sample;

	sample_record(&sample, "%s pid=7 window_ns=%ld", kind, window_ns);
	assert_int_equal(add_at(&sample, end_ns, SIZE_MAX), 0);
}

FIXTURE_TEST(recording_spans_first_to_last_window)
{
	struct sample sample;

	assert_int_equal(recording_duration_ns(&recording), 0);
	add_window("balance", 5000, 1000);
	assert_int_equal(recording.start_ns, 4000);
	assert_int_equal(recording.end_ns, 5000);
	add_window("cpu", 7000, 1500);
	add_window("cpu", 6000, 1500);
	add_window("self", 9000, 8000);
	assert_int_equal(recording.start_ns, 4000);
	assert_int_equal(recording.end_ns, 7000);
	assert_int_equal(recording_duration_ns(&recording), 3000);
	add_window("balance", 4500, 1500);
	assert_int_equal(recording.start_ns, 3000);
	/* One whose length is not known, */
	sample_record(&sample, "balance pid=7");
	assert_int_equal(add_at(&sample, 2999, SIZE_MAX), 0);
	assert_int_equal(recording.start_ns, 2999);
	/* and one that begins before the clock does. */
	add_window("balance", 4500, 4500);
	assert_int_equal(recording.start_ns, 0);
	add_window("balance", 4500, 4501);
	assert_int_equal(recording.start_ns, 0);
	assert_int_equal(recording_duration_ns(&recording), 7000);
}

static void add_meta(const char *mode, int split, const char *reason, int64_t cpu_count,
		     uint64_t wall_ns)
{
	struct sample sample;

	sample_record(&sample, "meta pid=7 mode=%s", mode);
	if (split >= 0)
		sample_fields(&sample, "kernel_split=%s", split ? "true" : "false");
	if (reason)
		sample_fields(&sample, "reason=\"%s\"", reason);
	sample_fields(&sample, "cpu_count=%ld interval_ns=%ld", cpu_count, cpu_count * 100);
	assert_int_equal(add_at(&sample, wall_ns, SIZE_MAX), 0);
}

FIXTURE_TEST(recording_keeps_first_mode_and_each_change)
{
	add_meta("exact", -1, NULL, 4, 100);
	add_meta("exact", 1, NULL, 4, 200);
	assert_int_equal(recording.mode_count, 1);
	assert_true(recording.modes[0].has_kernel_split);
	assert_int_equal(recording.modes[0].wall_ns, 100);
	add_meta("exact", 0, NULL, 4, 300);
	add_meta("lean", 0, NULL, 4, 400);
	add_meta("lean", 0, NULL, 4, 500);
	add_meta("lean", 0, "asked for", 4, 600);
	assert_int_equal(recording.mode_count, 4);
	assert_false(recording.modes[1].has_kernel_split);
	assert_string_equal(recording.modes[2].mode, "lean");
	assert_int_equal(recording.modes[2].wall_ns, 400);
	assert_string_equal(recording.modes[3].reason, "asked for");
	for (size_t i = 4; i < RECORDING_MODES_MAX + 3; i++)
		add_meta(i % 2 ? "lean" : "exact", 0, NULL, 4, 1000 + i);
	assert_int_equal(recording.mode_count, RECORDING_MODES_MAX);
	assert_int_equal(recording.modes_left_out, 3);
}

FIXTURE_TEST(recording_clears_cpu_count_if_recorders_differ)
{
	add_meta("exact", 1, NULL, 4, 100);
	assert_int_equal(recording.meta_count, 1);
	assert_int_equal(recording.cpu_count, 4);
	assert_int_equal(recording.interval_ns, 400);
	add_meta("exact", 1, NULL, 4, 100);
	assert_int_equal(recording.cpu_count, 4);
	add_meta("exact", 1, NULL, 8, 100);
	assert_int_equal(recording.meta_count, 3);
	assert_int_equal(recording.cpu_count, 0);
	assert_int_equal(recording.interval_ns, 400);
}

FIXTURE_TEST(recording_detects_second_host_by_name)
{
	for (int i = 0; i < 3; i++) {
		add("gap host_name=%s pid=7", i == 2 ? "Web-1" : "web-1");
		assert_int_equal(recording.record_count, i + 1);
		assert_int_equal(recording.has_several_hosts, i == 2);
	}
	assert_string_equal(recording.first_host, "web-1");
}

FIXTURE_TEST(recording_borrow_shares_metadata_without_windows)
{
	struct recording borrower;
	struct recording_process_info info;
	const void *cursor = NULL;

	assert_int_equal(add_process(7, "puma", 0, SIZE_MAX), 0);
	add("cpu pid=7 endpoint=a window_ns=1000");
	recording_init(&borrower);
	recording_borrow(&borrower, &recording);
	assert_int_equal(recording_duration_ns(&recording), 1000);
	assert_int_equal(recording_duration_ns(&borrower), 0);
	assert_int_equal(borrower.end_ns, 0);
	assert_true(recording_has_key(&borrower, "endpoint"));
	assert_true(recording_next_process(&borrower, &cursor, &info));
	assert_string_equal(info.comm, "puma");
	/* It gives nothing away that is not its own. */
	recording_deinit(&borrower);
	cursor = NULL;
	assert_int_equal(next_process(&cursor, &info), 7);
}
