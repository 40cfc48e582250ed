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

static inline void sample_add_cpu(struct totals *totals, int64_t tid, const char *request_id,
				  const char *endpoint, int64_t user_ns, int64_t kernel_ns)
{
	struct sample sample;

	sample_begin_cpu(&sample, 42, tid, request_id, user_ns, kernel_ns);
	if (endpoint)
		sample_text(&sample, "endpoint", endpoint);
	assert_int_equal(sample_add(&sample, totals), 0);
}

static inline void sample_add_balance(struct totals *totals, int64_t exec_ns, int64_t attributed_ns,
				      int64_t unattributed_ns, int64_t overflow_ns)
{
	struct sample sample;

	sample_begin(&sample, "balance", 42);
	sample_number(&sample, "exec_ns", exec_ns);
	sample_number(&sample, "attributed_ns", attributed_ns);
	sample_number(&sample, "unattributed_ns", unattributed_ns);
	sample_number(&sample, "overflow_ns", overflow_ns);
	sample_number(&sample, "residual_ns",
		      exec_ns - attributed_ns - unattributed_ns - overflow_ns);
	assert_int_equal(sample_add(&sample, totals), 0);
}
