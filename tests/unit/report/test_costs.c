/* SPDX-License-Identifier: GPL-2.0-only */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "record/sample.h"
#include "report/costs.h"

/* Whether the wall time of such a cpu record is not known. */
static bool lacks_span(int64_t first_ns, int64_t last_ns)
{
	struct sample sample;
	struct record_view view;
	struct costs costs;

	sample_begin(&sample, "cpu", 7);
	if (first_ns >= 0)
		sample_number(&sample, "first_ns", first_ns);
	if (last_ns >= 0)
		sample_number(&sample, "last_ns", last_ns);
	sample_end(&sample);
	assert_int_equal(
		record_view_decode((const uint8_t *)sample.buffer.data, sample.buffer.size, &view),
		0);
	costs = costs_of_record(&view);
	msgpack_sbuffer_destroy(&sample.buffer);
	return costs.lacks_span;
}

static void a_span_may_be_an_instant_and_does_not_end_before_it_begins(void **state)
{
	(void)state;
	assert_false(lacks_span(5, 6));
	assert_false(lacks_span(5, 5));
	assert_true(lacks_span(6, 5));
	assert_true(lacks_span(-1, 5));
	assert_true(lacks_span(5, -1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_span_may_be_an_instant_and_does_not_end_before_it_begins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
