/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixtures/golden/shop.rec: a small recording whose books balance. The encoder must still write
 * these bytes; tests/unit/reader reads them back.
 */
#include "unit_test.h"

#include "record/golden.h"
#include "record/golden_writer.h"

static void add_meta(struct golden *golden)
{
	static const char *const keys[] = { "request_id", "endpoint" };
	const struct meta_record record = {
		.common = next_common(golden),
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
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_process(struct golden *golden, enum process_event event)
{
	struct process_record record = {
		.common = next_common(golden),
		.event = event,
		.parent_pid = 1,
		.comm = "puma",
		.mode = WATCH_MODE_EXACT,
		.ruby_version = "3.3.1",
		.server = "puma",
		.start_ns = 1699999900123456789,
	};

	if (event == PROCESS_EVENT_EXIT)
		record.end_ns = record.common.wall_ns;
	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_cpu(struct golden *golden, uint32_t tid, const char *request_id,
		    const char *endpoint, uint64_t user_ns, uint64_t kernel_ns, uint32_t flags)
{
	const struct record_key keys[] = { { "request_id", request_id }, { "endpoint", endpoint } };
	const struct cpu_record record = {
		.common = next_common(golden),
		.tid = tid,
		.thread_name = tid == 4250 ? "puma srv tp 001" : "puma srv tp 002",
		.keys = keys,
		.keys_count = 2,
		.window_ns = 1000000000,
		.has_kernel_split = true,
		.cpu_ns = user_ns + kernel_ns,
		.user_ns = user_ns,
		.kernel_ns = kernel_ns,
		.split_error_ns = kernel_ns / 10,
		.run_queue_ns = 1500000,
		.blocked_ns = 250000000,
		.uninterruptible_ns = 5000,
		.blocked_disk_ns = 5000,
		.blocked_network_ns = 49995000,
		.blocked_futex_ns = 200000000,
		.stolen_ns = 700,
		.slices = 7,
		.switches_voluntary = 8,
		.switches_involuntary = 9,
		.migrations = 2,
		.has_syscalls = true,
		.syscalls = 12,
		.first_ns = 1700000000200000000,
		.last_ns = 1700000001100000000,
		.flags = flags,
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_balance(struct golden *golden, uint64_t exec_ns, uint64_t attributed_ns,
			uint64_t unattributed_ns, uint64_t overflow_ns)
{
	struct balance_record record = {
		.common = next_common(golden),
		.window_ns = 500000000,
		.exec_ns = exec_ns,
		.attributed_ns = attributed_ns,
		.unattributed_ns = unattributed_ns,
		.overflow_ns = overflow_ns,
		.residual_ns = (int64_t)(exec_ns - attributed_ns - unattributed_ns - overflow_ns),
		.own_cpu_ns = 617283,
	};

	record.losses[COUNTER_CONTEXTS_FULL] = 1;
	record.losses[COUNTER_CONTEXT_INHERITED] = 1;
	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_self(struct golden *golden)
{
	static const struct self_program programs[] = {
		{ "on_sched_switch", 1234, 345678 },
		{ "on_sys_enter", 56789, 4567890 },
	};
	const struct self_record record = {
		.common = next_common(golden),
		.window_ns = 1000000000,
		.own_cpu_ns = 1234567,
		.own_rss_bytes = 12345678,
		.contexts = { 3, 16384 },
		.accounts = { 9, 65536 },
		.processes = { 1, 1024 },
		.has_programs = true,
		.programs = programs,
		.programs_count = 2,
		.programs_measured_ns = 50000000,
		.programs_samples = 1,
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

TEST(encoder_writes_golden_recording)
{
	struct golden golden = { .encoder = record_encoder_new(), .recording = 77 };
	const void *bytes;
	size_t size_bytes;

	assert_non_null(golden.encoder);
	add_meta(&golden);
	add_process(&golden, PROCESS_EVENT_FOUND);
	add_cpu(&golden, 4250, "req-1", "GET /orders", 200001234, 50000000, 0);
	add_cpu(&golden, 4251, "req-2", "GET /orders", 90000000, 10000000, 0);
	add_cpu(&golden, 4250, "req-3", "POST /cart/\xc3\xa9t\xc3\xa9", 70000000, 10000000,
		CPU_RECORD_INHERITED);
	add_cpu(&golden, 4251, "req-1", "GET /orders", 15000000, 5000000, 0);
	add_cpu(&golden, 4250, "", NULL, 10000000, 2000000, 0);
	add_cpu(&golden, 4251, "", NULL, 3000000, 0, CPU_RECORD_UNKNOWN);
	add_cpu(&golden, 4250, "", NULL, 5000000, 0, CPU_RECORD_OVERFLOW);
	add_balance(&golden, 300000000, 288000100, 12000000, 0);
	add_balance(&golden, 170001357, 162001134, 3000000, 5000000);
	add_process(&golden, PROCESS_EVENT_EXIT);
	add_self(&golden);
	bytes = record_encoder_bytes(golden.encoder, &size_bytes);
	golden_compare("shop.rec", bytes, size_bytes);
	record_encoder_free(golden.encoder);
}
