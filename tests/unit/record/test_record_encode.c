/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "record/decoded_entry.h"

ENCODER_TEST(encoder_writes_time_as_ten_big_endian_bytes)
{
	/* 1700000001 = 0x6553f101, 123456789 = 0x075bcd15 */
	static const uint8_t head[] = { 0x92, 0xd7, 0x00, 0x65, 0x53, 0xf1, 0x01,
					0x07, 0x5b, 0xcd, 0x15, 0xde, 0x00, 0x0b };
	const struct gap_record record = { .common = common, .reason = "disk full" };
	size_t size_bytes;

	assert_int_equal(record_encode(*state, &record), 0);
	assert_memory_equal(record_encoder_bytes(*state, &size_bytes), head, sizeof(head));
}

ENCODER_TEST(encoder_meta_record_round_trips)
{
	static const char *const keys[] = { "request_id", "endpoint" };
	static const char *const modules[] = { "stacks", "off-cpu" };
	struct meta_record record = {
		.common = common,
		.tool_version = "0.1.0",
		.kernel_release = "6.1.0-13",
		.machine = "x86_64",
		.boot_id = "b0071d",
		.cpu_count = 8,
		.mode = WATCH_MODE_EXACT,
		.kernel_split = true,
		.blocked_reasons = true,
		.interval_ns = 1000000000,
		.transition_ns = 150,
		.clock_offset_ns = 1699990000000000000,
		.key_names = keys,
		.key_names_count = 2,
		.module_names = modules,
		.module_names_count = 2,
	};
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "meta", 18);
	expect_number(&map, "cpu_count", 8);
	assert_null(find(&map, "reason"));
	expect_text(&map, "tool_version", "0.1.0");
	expect_text(&map, "kernel_release", "6.1.0-13");
	expect_text(&map, "machine", "x86_64");
	expect_text(&map, "boot_id", "b0071d");
	expect_text(&map, "mode", "exact");
	assert_true(find(&map, "kernel_split")->via.boolean);
	assert_true(find(&map, "blocked_reasons")->via.boolean);
	expect_number(&map, "interval_ns", 1000000000);
	expect_number(&map, "transition_ns", 150);
	expect_number(&map, "clock_offset_ns", 1699990000000000000);
	expect_texts(&map, "keys", keys, 2);
	expect_texts(&map, "modules", modules, 2);
	msgpack_unpacked_destroy(&unpacked);

	record_encoder_reset(*state);
	record.clock_offset_ns = 0;
	record.cpu_count = 0;
	record.mode = WATCH_MODE_LEAN;
	record.reason = "over the budget of 1 %";
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	assert_null(find(&map, "clock_offset_ns"));
	assert_null(find(&map, "cpu_count"));
	expect_text(&map, "mode", "lean");
	expect_text(&map, "reason", "over the budget of 1 %");
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_process_record_round_trips)
{
	struct process_record record = { .common = common,
					 .event = PROCESS_EVENT_FORK,
					 .parent_pid = 1,
					 .comm = "puma",
					 .ruby_version = "3.3.1",
					 .server = "puma",
					 .has_pickup = true,
					 .pickup_ns = 12345,
					 .start_ns = 1699999900123456789 };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "process", 12);
	expect_text(&map, "event", "fork");
	expect_number(&map, "pickup_ns", 12345);
	expect_number(&map, "ppid", 1);
	expect_text(&map, "comm", "puma");
	expect_text(&map, "ruby_version", "3.3.1");
	expect_text(&map, "server", "puma");
	expect_number(&map, "start_ns", 1699999900123456789);
	assert_null(find(&map, "end_ns"));
	msgpack_unpacked_destroy(&unpacked);

	record_encoder_reset(*state);
	record.ruby_version = record.server = NULL;
	record.start_ns = 0;
	record.has_pickup = false;
	record.event = PROCESS_EVENT_EXIT;
	record.end_ns = common.wall_ns;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "process", 9);
	expect_number(&map, "end_ns", common.wall_ns);
	msgpack_unpacked_destroy(&unpacked);
}

static const struct record_key cpu_keys[] = { { "request_id", "req-1" }, { "endpoint", NULL } };

