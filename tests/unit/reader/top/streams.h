/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of a stream, for tests: windows of 500 ms, in a history. */
#pragma once

#include <stdio.h>
#include <stdlib.h>

#include "reader/top/history.h"
#include "record/sample.h"

enum {
	STREAM_WINDOW_NS = 500000000
};

/* When window number (from 1) ends; the first second is that of sample_begin. */
static inline uint64_t stream_end_ns(uint64_t number)
{
	return 1700000000ULL * 1000000000 + number * STREAM_WINDOW_NS;
}

/* Writes a record to a file, as if it had been told so many milliseconds after the first window. */
static inline void stream_write(FILE *out, struct sample *sample, uint32_t ms)
{
	uint32_t ns = ms % 1000 * 1000000, s = 1700000001 + ms / 1000;

	sample_end(sample);
	for (int i = 0; i < 4; i++) {
		sample->buffer.data[3 + i] = (char)(s >> (24 - 8 * i));
		sample->buffer.data[7 + i] = (char)(ns >> (24 - 8 * i));
	}
	assert_int_equal(fwrite(sample->buffer.data, 1, sample->buffer.size, out),
			 sample->buffer.size);
	assert_int_equal(fflush(out), 0);
	msgpack_sbuffer_destroy(&sample->buffer);
}

static inline int stream_put(struct history *history, struct sample *sample, uint64_t wall_ns)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	view.wall_ns = wall_ns;
	r = history_add(history, &view);
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* What a thread did for a request in a window, of which it was busy until so long before its end.
 */
struct stream_cpu {
	uint64_t window;
	int64_t tid;
	const char *request_id; /* "" = none */
	const char *endpoint;
	int64_t cpu_ns, run_queue_ns, blocked_ns, uninterruptible_ns;
	int64_t first_ns, last_ns; /* before the window's end */
	const char *thread_name;
};

static inline void stream_cpu(struct history *history, struct stream_cpu cpu)
{
	uint64_t end_ns = stream_end_ns(cpu.window);
	struct sample sample;

	sample_begin(&sample, "cpu", 42);
	sample_number(&sample, "tid", cpu.tid);
	sample_text(&sample, "thread_name", cpu.thread_name ? cpu.thread_name : "worker");
	sample_text(&sample, "request_id", cpu.request_id);
	sample_text(&sample, "endpoint", cpu.endpoint ? cpu.endpoint : "");
	sample_number(&sample, "window_ns", STREAM_WINDOW_NS);
	sample_number(&sample, "cpu_ns", cpu.cpu_ns);
	sample_number(&sample, "user_ns", cpu.cpu_ns);
	sample_number(&sample, "kernel_ns", 0);
	sample_number(&sample, "run_queue_ns", cpu.run_queue_ns);
	sample_number(&sample, "blocked_ns", cpu.blocked_ns);
	sample_number(&sample, "uninterruptible_ns", cpu.uninterruptible_ns);
	sample_number(&sample, "syscalls", 7);
	sample_number(&sample, "first_ns", (int64_t)end_ns - cpu.first_ns);
	sample_number(&sample, "last_ns", (int64_t)end_ns - cpu.last_ns);
	assert_int_equal(stream_put(history, &sample, end_ns), 0);
}

/* A frame, which another one called ("" = nothing did), and samples of a request at it. */
static inline void stream_frame(struct history *history, uint64_t window, const char *id,
				const char *parent_id, const char *name)
{
	struct sample sample;

	sample_begin_frame(&sample, 42, id, parent_id[0] ? parent_id : NULL, name, "ruby");
	assert_int_equal(stream_put(history, &sample, stream_end_ns(window)), 0);
}

static inline void stream_sample(struct history *history, struct stream_cpu cpu,
				 const char *stack_id, int64_t samples)
{
	struct sample sample;

	sample_begin(&sample, "sample", 42);
	sample_number(&sample, "tid", cpu.tid);
	sample_text(&sample, "request_id", cpu.request_id);
	sample_text(&sample, "endpoint", cpu.endpoint ? cpu.endpoint : "");
	sample_text(&sample, "stack_id", stack_id);
	sample_number(&sample, "samples", samples);
	sample_number(&sample, "period_ns", 1000000);
	sample_number(&sample, "window_ns", STREAM_WINDOW_NS);
	assert_int_equal(stream_put(history, &sample, stream_end_ns(cpu.window)), 0);
}

static inline void stream_wait(struct history *history, struct stream_cpu cpu, const char *stack_id)
{
	struct sample sample;

	sample_begin(&sample, "sample", 42);
	sample_number(&sample, "tid", cpu.tid);
	sample_text(&sample, "request_id", cpu.request_id);
	sample_text(&sample, "endpoint", cpu.endpoint ? cpu.endpoint : "");
	sample_text(&sample, "stack_id", stack_id);
	sample_number(&sample, "waits", 1);
	sample_number(&sample, "blocked_ns", cpu.blocked_ns);
	sample_number(&sample, "window_ns", STREAM_WINDOW_NS);
	assert_int_equal(stream_put(history, &sample, stream_end_ns(cpu.window)), 0);
}

static inline void stream_balance(struct history *history, uint64_t window, int64_t exec_ns,
				  int64_t attributed_ns, int64_t unattributed_ns)
{
	struct sample sample;

	sample_begin(&sample, "balance", 42);
	sample_number(&sample, "window_ns", STREAM_WINDOW_NS);
	sample_number(&sample, "exec_ns", exec_ns);
	sample_number(&sample, "attributed_ns", attributed_ns);
	sample_number(&sample, "unattributed_ns", unattributed_ns);
	sample_number(&sample, "overflow_ns", 0);
	sample_number(&sample, "residual_ns", exec_ns - attributed_ns - unattributed_ns);
	assert_int_equal(stream_put(history, &sample, stream_end_ns(window)), 0);
}
