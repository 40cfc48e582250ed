/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A recording of a busy server, to be read back: bench_recording COUNT > FILE. Of COUNT cpu records
 * each request has three, in windows that follow each other, so that none is found next to another.
 * The books of each window balance.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "record/check.h"
#include "record/record_encode.h"

enum {
	WINDOW_RECORDS = 5000,
	WINDOWS_OF_REQUEST = 3,
	ENDPOINTS = 40,
	THREADS = 8,
	IDLE_EACH = 50, /* of so many records one is of no request */
	PID = 4242,
};

static const uint64_t START_NS = UINT64_C(1700000000000000000), WINDOW_NS = 1000000000;

struct recording {
	struct record_encoder *encoder;
	bool has_begun;
	uint64_t record_count;
	uint64_t attributed_ns; /* in this window */
	uint64_t unattributed_ns;
	char record_id[64];
};

static struct record_common next_common(struct recording *recording, uint64_t window)
{
	(void)snprintf(recording->record_id, sizeof(recording->record_id),
		       "0123abcd:4242:123456789:%" PRIu64, ++recording->record_count);
	return (struct record_common){ .wall_ns = START_NS + (window + 1) * WINDOW_NS,
				       .record_id = recording->record_id,
				       .host_name = "app-17.example.com",
				       .pid = PID };
}

static int begin(struct recording *recording)
{
	static const char *const keys[] = { "request_id", "endpoint" };
	const struct meta_record meta = { .common = next_common(recording, 0),
					  .tool_version = "bench",
					  .kernel_release = "6.1",
					  .machine = "x86_64",
					  .boot_id = "0123abcd",
					  .cpu_count = 8,
					  .mode = WATCH_MODE_EXACT,
					  .kernel_split = true,
					  .interval_ns = WINDOW_NS,
					  .key_names = keys,
					  .key_names_count = 2 };
	int r = record_encode(recording->encoder, &meta);
	const struct process_record process = { .common = next_common(recording, 0),
						.event = PROCESS_EVENT_FOUND,
						.parent_pid = 1,
						.comm = "ruby",
						.mode = WATCH_MODE_EXACT,
						.ruby_version = "3.3.0",
						.server = "puma" };

	return r < 0 ? r : record_encode(recording->encoder, &process);
}

static int add_cpu(struct recording *recording, uint64_t window, uint64_t slot)
{
	uint64_t request = window / WINDOWS_OF_REQUEST * WINDOW_RECORDS + slot;
	/* Long ones are rare, as they are in life. */
	uint64_t user_ns = 100000 + request * 2654435761 % 5000000 * (1 + (request % 97 == 0) * 20);
	char request_id[40], endpoint[40];
	const struct record_key keys[] = { { "request_id", request_id }, { "endpoint", endpoint } };
	const struct cpu_record record = { .common = next_common(recording, window),
					   .tid = PID + 1 + (uint32_t)(slot % THREADS),
					   .thread_name = "puma srv tp 001",
					   .keys = keys,
					   .keys_count = 2,
					   .window_ns = WINDOW_NS,
					   .has_kernel_split = true,
					   .cpu_ns = user_ns + 345678,
					   .user_ns = user_ns,
					   .kernel_ns = 345678,
					   .split_error_ns = 4567,
					   .run_queue_ns = 34567 + slot,
					   .blocked_ns = 12345678 + slot,
					   .uninterruptible_ns = 5000,
					   .slices = 12,
					   .switches_voluntary = 11,
					   .switches_involuntary = 7,
					   .migrations = 2,
					   .has_syscalls = true,
					   .syscalls = 321,
					   .first_ns = START_NS + window * WINDOW_NS + slot,
					   .last_ns = START_NS + window * WINDOW_NS + 9 * slot };

	request_id[0] = endpoint[0] = '\0';
	if (slot % IDLE_EACH > 0) {
		(void)snprintf(request_id, sizeof(request_id),
			       "%08" PRIx64 "-89ab-4cde-8f01-23456789abcd", request & UINT32_MAX);
		(void)snprintf(endpoint, sizeof(endpoint), "GET /orders/%" PRIu64,
			       request % ENDPOINTS);
		recording->attributed_ns += record.cpu_ns;
	} else {
		recording->unattributed_ns += record.cpu_ns;
	}
	return record_encode(recording->encoder, &record);
}

static int end_window(struct recording *recording, uint64_t window)
{
	const struct balance_record balance = {
		.common = next_common(recording, window),
		.window_ns = WINDOW_NS,
		.exec_ns = recording->attributed_ns + recording->unattributed_ns,
		.attributed_ns = recording->attributed_ns,
		.unattributed_ns = recording->unattributed_ns,
	};

	recording->attributed_ns = recording->unattributed_ns = 0;
	return record_encode(recording->encoder, &balance);
}

static int write_out(struct recording *recording)
{
	uint8_t first_check[CHECK_BYTES];
	size_t size_bytes, written;
	const void *bytes;

	record_encoder_add_check(recording->encoder);
	bytes = record_encoder_bytes(recording->encoder, &size_bytes);
	if (!recording->has_begun) {
		check_write(NULL, 0, bytes, first_check);
		if (fwrite(first_check, 1, CHECK_BYTES, stdout) != CHECK_BYTES)
			return -1;
	}
	recording->has_begun = true;
	written = fwrite(bytes, 1, size_bytes, stdout);
	record_encoder_reset(recording->encoder);
	return written == size_bytes ? 0 : -1;
}

int main(int argc, char **argv)
{
	uint64_t count = argc == 2 ? strtoull(argv[1], NULL, 10) : 0;
	struct recording recording = { .encoder = record_encoder_new() };
	int r = recording.encoder && count > 0 ? begin(&recording) : -1;

	for (uint64_t i = 0; i < count && r == 0; i++) {
		uint64_t window = i / WINDOW_RECORDS;

		r = add_cpu(&recording, window, i % WINDOW_RECORDS);
		if (r == 0 && (i % WINDOW_RECORDS == WINDOW_RECORDS - 1 || i == count - 1)) {
			r = end_window(&recording, window);
			r = r < 0 ? r : write_out(&recording);
		}
	}
	record_encoder_free(recording.encoder);
	return r == 0 && fflush(stdout) == 0 ? 0 : 1;
}
