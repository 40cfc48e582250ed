/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>

#include "unit_test.h"

#include "record/decoded_entry.h"

ENCODER_TEST(self_record_round_trips_through_encoder)
{
	static const struct self_program programs[] = { { "on_sched_switch", 5, 6 },
							{ "on_sys_enter", 0, 0 } };
	struct self_record record = { .common = common,
				      .window_ns = 100,
				      .own_cpu_ns = 3,
				      .own_rss_bytes = 4,
				      .contexts = { 0, 10 },
				      .accounts = { 7, 11 },
				      .processes = { 8, 12 },
				      .has_programs = true,
				      .programs = programs,
				      .programs_count = 2,
				      .programs_measured_ns = 50,
				      .programs_samples = 2 };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "self", 5 + 3 + 6 + 4 + 2);
	expect_number(&map, "window_ns", 100);
	expect_number(&map, "own_cpu_ns", 3);
	expect_number(&map, "own_rss_bytes", 4);
	expect_number(&map, "contexts", 0);
	expect_number(&map, "contexts_max", 10);
	expect_number(&map, "accounts", 7);
	expect_number(&map, "accounts_max", 11);
	expect_number(&map, "processes", 8);
	expect_number(&map, "processes_max", 12);
	expect_number(&map, "bpf_on_sched_switch_runs", 5);
	expect_number(&map, "bpf_on_sched_switch_ns", 6);
	expect_number(&map, "bpf_on_sys_enter_runs", 0);
	expect_number(&map, "programs_measured_ns", 50);
	expect_number(&map, "programs_samples", 2);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(self_record_omits_unknown_costs)
{
	struct self_record record = { .common = common, .window_ns = 100, .own_cpu_ns = 0 };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "self", 5 + 2);
	expect_number(&map, "own_cpu_ns", 0);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(self_record_has_delivery_fields_only_with_delivery)
{
	struct self_record record = { .common = common,
				      .delivery = { .is_there = true,
						    .sent_chunks = 1,
						    .resent_chunks = 2,
						    .acked_records = 3,
						    .rejected_records = 4,
						    .dropped_records = 5,
						    .queued_records = 6,
						    .queued_bytes = 7,
						    .spool_bytes = 8 } };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "self", 5 + 2 + 8);
	expect_number(&map, "forward_sent_chunks", 1);
	expect_number(&map, "forward_resent_chunks", 2);
	expect_number(&map, "forward_acked_records", 3);
	expect_number(&map, "forward_rejected_records", 4);
	expect_number(&map, "forward_dropped_records", 5);
	expect_number(&map, "forward_queued_records", 6);
	expect_number(&map, "forward_queued_bytes", 7);
	expect_number(&map, "forward_spool_bytes", 8);
	msgpack_unpacked_destroy(&unpacked);
	record_encoder_reset(*state);
	record.delivery.last_error = "tcp://x: gone";
	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "self", 5 + 2 + 9);
	expect_text(&map, "forward_last_error", "tcp://x: gone");
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(self_record_has_output_fields_only_with_output)
{
	struct self_record record = { .common = common,
				      .has_output = true,
				      .output_dropped_records = 1,
				      .output_waiting_bytes = 2,
				      .output_failures = 3 };
	msgpack_unpacked unpacked;
	msgpack_object_map map;

	assert_int_equal(record_encode(*state, &record), 0);
	map = decode(*state, &unpacked);
	expect_common(&map, "self", 5 + 2 + 3);
	expect_number(&map, "output_dropped_records", 1);
	expect_number(&map, "output_waiting_bytes", 2);
	expect_number(&map, "output_failures", 3);
	msgpack_unpacked_destroy(&unpacked);
}

ENCODER_TEST(self_record_rejects_too_many_programs_and_overlong_names)
{
	char name[SELF_PROGRAM_NAME_BYTES + 2];
	const struct self_program program = { name, 1, 1 };
	struct self_program programs[SELF_PROGRAMS_MAX];
	struct self_record record = {
		.common = common, .has_programs = true, .programs = &program, .programs_count = 1
	};
	size_t size_bytes;

	memset(name, 'x', sizeof(name));
	name[SELF_PROGRAM_NAME_BYTES + 1] = '\0';
	assert_int_equal(record_encode(*state, &record), -EINVAL);
	name[SELF_PROGRAM_NAME_BYTES] = '\0';
	assert_int_equal(record_encode(*state, &record), 0);
	record_encoder_reset(*state);
	for (size_t i = 0; i < SELF_PROGRAMS_MAX; i++)
		programs[i] = program;
	record.programs = programs;
	record.programs_count = SELF_PROGRAMS_MAX;
	assert_int_equal(record_encode(*state, &record), 0);
	record_encoder_reset(*state);
	/* The last of them, too. */
	programs[SELF_PROGRAMS_MAX - 1].name = NULL;
	assert_int_equal(record_encode(*state, &record), -EINVAL);
	programs[SELF_PROGRAMS_MAX - 1].name = name;
	record.programs_count++;
	assert_int_equal(record_encode(*state, &record), -EINVAL);
	assert_null(record_encoder_bytes(*state, &size_bytes));
}
