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

/* When window number (from 1) ends; the first second is that of sample_record. */
static inline uint64_t stream_end_ns(uint64_t number)
{
	return 1700000000ULL * 1000000000 + number * STREAM_WINDOW_NS;
}

/* Writes a record to a file, as if it had been told so many milliseconds after the first window. */
static inline void stream_write(FILE *out, struct sample *sample, uint32_t ms)
{
	sample_end(sample);
	sample_set_time(sample, 1700000001 + ms / 1000, ms % 1000 * 1000000);
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

/* Adds a record of a line (sample_record) to a window. */
__attribute__((format(printf, 3, 4))) static inline void
stream_record(struct history *history, uint64_t window, const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(stream_put(history, &sample, stream_end_ns(window)), 0);
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
	int64_t end_ns = (int64_t)stream_end_ns(cpu.window);

	stream_record(history, cpu.window,
		      "cpu pid=42 tid=%ld thread_name=\"%s\" request_id=\"%s\" endpoint=\"%s\" "
		      "window_ns=%d cpu_ns=%ld user_ns=%ld kernel_ns=0 run_queue_ns=%ld "
		      "blocked_ns=%ld uninterruptible_ns=%ld syscalls=7 first_ns=%ld last_ns=%ld",
		      cpu.tid, cpu.thread_name ? cpu.thread_name : "worker", cpu.request_id,
		      cpu.endpoint ? cpu.endpoint : "", STREAM_WINDOW_NS, cpu.cpu_ns, cpu.cpu_ns,
		      cpu.run_queue_ns, cpu.blocked_ns, cpu.uninterruptible_ns,
		      end_ns - cpu.first_ns, end_ns - cpu.last_ns);
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
	stream_record(history, cpu.window,
		      "sample pid=42 tid=%ld request_id=\"%s\" endpoint=\"%s\" stack_id=\"%s\" "
		      "samples=%ld period_ns=1000000 window_ns=%d",
		      cpu.tid, cpu.request_id, cpu.endpoint ? cpu.endpoint : "", stack_id, samples,
		      STREAM_WINDOW_NS);
}

static inline void stream_wait(struct history *history, struct stream_cpu cpu, const char *stack_id)
{
	stream_record(history, cpu.window,
		      "sample pid=42 tid=%ld request_id=\"%s\" endpoint=\"%s\" stack_id=\"%s\" "
		      "waits=1 blocked_ns=%ld window_ns=%d",
		      cpu.tid, cpu.request_id, cpu.endpoint ? cpu.endpoint : "", stack_id,
		      cpu.blocked_ns, STREAM_WINDOW_NS);
}

static inline void stream_balance(struct history *history, uint64_t window, int64_t exec_ns,
				  int64_t attributed_ns, int64_t unattributed_ns)
{
	stream_record(history, window,
		      "balance pid=42 window_ns=%d exec_ns=%ld attributed_ns=%ld "
		      "unattributed_ns=%ld overflow_ns=0 residual_ns=%ld",
		      STREAM_WINDOW_NS, exec_ns, attributed_ns, unattributed_ns,
		      exec_ns - attributed_ns - unattributed_ns);
}
