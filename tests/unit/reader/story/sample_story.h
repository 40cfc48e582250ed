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

/* The same of a record of a line (sample_record), which has to be added. */
__attribute__((format(printf, 2, 3))) static inline void sample_give_record(struct story *story,
									    const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(sample_give(&sample, story), 0);
}

static inline void sample_begin_at(struct sample *sample, const char *kind,
				   const struct sample_place *place)
{
	sample_record(sample, "%s host_name=%s pid=%ld tid=%ld", kind,
		      place->host ? place->host : "web-1", place->pid, place->tid);
	if (place->thread_name)
		sample_fields(sample, "thread_name=\"%s\"", place->thread_name);
	if (place->request_id)
		sample_fields(sample, "request_id=\"%s\"", place->request_id);
	if (place->endpoint)
		sample_fields(sample, "endpoint=\"%s\"", place->endpoint);
}

/* Adds a record of a kind and a place, with fields of a line (sample_fields). */
__attribute__((format(printf, 4, 5))) static inline void
sample_give_at(struct story *story, const char *kind, const struct sample_place *place,
	       const char *format, ...)
{
	struct sample sample;
	va_list values;

	sample_begin_at(&sample, kind, place);
	va_start(values, format);
	sample_fields_v(&sample, format, values);
	va_end(values);
	assert_int_equal(sample_give(&sample, story), 0);
}

/* A cpu record of a window of a second: user_ns of CPU, from first to last behind SAMPLE_NS. */
static inline void sample_begin_window(struct sample *sample, const struct sample_place *place,
				       int64_t first_ns, int64_t last_ns, int64_t cpu_ns)
{
	sample_begin_at(sample, "cpu", place);
	sample_fields(sample,
		      "window_ns=1000000000 cpu_ns=%ld run_queue_ns=3 blocked_ns=2 first_ns=%ld "
		      "last_ns=%ld",
		      cpu_ns, SAMPLE_NS + first_ns, SAMPLE_NS + last_ns);
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
	sample_fields(sample, "state=%s", state);
	if (place->fiber)
		sample_fields(sample, "fiber=%ld", place->fiber);
	sample_fields(sample, "start_ns=%ld end_ns=%ld", SAMPLE_NS + start_ns, SAMPLE_NS + end_ns);
}

/* A long wait, blocked all the time. */
static inline void sample_begin_stall(struct sample *sample, const struct sample_place *place,
				      int64_t start_ns, int64_t end_ns)
{
	sample_begin_at(sample, "stall", place);
	sample_fields(sample, "start_ns=%ld end_ns=%ld blocked_ns=%ld run_queue_ns=0",
		      SAMPLE_NS + start_ns, SAMPLE_NS + end_ns, end_ns - start_ns);
}

/* What ran took all of its time; waker: 0 = none, else a thread of the same process. */
static inline void sample_add_slice(struct story *story, const struct sample_place *place,
				    const char *state, int64_t start_ns, int64_t end_ns,
				    int64_t cpu_number, int64_t waker)
{
	struct sample sample;

	sample_begin_slice(&sample, place, state, start_ns, end_ns);
	if (!strcmp(state, "running"))
		sample_fields(&sample, "cpu_number=%ld cpu_ns=%ld", cpu_number, end_ns - start_ns);
	if (waker)
		sample_fields(&sample, "woken_by_pid=%ld woken_by_tid=%ld", place->pid, waker);
	assert_int_equal(sample_give(&sample, story), 0);
}
