/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whether an expression holds, window after window, for each value of its key:
 *
 *   quiet    it does not hold
 *     |      it held throughout the windows of `for`
 *   firing   the change is told
 *     |      it did not throughout the windows of `for`
 *   quiet    the change is told
 *
 * so that what crosses the limit now and then tells nothing new. A window in which nothing was
 * measured holds nothing. But a percentile of no requests says nothing: what fires goes on for
 * ALERT_SILENCE_NS, or for as long as `for` says if that is longer. While it is quiet, what held
 * goes on holding for as long as `for` says, at most. Where windows are missing, what held before
 * counts no more. Windows are not as long as each other: `for` is over when it lacks an eighth of a
 * window or less.
 *
 * Bounded: at most ALERT_SERIES_MAX values at a time that have something to say; the rest is one,
 * "other". Pure: whoever feeds it says what time it is. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "alert/alert_expression.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "requests/request_charge.h"

#define ALERT_OTHER "other"

#define ALERT_SILENCE_NS (30 * NS_PER_S)

enum {
	ALERT_SERIES_MAX = 256,
	ALERT_VALUE_BYTES = 256, /* of a key's value, with its NUL: what is longer is cut */
};

/* The books of a window. */
struct alert_books {
	bool has_balance; /* else the next ones are not measured */
	int64_t exec_ns;
	int64_t attributed_ns;
	int64_t unattributed_ns;
	int64_t overflow_ns;
	int64_t residual_ns; /* the sizes of all of them */
	bool has_own_cpu;
	int64_t own_cpu_ns;
	int64_t losses[_COUNTER_MAX];
	int64_t dropped_records;
};

/* By a clock that nobody sets: the wall clock less clock_set_ns. */
struct alert_window {
	uint64_t start_ns;
	uint64_t end_ns;
	int64_t clock_set_ns;
	uint64_t told_ns; /* when what changes in it is told; 0 = at its end */
};

struct alert_change {
	const struct alert_expression *expression;
	bool is_firing; /* else it is over */
	const char *value_of_key; /* printable; NULL: the expression has no key */
	bool has_value; /* something was measured in the window */
	int64_t value; /* in the expression's unit */
	uint64_t since_ns; /* wall clock since when it has held, or has not */
	uint64_t wall_ns; /* now, by the wall clock, too */
};

typedef void (*alert_change_fn)(void *user, const struct alert_change *change);

struct alert;

/* Copies the expression. 0 or -ENOMEM. */
int alert_new(const struct alert_expression *expression, struct alert **ret_alert);
void alert_free(struct alert *alert);
DEFINE_CLEANUP(struct alert *, alert_free);

const struct alert_expression *alert_expression(const struct alert *alert);

/* Whether it measures the requests that ended in a window: else what was used in it, or the books.
 */
bool alert_is_of_requests(const struct alert *alert);

/* What was used in the open window, and a request that has ended in it, with the value of the
 * expression's key. 0 or -ENOMEM. */
int alert_add_charge(struct alert *alert, const struct request_charge *charge);
int alert_add_request(struct alert *alert, struct record_text value, const struct costs *costs);

/* Closes the window, tells what has changed, and opens the next one. */
void alert_end_window(struct alert *alert, const struct alert_window *window,
		      const struct alert_books *books, alert_change_fn on_change, void *user);
