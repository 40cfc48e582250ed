/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fixtures/golden/stacks.rec: a small recording with stacks. The encoder must still write these
 * bytes; tests/unit/reader reads them back.
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
		.interval_ns = 1000000000,
		.key_names = keys,
		.key_names_count = 2,
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_frame(struct golden *golden, const char *id, const char *parent, const char *name,
		      const char *kind, const char *file, uint32_t line, uint32_t first_line)
{
	const struct stack_record record = {
		.common = next_common(golden),
		.stack_id = id,
		.parent_id = parent,
		.name = name,
		.frame_kind = kind,
		.file = file,
		.line = line,
		.first_line = first_line,
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_cpu(struct golden *golden, const char *request_id, const char *endpoint,
		    uint64_t cpu_ns)
{
	const struct record_key keys[] = { { "request_id", request_id }, { "endpoint", endpoint } };
	const struct cpu_record record = {
		.common = next_common(golden),
		.tid = 4250,
		.keys = keys,
		.keys_count = 2,
		.window_ns = 1000000000,
		.has_kernel_split = true,
		.cpu_ns = cpu_ns,
		.user_ns = cpu_ns,
		.slices = 1,
		.first_ns = 1700000000200000000,
		.last_ns = 1700000001100000000,
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_sample(struct golden *golden, const char *request_id, const char *endpoint,
		       const char *stack_id, uint64_t samples)
{
	const struct record_key keys[] = { { "request_id", request_id }, { "endpoint", endpoint } };
	const struct sample_record record = {
		.common = next_common(golden),
		.tid = 4250,
		.keys = keys,
		.keys_count = 2,
		.window_ns = 1000000000,
		.stack_id = stack_id,
		.samples = samples,
		.period_ns = 10101010,
	};

	assert_int_equal(record_encode(golden->encoder, &record), 0);
}

static void add_frames(struct golden *golden)
{
	add_frame(golden, "a1", NULL, "<main>", "ruby", "config.ru", 3, 1);
	add_frame(golden, "a2", "a1", "Puma::Server#process", "ruby", "puma/server.rb", 410, 400);
	add_frame(golden, "a3", "a2", "OrdersController#show", "ruby", "orders.rb", 12, 10);
	add_frame(golden, "a4", "a3", "Order#total", "ruby", "order.rb", 31, 30);
	add_frame(golden, "a5", "a4", "Integer#times", "c", NULL, 0, 0);
	add_frame(golden, "a6", "a5", "block in Order#total", "ruby", "order.rb", 33, 31);
	add_frame(golden, "a7", "a6", "Order#total", "ruby", "order.rb", 32, 30);
	add_frame(golden, "a8", "a3", "(garbage collection)", "gc", NULL, 0, 0);
	add_frame(golden, "a9", "a2", "Cart#\xc3\xa9t\xc3\xa9, \"all\"", "ruby", "cart.rb", 8, 7);
}

TEST(encoder_writes_golden_recording_with_stacks)
{
	static const char show[] = "GET /orders/:id", cart[] = "POST /cart";
	struct golden golden = { .encoder = record_encoder_new(), .recording = 78 };
	const void *bytes;
	size_t size_bytes;

	assert_non_null(golden.encoder);
	add_meta(&golden);
	add_frames(&golden);
	add_cpu(&golden, "req-1", show, 300001234);
	add_cpu(&golden, "req-2", show, 100000000);
	add_cpu(&golden, "req-3", cart, 80000000);
	add_cpu(&golden, "req-4", cart, 4000000);
	add_cpu(&golden, "", NULL, 12000000);
	add_sample(&golden, "req-1", show, "a6", 12);
	add_sample(&golden, "req-1", show, "a7", 9);
	add_sample(&golden, "req-1", show, "a8", 9);
	add_sample(&golden, "req-2", show, "a6", 10);
	add_sample(&golden, "req-3", cart, "a9", 8);
	add_sample(&golden, "", NULL, "a1", 1);
	bytes = record_encoder_bytes(golden.encoder, &size_bytes);
	golden_compare("stacks.rec", bytes, size_bytes);
	record_encoder_free(golden.encoder);
}
