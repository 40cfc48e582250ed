/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries for tests (record/sample.h), added to totals. */
#pragma once

#include "reader/aggregate/totals.h"
#include "record/sample.h"

/* Ends the entry, adds it to totals, and returns what totals_add returned. */
static inline int sample_add(struct sample *sample, struct totals *totals)
{
	static struct record_view view;
	int r;

	sample_decode(sample, &view);
	r = totals_add(totals, &view);
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

/* The same of a record of a line (sample_record), which has to be added. */
__attribute__((format(printf, 2, 3))) static inline void sample_add_record(struct totals *totals,
									   const char *format, ...)
{
	struct sample sample;
	va_list values;

	va_start(values, format);
	sample_record_v(&sample, format, values);
	va_end(values);
	assert_int_equal(sample_add(&sample, totals), 0);
}

static inline void sample_add_cpu(struct totals *totals, int64_t tid, const char *request_id,
				  const char *endpoint, int64_t user_ns, int64_t kernel_ns)
{
	struct sample sample;

	sample_begin_cpu(&sample, 42, tid, request_id, user_ns, kernel_ns);
	if (endpoint)
		sample_fields(&sample, "endpoint=\"%s\"", endpoint);
	assert_int_equal(sample_add(&sample, totals), 0);
}

/* The same, with fields of a line (sample_fields). */
__attribute__((format(printf, 6, 7))) static inline void
sample_add_cpu_with(struct totals *totals, int64_t tid, const char *request_id, int64_t user_ns,
		    int64_t kernel_ns, const char *format, ...)
{
	struct sample sample;
	va_list values;

	sample_begin_cpu(&sample, 42, tid, request_id, user_ns, kernel_ns);
	va_start(values, format);
	sample_fields_v(&sample, format, values);
	va_end(values);
	assert_int_equal(sample_add(&sample, totals), 0);
}

static inline void sample_add_balance(struct totals *totals, int64_t exec_ns, int64_t attributed_ns,
				      int64_t unattributed_ns, int64_t overflow_ns)
{
	sample_add_record(totals,
			  "balance pid=42 exec_ns=%ld attributed_ns=%ld unattributed_ns=%ld "
			  "overflow_ns=%ld residual_ns=%ld",
			  exec_ns, attributed_ns, unattributed_ns, overflow_ns,
			  exec_ns - attributed_ns - unattributed_ns - overflow_ns);
}