static struct cpu_record full_cpu_record(void)
{
	struct cpu_record record = {
		.common = common,
		.tid = 4250,
		.ns_tid = 17,
		.thread_name = "puma srv tp 001",
		.keys = cpu_keys,
		.keys_count = 2,
		.window_ns = 100,
		.has_kernel_split = true,
		.cpu_ns = 30,
		.user_ns = 20,
		.kernel_ns = 10,
		.split_error_ns = 3,
		.run_queue_ns = 11,
		.blocked_ns = 59,
		.uninterruptible_ns = 5,
		.blocked_disk_ns = 1,
		.blocked_network_ns = 2,
		.blocked_poll_ns = 4,
		.blocked_pipe_ns = 5,
		.blocked_futex_ns = 6,
		.blocked_sleep_ns = 7,
		.blocked_child_ns = 9,
		.blocked_fault_ns = 10,
		.blocked_other_ns = 15,
		.stolen_ns = 6,
		.ambiguous_ns = 6,
		.slices = 7,
		.switches_voluntary = 8,
		.switches_involuntary = 9,
		.migrations = 2,
		.has_syscalls = true,
		.syscalls = 12,
		.first_ns = 1700000001000000000,
		.last_ns = 1700000001100000000,
		.flags = CPU_RECORD_TRUNCATED | CPU_RECORD_INHERITED | CPU_RECORD_OVERFLOW |
			 CPU_RECORD_UNKNOWN | CPU_RECORD_MIXED_THREADS,
	};

	record.common.ns_pid = 12;
	return record;
}

