/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an alert is about, as people write it:
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
	ALERT_KEY_BYTES = 64, /* of a key, the same */
	ALERT_MESSAGE_BYTES = 512,
};

enum alert_function {
	/* Of the requests that ended in a window, each as a whole: */
	ALERT_P50 = 0,
	ALERT_P90 = 1,
	ALERT_P99 = 2,
	ALERT_MEAN = 3,
	ALERT_MAX = 4,
	ALERT_COUNT_REQUESTS = 5,
	ALERT_RATE_REQUESTS = 6, /* a second */
	/* Of what was used in the window; of wall time, by the requests that ended in it: */
	ALERT_SUM = 7,
	ALERT_RATE = 8, /* a second: 100 % is one CPU, or one request at a time */
	/* Of the window's books: */
	ALERT_TOTAL = 9,
};

enum alert_total {
	ALERT_EXEC = 0,
	ALERT_ATTRIBUTED = 1,
	ALERT_UNATTRIBUTED = 2,
	ALERT_OVERFLOW = 3,
	ALERT_RESIDUAL = 4, /* its size, whether something is missing or too much */
	ALERT_OWN_CPU = 5,
	ALERT_LOST = 6, /* what all counters say, and records that were dropped */
	ALERT_COUNTER = 7, /* what one of them says: 7 + enum counter */
};

/* What an integer counts. */
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
	enum figure figure; /* of the functions that are of one */
	unsigned int total; /* of ALERT_TOTAL: enum alert_total */
	enum alert_comparison comparison;
	enum alert_unit unit; /* of limit, and of what is compared with it */
	int64_t limit;
	uint64_t for_ns; /* 0: one window is enough */
	char key[ALERT_KEY_BYTES]; /* ""; else each value of it is looked at by itself */
};

struct alert_error {
	size_t offset; /* of the byte that was not expected */
	char message[ALERT_MESSAGE_BYTES]; /* printable */
};

/* 0; -EINVAL and what is wrong in *ret_error. */
int alert_expression_parse(const char *text, struct alert_expression *ret_expression,
			   struct alert_error *ret_error);

/* It is of requests as a whole, which are told apart by their ID; else of what was used in a
 * window, whoever did, or of its books. */
bool alert_expression_is_of_requests(const struct alert_expression *expression);

bool alert_expression_holds(const struct alert_expression *expression, int64_t value);

/* A value as people read it, such as 61.2 ms, 51.3 % or 1200; in text_bytes, cut. */
void alert_unit_print(enum alert_unit unit, int64_t value, char *ret_text, size_t text_bytes);
/* ns, count, millionths, millionths_per_second. */
const char *alert_unit_name(enum alert_unit unit);
