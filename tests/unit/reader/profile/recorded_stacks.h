/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of stacks as if they were read from a recording. */
#pragma once

#include "reader/profile/stacks.h"
#include "record/sample.h"

enum {
	RECORDED_STACKS_PERIOD_NS = 10101010
};

static inline void recorded_stacks_add(struct stacks *stacks, struct sample *sample)
{
	static struct record_view view;

	sample_decode(sample, &view);
	assert_int_equal(stacks_add(stacks, &view), 0);
	msgpack_sbuffer_destroy(&sample->buffer);
}

/* The same of a record of a line (sample_record). */
__attribute__((format(printf, 2, 3))) static inline void
recorded_stacks_record(struct stacks *stacks, const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_frame_of(struct stacks *stacks, const char *id,
					    const char *parent, const char *name, const char *kind)
{
	struct sample sample;

	sample_begin_frame(&sample, 7, id, parent, name, kind);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_frame(struct stacks *stacks, const char *id, const char *parent,
					 const char *name, int64_t line)
{
	struct sample sample;

	sample_begin_frame(&sample, 7, id, parent, name, "ruby");
	sample_fields(&sample, "line=%ld", line);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_cpu_of(struct stacks *stacks, const char *request_id,
					  const char *endpoint, int64_t cpu_ns)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=7 request_id=\"%s\"", request_id);
	if (endpoint)
		sample_fields(&sample, "endpoint=\"%s\"", endpoint);
	sample_fields(&sample, "cpu_ns=%ld user_ns=%ld kernel_ns=0", cpu_ns, cpu_ns);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_cpu(struct stacks *stacks, const char *request_id,
				       int64_t cpu_ns)
{
	recorded_stacks_cpu_of(stacks, request_id, NULL, cpu_ns);
}

static inline void recorded_stacks_off_cpu(struct stacks *stacks, const char *request_id,
					   int64_t blocked_ns, int64_t run_queue_ns)
{
	recorded_stacks_record(stacks,
			       "cpu pid=7 tid=8 request_id=\"%s\" cpu_ns=5000 blocked_ns=%ld "
			       "run_queue_ns=%ld",
			       request_id, blocked_ns, run_queue_ns);
}

/* Left out where it is 0. */
static inline void recorded_stacks_wait(struct stacks *stacks, const char *request_id,
					const char *stack_id, int64_t waits_count,
					int64_t blocked_ns, int64_t run_queue_ns)
{
	struct sample sample;

	sample_record(&sample, "sample pid=7 tid=8 request_id=\"%s\" stack_id=\"%s\"", request_id,
		      stack_id);
	if (waits_count)
		sample_fields(&sample, "waits=%ld", waits_count);
	if (blocked_ns)
		sample_fields(&sample, "blocked_ns=%ld", blocked_ns);
	if (run_queue_ns)
		sample_fields(&sample, "run_queue_ns=%ld", run_queue_ns);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_sample(struct stacks *stacks, const char *request_id,
					  const char *stack_id, int64_t samples)
{
	recorded_stacks_record(stacks,
			       "sample pid=7 tid=8 request_id=\"%s\" stack_id=\"%s\" samples=%ld "
			       "period_ns=%d",
			       request_id, stack_id, samples, RECORDED_STACKS_PERIOD_NS);
}