ENCODER_TEST(encoder_cpu_record_round_trips)
{
	static const char *const flags[] = { "truncated", "inherited", "overflow", "unknown",
					     "mixed_threads" };
	struct cpu_record record = full_cpu_record();
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "cpu", 5 + 23 + 9);
	expect_number(&map, "ns_pid", 12);
	expect_number(&map, "tid", 4250);
	expect_number(&map, "ns_tid", 17);
	expect_text(&map, "thread_name", "puma srv tp 001");
	expect_text(&map, "request_id", "req-1");
	assert_null(find(&map, "endpoint"));
	expect_number(&map, "window_ns", 100);
	expect_number(&map, "cpu_ns", 30);
	expect_number(&map, "user_ns", 20);
	expect_number(&map, "kernel_ns", 10);
	expect_number(&map, "split_error_ns", 3);
	expect_number(&map, "run_queue_ns", 11);
	expect_number(&map, "blocked_ns", 59);
	expect_number(&map, "uninterruptible_ns", 5);
	expect_number(&map, "blocked_disk_ns", 1);
	expect_number(&map, "blocked_network_ns", 2);
	expect_number(&map, "blocked_poll_ns", 4);
	expect_number(&map, "blocked_pipe_ns", 5);
	expect_number(&map, "blocked_futex_ns", 6);
	expect_number(&map, "blocked_sleep_ns", 7);
	expect_number(&map, "blocked_child_ns", 9);
	expect_number(&map, "blocked_fault_ns", 10);
	expect_number(&map, "blocked_other_ns", 15);
	expect_number(&map, "stolen_ns", 6);
	expect_number(&map, "ambiguous_ns", 6);
	expect_number(&map, "slices", 7);
	expect_number(&map, "switches_voluntary", 8);
	expect_number(&map, "switches_involuntary", 9);
	expect_number(&map, "migrations", 2);
	expect_number(&map, "syscalls", 12);
	expect_number(&map, "first_ns", 1700000001000000000);
	expect_number(&map, "last_ns", 1700000001100000000);
	expect_texts(&map, "flags", flags, 5);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_omits_unmeasured_fields)
{
	struct cpu_record record = full_cpu_record();
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	record.has_kernel_split = record.has_syscalls = false;
	record.common.ns_pid = record.ns_tid = 0;
	record.flags = 0;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	assert_null(find(&map, "user_ns"));
	assert_null(find(&map, "kernel_ns"));
	assert_null(find(&map, "split_error_ns"));
	assert_null(find(&map, "syscalls"));
	assert_null(find(&map, "flags"));
	assert_null(find(&map, "ns_pid"));
	assert_null(find(&map, "ns_tid"));
	expect_number(&map, "cpu_ns", 30);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_slice_record_round_trips)
{
	static const char *const flags[] = { "inherited" };
	struct slice_record record = {
		.common = common,
		.tid = 4250,
		.ns_tid = 17,
		.thread_name = "puma srv tp 001",
		.keys = cpu_keys,
		.keys_count = 2,
		.fiber = 7,
		.state = "running",
		.start_ns = 1700000001000000000,
		.end_ns = 1700000001000000100,
		.has_cpu = true,
		.cpu_number = 0,
		.cpu_ns = 90,
		.has_kernel_split = true,
		.user_ns = 70,
		.kernel_ns = 20,
		.woken_by_pid = 4000,
		.woken_by_tid = 4001,
		.flags = CPU_RECORD_INHERITED,
	};
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "slice", 5 + 15);
	expect_number(&map, "tid", 4250);
	expect_number(&map, "ns_tid", 17);
	expect_text(&map, "thread_name", "puma srv tp 001");
	expect_text(&map, "request_id", "req-1");
	assert_null(find(&map, "endpoint"));
	expect_text(&map, "state", "running");
	expect_number(&map, "start_ns", 1700000001000000000);
	expect_number(&map, "end_ns", 1700000001000000100);
	expect_number(&map, "fiber", 7);
	expect_number(&map, "cpu_number", 0);
	expect_number(&map, "cpu_ns", 90);
	expect_number(&map, "user_ns", 70);
	expect_number(&map, "kernel_ns", 20);
	expect_number(&map, "woken_by_pid", 4000);
	expect_number(&map, "woken_by_tid", 4001);
	expect_texts(&map, "flags", flags, 1);
	msgpack_unpacked_destroy(&unpacked);

	record_encoder_reset(*state);
	record.state = "blocked";
	record.has_cpu = record.has_kernel_split = false;
	record.ns_tid = record.fiber = record.woken_by_pid = record.woken_by_tid = record.flags = 0;
	record.thread_name = NULL;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "slice", 5 + 5);
	expect_text(&map, "state", "blocked");
	assert_null(find(&map, "cpu_number"));
	assert_null(find(&map, "woken_by_tid"));
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_balance_record_round_trips)
{
	static const char *const names[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, kind, text) field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};
	struct balance_record record = { .common = common,
					 .window_ns = 100,
					 .exec_ns = 50,
					 .attributed_ns = 30,
					 .unattributed_ns = 15,
					 .overflow_ns = 7,
					 .residual_ns = -2,
					 .own_cpu_ns = 3 };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	for (uint32_t i = 1; i < _COUNTER_MAX; i++)
		record.losses[i] = 100 + i;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "balance", 5 + 7 + _COUNTER_MAX);
	expect_number(&map, "window_ns", 100);
	expect_number(&map, "exec_ns", 50);
	expect_number(&map, "attributed_ns", 30);
	expect_number(&map, "unattributed_ns", 15);
	expect_number(&map, "overflow_ns", 7);
	assert_int_equal(find(&map, "residual_ns")->type, MSGPACK_OBJECT_NEGATIVE_INTEGER);
	assert_int_equal(find(&map, "residual_ns")->via.i64, -2);
	expect_number(&map, names[0], 0);
	for (uint32_t i = 1; i < _COUNTER_MAX; i++)
		expect_number(&map, names[i], 100 + i);
	expect_number(&map, "own_cpu_ns", 3);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_alert_record_round_trips)
{
	struct alert_record record = { .common = common,
				       .expression = "max(cpu) > 1ms by endpoint",
				       .state = "firing",
				       .by_key = "endpoint",
				       .by_value = "GET /",
				       .has_value = true,
				       .value = 0,
				       .threshold = 1000000,
				       .unit = "ns",
				       .since_ns = 1700000001000000000 };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "alert", 5 + 8);
	expect_text(&map, "expression", "max(cpu) > 1ms by endpoint");
	expect_text(&map, "state", "firing");
	expect_text(&map, "by_key", "endpoint");
	expect_text(&map, "by_value", "GET /");
	expect_number(&map, "value", 0);
	expect_number(&map, "threshold", 1000000);
	expect_text(&map, "unit", "ns");
	expect_number(&map, "since_ns", 1700000001000000000);
	msgpack_unpacked_destroy(&unpacked);

	record_encoder_reset(*state);
	record.by_key = record.by_value = NULL;
	record.has_value = false;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "alert", 5 + 5);
	assert_null(find(&map, "by_value"));
	assert_null(find(&map, "value"));
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_gap_record_round_trips)
{
	struct gap_record record = { .common = common,
				     .dropped_records = 1,
				     .total_dropped_records = 9,
				     .dropped_segments = 2,
				     .first_ns = 3,
				     .last_ns = 4,
				     .reason = "spool full" };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "gap", 11);
	expect_number(&map, "dropped_records", 1);
	expect_number(&map, "total_dropped_records", 9);
	expect_number(&map, "dropped_segments", 2);
	expect_number(&map, "first_ns", 3);
	expect_number(&map, "last_ns", 4);
	expect_text(&map, "reason", "spool full");
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_escapes_strings_to_clean_utf8)
{
	const struct record_key keys[] = { { "request_id", "a\x01\xff-\xc3\xa9\n" } };
	struct cpu_record record = full_cpu_record();
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	record.keys = keys;
	record.keys_count = 1;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_text(&map, "request_id", "a\\x01\\xff-\xc3\xa9\\x0a");
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_truncates_string_at_limit)
{
	char text[2 * RECORD_STRING_BYTES_MAX + 1];
	struct gap_record record = { .common = common, .reason = text };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	assert_int_equal(find(&map, "reason")->via.str.size, RECORD_STRING_BYTES_MAX);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_clamps_integers_and_time_to_receiver_range)
{
	struct gap_record record = { .common = common,
				     .reason = "r",
				     .dropped_records = UINT64_MAX,
				     .dropped_segments = (uint64_t)INT64_MAX + 1,
				     .first_ns = INT64_MAX };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	record.common.wall_ns = UINT64_MAX;
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_number(&map, "dropped_records", INT64_MAX);
	expect_number(&map, "dropped_segments", INT64_MAX);
	expect_number(&map, "first_ns", INT64_MAX);
	/* The seconds never reach the two values that Fluent Bit takes for marks. */
	assert_memory_equal(unpacked.data.via.array.ptr[0].via.ext.ptr, "\xff\xff\xff\xfd", 4);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(encoder_rejects_more_fields_than_map_header_holds)
{
	static struct record_key keys[UINT16_MAX];
	struct cpu_record record = { .common = common, .thread_name = "worker", .keys = keys };
	msgpack_unpacked unpacked;
	uint32_t others;

	for (size_t i = 0; i < UINT16_MAX; i++)
		keys[i] = (struct record_key){ "key", "" };
	assert_int_equal(record_encode(*state, &record), 0);
	others = decode(*state, &unpacked).size;
	msgpack_unpacked_destroy(&unpacked);
	record_encoder_reset(*state);
	record.keys_count = UINT16_MAX - others;
	assert_int_equal(record_encode(*state, &record), 0);
	assert_int_equal(decode(*state, &unpacked).size, UINT16_MAX);
	msgpack_unpacked_destroy(&unpacked);
	record_encoder_reset(*state);
	record.keys_count++;
	assert_int_equal(record_encode(*state, &record), -EINVAL);
}

ENCODER_TEST(encoder_allocation_failure_returns_null)
{
	memory_fails_after(0);
	assert_null(record_encoder_new());
	memory_never_fails();
	record_encoder_free(NULL);
}

ENCODER_TEST(encoder_cut_drops_later_records_and_keeps_earlier)
{
	struct gap_record record = { .common = common, .reason = "disk full" };
	size_t size_bytes, cut_bytes;
	char first[256];

	assert_int_equal(record_encode(*state, &record), 0);
	memcpy(first, record_encoder_bytes(*state, &cut_bytes), sizeof(first) / 2);
	record.reason = "another";
	assert_int_equal(record_encode(*state, &record), 0);
	assert_int_equal(record_encoder_count(*state), 2);
	record_encoder_cut(*state, cut_bytes);
	assert_int_equal(record_encoder_count(*state), 1);
	assert_memory_equal(record_encoder_bytes(*state, &size_bytes), first, sizeof(first) / 2);
	assert_int_equal(size_bytes, cut_bytes);
	assert_int_equal(record_encode(*state, &record), 0);
	(void)record_encoder_bytes(*state, &size_bytes);
	assert_int_equal(size_bytes, 2 * cut_bytes + strlen("another") - strlen("disk full"));
	record_encoder_reset(*state);
	assert_null(record_encoder_bytes(*state, &size_bytes));
	assert_int_equal(size_bytes, 0);
	assert_int_equal(record_encoder_count(*state), 0);
}

ENCODER_TEST(encoder_rejected_record_leaves_others_unchanged)
{
	struct gap_record good = { .common = common, .reason = "r" };
	struct gap_record bad = { .common = common };
	size_t before_bytes, after_bytes;

	(void)record_encoder_bytes(*state, &before_bytes);
	assert_int_equal(before_bytes, 0);
	assert_int_equal(record_encode(*state, &good), 0);
	(void)record_encoder_bytes(*state, &before_bytes);
	assert_int_equal(record_encode(*state, &bad), -EINVAL);
	bad = good;
	bad.common.host_name = NULL;
	assert_int_equal(record_encode(*state, &bad), -EINVAL);
	(void)record_encoder_bytes(*state, &after_bytes);
	assert_int_equal(before_bytes, after_bytes);
	record_encoder_reset(*state);
	assert_null(record_encoder_bytes(*state, &after_bytes));
}
