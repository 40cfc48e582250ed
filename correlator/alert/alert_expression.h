/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The syntax of an alert, as users write it:
 *
 *   p99(cpu) > 50ms for 30s by endpoint
 *
 *   alert      = measure COMPARISON limit { "for" DURATION | "by" KEY }
 *   measure    = FUNCTION "(" FIGURE ")" | "count(requests)" | "rate(requests)" | TOTAL
 *   FUNCTION   = p50 | p90 | p99 | mean | max | sum | rate
 *   FIGURE     = cpu | wall | ...: any that is a time of one request (figures.def)
 *   TOTAL      = exec | attributed | unattributed | overflow | residual | own_cpu | lost,
 *                or a counter of what was missed (correlator/counters.h)
 *   COMPARISON = > | >= | < | <=
 *   limit      = NUMBER UNIT: a time (ns us ms s), a share (%), or a number without a unit
 *
 * Pure; any thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/counters.h>

#include "figures/figure.h"

enum {
	ALERT_TEXT_BYTES = 256, /* of an expression, with its NUL */
	ALERT_KEY_BYTES = 64, /* of a key, with its NUL */
	ALERT_MESSAGE_BYTES = 512,
};

enum alert_function {
	/* Over the requests that ended in a window, each as a whole: */
	ALERT_P50 = 0,
	ALERT_P90 = 1,
	ALERT_P99 = 2,
	ALERT_MEAN = 3,
	ALERT_MAX = 4,
	ALERT_COUNT_REQUESTS = 5,
	ALERT_RATE_REQUESTS = 6, /* per second */
	/* Over what was used in the window; for wall and parked time, over the requests that
	 * ended in it: */
	ALERT_SUM = 7,
	ALERT_RATE = 8, /* per second: 100 % is one CPU, or one request at a time */
	/* From the books of the window: */
	ALERT_TOTAL = 9,
};

enum alert_total {
	ALERT_EXEC = 0,
	ALERT_ATTRIBUTED = 1,
	ALERT_UNATTRIBUTED = 2,
	ALERT_OVERFLOW = 3,
	ALERT_RESIDUAL = 4, /* its absolute value */
	ALERT_OWN_CPU = 5,
	ALERT_LOST = 6, /* sum of all counters of losses, and dropped records */
	ALERT_COUNTER = 7, /* a single counter: 7 + enum counter */
};

/* The unit of an integer. */
enum alert_unit {
	ALERT_NS = 0,
	ALERT_COUNT = 1,
	ALERT_MILLIONTHS = 2, /* of one CPU, or of exec_ns */
	ALERT_MILLIONTHS_PER_SECOND = 3,
};

enum alert_comparison {
	ALERT_ABOVE = 0,
	ALERT_AT_LEAST = 1,
	ALERT_BELOW = 2,
	ALERT_AT_MOST = 3,
};

struct alert_expression {
	char text[ALERT_TEXT_BYTES]; /* as given, printable */
	enum alert_function function;
	enum figure figure; /* for the functions that take one */
	unsigned int total; /* for ALERT_TOTAL: enum alert_total */
	enum alert_comparison comparison;
	enum alert_unit unit; /* of limit, and of the value compared with it */
	int64_t limit;
	uint64_t for_ns; /* 0: one window is enough */
	char key[ALERT_KEY_BYTES]; /* ""; else each value of it is evaluated separately */
};

struct alert_error {
	size_t offset; /* of the unexpected byte */
	char message[ALERT_MESSAGE_BYTES]; /* printable */
};

/* 0, or -EINVAL and the error in *ret_error. */
int alert_expression_parse(const char *text, struct alert_expression *ret_expression,
			   struct alert_error *ret_error);

/* Whether it is about whole requests, which are distinguished by their ID, not about what was
 * used in a window, by whichever request, or the books. */
bool alert_expression_is_of_requests(const struct alert_expression *expression);

bool alert_expression_holds(const struct alert_expression *expression, int64_t value);

/* Prints a value such as 61.2 ms, 51.3 % or 1200, cut to text_bytes. */
void alert_unit_print(enum alert_unit unit, int64_t value, char *ret_text, size_t text_bytes);
/* ns, count, millionths, millionths_per_second. */
const char *alert_unit_name(enum alert_unit unit);
