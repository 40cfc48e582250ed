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

static inline void recorded_stacks_frame(struct stacks *stacks, const char *id, const char *parent,
					 const char *name, int64_t line)
{
	struct sample sample;

	sample_begin_frame(&sample, 7, id, parent, name, "ruby");
	sample_number(&sample, "line", line);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_cpu_of(struct stacks *stacks, const char *request_id,
					  const char *endpoint, int64_t cpu_ns)
{
	struct sample sample;

	sample_begin(&sample, "cpu", 7);
	sample_text(&sample, "request_id", request_id);
	if (endpoint)
		sample_text(&sample, "endpoint", endpoint);
	sample_number(&sample, "cpu_ns", cpu_ns);
	sample_number(&sample, "user_ns", cpu_ns);
	sample_number(&sample, "kernel_ns", 0);
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
	struct sample sample;

	sample_begin(&sample, "cpu", 7);
	sample_number(&sample, "tid", 8);
	sample_text(&sample, "request_id", request_id);
	sample_number(&sample, "cpu_ns", 5000);
	sample_number(&sample, "blocked_ns", blocked_ns);
	sample_number(&sample, "run_queue_ns", run_queue_ns);
	recorded_stacks_add(stacks, &sample);
}

/* Left out where it is 0. */
static inline void recorded_stacks_wait(struct stacks *stacks, const char *request_id,
					const char *stack_id, int64_t waits_count,
					int64_t blocked_ns, int64_t run_queue_ns)
{
	struct sample sample;

	sample_begin(&sample, "sample", 7);
	sample_number(&sample, "tid", 8);
	sample_text(&sample, "request_id", request_id);
	sample_text(&sample, "stack_id", stack_id);
	if (waits_count)
		sample_number(&sample, "waits", waits_count);
	if (blocked_ns)
		sample_number(&sample, "blocked_ns", blocked_ns);
	if (run_queue_ns)
		sample_number(&sample, "run_queue_ns", run_queue_ns);
	recorded_stacks_add(stacks, &sample);
}

static inline void recorded_stacks_sample(struct stacks *stacks, const char *request_id,
					  const char *stack_id, int64_t samples)
{
	struct sample sample;

	sample_begin(&sample, "sample", 7);
	sample_number(&sample, "tid", 8);
	sample_text(&sample, "request_id", request_id);
	sample_text(&sample, "stack_id", stack_id);
	sample_number(&sample, "samples", samples);
	sample_number(&sample, "period_ns", RECORDED_STACKS_PERIOD_NS);
	recorded_stacks_add(stacks, &sample);
}
