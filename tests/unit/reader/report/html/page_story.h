/* SPDX-License-Identifier: GPL-2.0-only */
/* Records for the tests of pages, each at a time of its own. */
#pragma once

#include "reader/aggregate/totals.h"
#include "reader/report/html/page_data.h"
#include "record/sample.h"

enum {
	STORY_WINDOW_NS = 100,
	STORY_FIBER = 5
};

/* Ends the sample; the view lives as long as it. */
static inline void story_view(struct sample *sample, uint64_t wall_ns, struct record_view *ret_view)
{
	sample_decode(sample, ret_view);
	ret_view->wall_ns = wall_ns;
}

static inline int story_tell(struct totals *totals, struct sample *sample, uint64_t wall_ns)
{
	static struct record_view view;
	int r;

	story_view(sample, wall_ns, &view);
	r = totals_add(totals, &view);
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* The same of a record of a line (sample_record), which has to be taken. */
__attribute__((format(printf, 3, 4))) static inline void
story_record(struct totals *totals, uint64_t wall_ns, const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(story_tell(totals, &sample, wall_ns), 0);
}

struct story_cpu {
	uint64_t wall_ns; /* of the window */
	int64_t tid;
	const char *request_id;
	const char *endpoint; /* NULL: it has no such key */
	int64_t cpu_ns;
	int64_t first_ns, last_ns; /* both 0: left out */
};

static inline void story_begin_cpu(struct sample *sample, struct story_cpu cpu)
{
	sample_begin_cpu(sample, 42, cpu.tid, cpu.request_id, cpu.cpu_ns, 0);
	sample_fields(sample, "window_ns=%d thread_name=worker", STORY_WINDOW_NS);
	if (cpu.endpoint)
		sample_fields(sample, "endpoint=\"%s\"", cpu.endpoint);
	if (cpu.last_ns)
		sample_fields(sample, "first_ns=%ld last_ns=%ld", cpu.first_ns, cpu.last_ns);
}

static inline void story_cpu(struct totals *totals, struct story_cpu cpu)
{
	struct sample sample;

	story_begin_cpu(&sample, cpu);
	assert_int_equal(story_tell(totals, &sample, cpu.wall_ns), 0);
}

static inline void story_begin_slice(struct sample *sample, const char *request_id,
				     const char *state, int64_t start_ns, int64_t end_ns,
				     int64_t cpu_number)
{
	sample_record(sample, "slice pid=42 tid=7");
	if (request_id)
		sample_fields(sample, "request_id=\"%s\"", request_id);
	sample_fields(sample, "state=%s start_ns=%ld end_ns=%ld", state, start_ns, end_ns);
	if (cpu_number >= 0)
		sample_fields(sample, "cpu_number=%ld fiber=%d", cpu_number, STORY_FIBER);
	else
		sample_fields(sample, "woken_by_pid=9 woken_by_tid=99");
}

/* request_id: NULL: it has no such key. cpu_number < 0: it was not running, of no fiber that is
 * known, and somebody woke it. */
static inline void story_slice(struct totals *totals, const char *request_id, const char *state,
			       int64_t start_ns, int64_t end_ns, int64_t cpu_number)
{
	struct sample sample;

	story_begin_slice(&sample, request_id, state, start_ns, end_ns, cpu_number);
	sample_fields(&sample, "endpoint=\"GET /\"");
	assert_int_equal(story_tell(totals, &sample, 1000), 0);
}

static inline void story_stack(struct totals *totals, const char *id, const char *parent,
			       const char *name, uint64_t wall_ns)
{
	struct sample sample;

	sample_begin_frame(&sample, 42, id, parent, name, "c");
	sample_fields(&sample, "file=app.rb line=12 first_line=11");
	assert_int_equal(story_tell(totals, &sample, wall_ns), 0);
}

struct story_sample {
	uint64_t wall_ns; /* of the window */
	const char *request_id;
	const char *endpoint; /* NULL: it has no such key */
	const char *stack;
	int64_t samples;
	const char *flag; /* NULL: none */
};

static inline void story_begin_sample(struct sample *record, struct story_sample sample)
{
	sample_record(record, "sample pid=42 tid=1 request_id=\"%s\"", sample.request_id);
	if (sample.endpoint)
		sample_fields(record, "endpoint=\"%s\"", sample.endpoint);
	sample_fields(record, "stack_id=\"%s\" samples=%ld period_ns=10", sample.stack,
		      sample.samples);
	if (sample.flag)
		sample_fields(record, "flags=[%s]", sample.flag);
}

static inline void story_sample(struct totals *totals, struct story_sample sample)
{
	struct sample record;

	story_begin_sample(&record, sample);
	assert_int_equal(story_tell(totals, &record, sample.wall_ns), 0);
}

static inline void story_balance(struct totals *totals, uint64_t wall_ns, int64_t exec_ns,
				 int64_t attributed_ns)
{
	story_record(totals, wall_ns,
		     "balance pid=42 window_ns=%d exec_ns=%ld attributed_ns=%ld unattributed_ns=3 "
		     "overflow_ns=2 residual_ns=%ld own_cpu_ns=6 events_lost=4",
		     STORY_WINDOW_NS, exec_ns, attributed_ns, exec_ns - attributed_ns - 5);
}

static inline const struct page_request *story_find(const struct page_data *data, const char *id)
{
	const struct page_request *request;

	for (request = data->requests; request; request = request->next)
		if (request->id_bytes == strlen(id) &&
		    memcmp(request->id, id, request->id_bytes) == 0)
			return request;
	return NULL;
}
