/* SPDX-License-Identifier: GPL-2.0-only */
/* Records of one request and of what ran beside it, added to a story. */
#pragma once

#include "reader/story/story.h"
#include "record/sample.h"

/* Nanoseconds behind this one, on the wall clock. */
#define SAMPLE_NS INT64_C(1700000000000000000)

struct sample_place {
	const char *host; /* NULL: web-1 */
	int64_t pid;
	int64_t tid;
	const char *thread_name; /* NULL: none */
	const char *request_id;
	const char *endpoint; /* NULL: none */
	int64_t fiber; /* of slices; 0: none */
};

static inline int sample_give(struct sample *sample, struct story *story)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	r = story_add(story, &view);
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

static inline void sample_begin_at(struct sample *sample, const char *kind,
				   const struct sample_place *place)
{
	static const char time_bytes[8] = { 0x65, 0x53, (char)0xf1, 0x01 };

	msgpack_sbuffer_init(&sample->buffer);
	msgpack_packer_init(&sample->packer, &sample->buffer, msgpack_sbuffer_write);
	sample->field_count = 0;
	msgpack_pack_array(&sample->packer, 2);
	msgpack_pack_ext_with_body(&sample->packer, time_bytes, sizeof(time_bytes), 0);
	sample->map_offset = sample->buffer.size;
	msgpack_sbuffer_write(&sample->buffer, "\xde\0\0", 3);
	sample_number(sample, "schema", 1);
	sample_text(sample, "kind", kind);
	sample_text(sample, "record_id", "id");
	sample_text(sample, "host_name", place->host ? place->host : "web-1");
	sample_number(sample, "pid", place->pid);
	sample_number(sample, "tid", place->tid);
	if (place->thread_name)
		sample_text(sample, "thread_name", place->thread_name);
	if (place->request_id)
		sample_text(sample, "request_id", place->request_id);
	if (place->endpoint)
		sample_text(sample, "endpoint", place->endpoint);
}

/* A cpu record of a window of a second: user_ns of CPU, from first to last behind SAMPLE_NS. */
static inline void sample_begin_window(struct sample *sample, const struct sample_place *place,
				       int64_t first_ns, int64_t last_ns, int64_t cpu_ns)
{
	sample_begin_at(sample, "cpu", place);
	sample_number(sample, "window_ns", 1000000000);
	sample_number(sample, "cpu_ns", cpu_ns);
	sample_number(sample, "run_queue_ns", 3);
	sample_number(sample, "blocked_ns", 2);
	sample_number(sample, "first_ns", SAMPLE_NS + first_ns);
	sample_number(sample, "last_ns", SAMPLE_NS + last_ns);
}

static inline void sample_add_window(struct story *story, const struct sample_place *place,
				     int64_t first_ns, int64_t last_ns, int64_t cpu_ns)
{
	struct sample sample;

	sample_begin_window(&sample, place, first_ns, last_ns, cpu_ns);
	assert_int_equal(sample_give(&sample, story), 0);
}

static inline void sample_begin_slice(struct sample *sample, const struct sample_place *place,
				      const char *state, int64_t start_ns, int64_t end_ns)
{
	sample_begin_at(sample, "slice", place);
	sample_text(sample, "state", state);
	if (place->fiber)
		sample_number(sample, "fiber", place->fiber);
	sample_number(sample, "start_ns", SAMPLE_NS + start_ns);
	sample_number(sample, "end_ns", SAMPLE_NS + end_ns);
}

/* What ran took all of its time; waker: 0 = none, else a thread of the same process. */
static inline void sample_add_slice(struct story *story, const struct sample_place *place,
				    const char *state, int64_t start_ns, int64_t end_ns,
				    int64_t cpu_number, int64_t waker)
{
	struct sample sample;

	sample_begin_slice(&sample, place, state, start_ns, end_ns);
	if (!strcmp(state, "running")) {
		sample_number(&sample, "cpu_number", cpu_number);
		sample_number(&sample, "cpu_ns", end_ns - start_ns);
	}
	if (waker) {
		sample_number(&sample, "woken_by_pid", place->pid);
		sample_number(&sample, "woken_by_tid", waker);
	}
	assert_int_equal(sample_give(&sample, story), 0);
}
