/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Evaluates an expression, window after window, for each value of its key:
 *
 *   quiet    it does not hold
 *     |      it held in all windows of `for`
 *   firing   the change is reported
 *     |      it did not hold in any window of `for`
 *   quiet    the change is reported
 *
 * so a value that crosses the limit now and then is not reported. In a window in which nothing was
 * measured it does not hold. But a percentile of no requests says nothing: a firing alert stays
 * firing for ALERT_SILENCE_NS, or for `for` if that is longer. While quiet, windows without a
 * measurement do not interrupt the time it held, for at most `for`. If windows are missing, the
 * time it held before them no longer counts. Windows differ in length: `for` is over if at most an
 * eighth of a window is missing.
 *
 * Bounded: at most ALERT_SERIES_MAX values at a time have a series of their own; the rest share
 * one, "other". Pure: the caller supplies the time. Single thread.
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
	ALERT_VALUE_BYTES = 256, /* of a key's value, with its NUL; longer ones are cut */
};

/* The books of a window. */
struct alert_books {
	bool has_balance; /* else the next five are not measured */
	int64_t exec_ns;
	int64_t attributed_ns;
	int64_t unattributed_ns;
	int64_t overflow_ns;
	int64_t residual_ns; /* sum of the absolute values */
	bool has_own_cpu;
	int64_t own_cpu_ns;
	int64_t losses[_COUNTER_MAX];
	int64_t dropped_records;
};

/* By a clock that is never set: the wall clock minus clock_set_ns. */
struct alert_window {
	uint64_t start_ns;
	uint64_t end_ns;
	int64_t clock_set_ns;
	uint64_t told_ns; /* when changes in it are reported; 0 = at its end */
};

struct alert_change {
	const struct alert_expression *expression;
	bool is_firing; /* else it is over */
	const char *value_of_key; /* printable; NULL: the expression has no key */
	bool has_value; /* something was measured in the window */
	int64_t value; /* in the expression's unit */
	uint64_t since_ns; /* wall clock since when it has held, or has not held */
	uint64_t wall_ns; /* wall clock now */
};

typedef void (*alert_change_fn)(void *user, const struct alert_change *change);

struct alert;

/* Copies the expression. 0 or -ENOMEM. */
int alert_new(const struct alert_expression *expression, struct alert **ret_alert);
void alert_free(struct alert *alert);
DEFINE_CLEANUP(struct alert *, alert_free);

const struct alert_expression *alert_expression(const struct alert *alert);

/* Whether it measures the requests that ended in a window, not what was used in it or the books. */
bool alert_is_of_requests(const struct alert *alert);

/* Add what was used in the open window, and a request that ended in it, with the value of the
 * expression's key. 0 or -ENOMEM. */
int alert_add_charge(struct alert *alert, const struct request_charge *charge);
int alert_add_request(struct alert *alert, struct record_text value, const struct costs *costs);

/* Closes the window, reports changes to on_change, and opens the next one. */
void alert_end_window(struct alert *alert, const struct alert_window *window,
		      const struct alert_books *books, alert_change_fn on_change, void *user);
