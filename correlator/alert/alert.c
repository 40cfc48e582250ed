/* SPDX-License-Identifier: GPL-2.0-only */
#include "alert/alert.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/hash_table.h"
#include "base/random.h"
#include "base/text.h"
#include "record/losses.h"
#include "requests/histogram.h"

enum {
	MILLION = 1000000,
	JITTER_DIVISOR = 8 /* of a window's length */
};

/* One value of the key; without a key there is one series. */
struct value_series {
	bool is_firing;
	bool is_turning; /* it holds while quiet, or does not hold while firing */
	uint64_t since_ns; /* since when is_turning */
	uint64_t seen_ns; /* end of the last window in which it did so */
	uint64_t measured_ns; /* end of the last window with a measurement */
	/* In the open window: */
	struct histogram requests;
	uint64_t request_count;
	int64_t used_ns;
	bool has_figure; /* some of what was added has the figure */
	bool lacks_figure; /* some of it does not */
	UT_hash_handle hh;
	char value[ALERT_VALUE_BYTES];
};

struct alert {
	struct alert_expression expression;
	struct value_series *series; /* uthash */
	uint64_t seed;
	uint64_t end_ns; /* of the last window; 0 = there was none */
};

/* NULL: no memory. */
static struct value_series *add_series(struct alert *alert, const char *value, size_t value_bytes,
				       unsigned int hash)
{
	_cleanup_free_ struct value_series *series = calloc(1, sizeof(*series));

	if (!series)
		return NULL;
	memcpy(series->value, value, value_bytes);
	HASH_ADD_BYHASHVALUE(hh, alert->series, value, value_bytes, hash, series);
	return series->hh.tbl ? TAKE_PTR(series) : NULL;
}

/* Finds or adds a series by its printable text, so that values that look the same share one.
 * NULL: no memory. */
static struct value_series *find_series(struct alert *alert, struct record_text text)
{
	char value[ALERT_VALUE_BYTES];
	size_t value_bytes = text_escape(text.bytes, text.size_bytes, 0, value, sizeof(value));
	struct value_series *series;
	unsigned int hash;

	if (!alert->expression.key[0])
		value_bytes = 0;
	hash = hash_table_key(alert->seed, value, value_bytes);
	HASH_FIND_BYHASHVALUE(hh, alert->series, value, value_bytes, hash, series);
	if (series)
		return series;
	if (HASH_COUNT(alert->series) < ALERT_SERIES_MAX)
		return add_series(alert, value, value_bytes, hash);
	value_bytes = strlen(ALERT_OTHER);
	hash = hash_table_key(alert->seed, ALERT_OTHER, value_bytes);
	HASH_FIND_BYHASHVALUE(hh, alert->series, ALERT_OTHER, value_bytes, hash, series);
	return series ? series : add_series(alert, ALERT_OTHER, value_bytes, hash);
}

static void remove_series(struct alert *alert, struct value_series *series)
{
	HASH_DELETE(hh, alert->series, series);
	histogram_deinit(&series->requests);
	free(series);
}

int alert_new(const struct alert_expression *expression, struct alert **ret_alert)
{
	_cleanup_(alert_freep) struct alert *alert = calloc(1, sizeof(*alert));

	if (!alert)
		return -ENOMEM;
	alert->expression = *expression;
	alert->seed = random_seed();
	/* Without a key the series exists from the first window on. */
	if (!expression->key[0] && !find_series(alert, (struct record_text){ 0 }))
		return -ENOMEM;
	*ret_alert = TAKE_PTR(alert);
	return 0;
}

void alert_free(struct alert *alert)
{
	struct value_series *series, *next;

	if (!alert)
		return;
	HASH_ITER(hh, alert->series, series, next)
		remove_series(alert, series);
	free(alert);
}

const struct alert_expression *alert_expression(const struct alert *alert)
{
	return &alert->expression;
}

static bool is_of_use(const struct alert_expression *expression)
{
	return expression->function == ALERT_SUM || expression->function == ALERT_RATE;
}

bool alert_is_of_requests(const struct alert *alert)
{
	return alert_expression_is_of_requests(&alert->expression);
}

/* False: not measured. */
static bool read_figure(const struct costs *costs, enum figure figure, int64_t *ret_ns)
{
	enum cost cost;

	if (figure == FIGURE_WALL)
		return costs_wall_ns(costs, ret_ns);
	if (figure == FIGURE_PARKED)
		return costs_parked_ns(costs, ret_ns);
	if (!figure_cost(figure, &cost) || !costs_has(costs, cost))
		return false;
	*ret_ns = costs->sums[cost];
	return true;
}

int alert_add_charge(struct alert *alert, const struct request_charge *charge)
{
	const struct alert_expression *expression = &alert->expression;
	struct value_series *series;
	int64_t ns;

	if (!is_of_use(expression) || alert_expression_is_of_requests(expression) ||
	    !charge->is_attributed)
		return 0;
	series = find_series(alert, charge->value);
	if (!series)
		return -ENOMEM;
	if (!read_figure(&charge->costs, expression->figure, &ns)) {
		series->lacks_figure = true;
		return 0;
	}
	series->has_figure = true;
	saturated_add_to(&series->used_ns, ns);
	return 0;
}

int alert_add_request(struct alert *alert, struct record_text value, const struct costs *costs)
{
	const struct alert_expression *expression = &alert->expression;
	bool is_counted = expression->function == ALERT_COUNT_REQUESTS ||
			  expression->function == ALERT_RATE_REQUESTS;
	struct value_series *series;
	int64_t ns = 0;

	if (!alert_expression_is_of_requests(expression))
		return 0;
	series = find_series(alert, value);
	if (!series)
		return -ENOMEM;
	if (!is_counted && !read_figure(costs, expression->figure, &ns)) {
		series->lacks_figure = true;
		return 0;
	}
	series->has_figure = true;
	series->request_count++;
	saturated_add_to(&series->used_ns, ns);
	return is_counted || is_of_use(expression) ? 0 : histogram_add(&series->requests, ns);
}

/* count * factor / divisor, at most 2^63-1. */
static int64_t scale(int64_t count, int64_t factor, uint64_t divisor)
{
	__int128 value = (__int128)count * factor / (__int128)divisor;

	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

/* False: the window has no length. */
static bool per_second(int64_t count, int64_t factor, const struct alert_window *window,
		       int64_t *ret_value)
{
	if (window->end_ns <= window->start_ns)
		return false;
	*ret_value = scale(count, factor, window->end_ns - window->start_ns);
	return true;
}

static int64_t total_of(const struct alert_books *books, unsigned int total)
{
	switch (total) {
	case ALERT_EXEC:
		return books->exec_ns;
	case ALERT_ATTRIBUTED:
		return books->attributed_ns;
	case ALERT_UNATTRIBUTED:
		return books->unattributed_ns;
	case ALERT_OVERFLOW:
		return books->overflow_ns;
	case ALERT_RESIDUAL:
		return books->residual_ns;
	case ALERT_OWN_CPU:
		return books->own_cpu_ns;
	case ALERT_LOST:
		return losses_sum(books->dropped_records, books->losses);
	default:
		return books->losses[total - ALERT_COUNTER];
	}
}

static bool measure_books(const struct alert_expression *expression,
			  const struct alert_window *window, const struct alert_books *books,
			  int64_t *ret_value)
{
	bool is_own = expression->total == ALERT_OWN_CPU;
	int64_t value = total_of(books, expression->total);

	/* Records may be lost in a window that has no process. */
	if (expression->total == ALERT_LOST ? !books->has_balance && !books->has_own_cpu
	    : is_own			    ? !books->has_own_cpu
					    : !books->has_balance)
		return false;
	if (expression->unit != ALERT_MILLIONTHS) {
		*ret_value = value;
		return true;
	}
	if (is_own)
		return per_second(value, MILLION, window, ret_value);
	if (books->exec_ns == 0)
		return false;
	*ret_value = scale(value, MILLION, (uint64_t)books->exec_ns);
	return true;
}

/* No use at all is 0; but if everything used lacks the figure, it is not measured. */
static bool is_measured(const struct value_series *series)
{
	return series->has_figure || !series->lacks_figure;
}

/* False: nothing was measured. */
static bool measure(const struct alert_expression *expression, const struct value_series *series,
		    const struct alert_window *window, const struct alert_books *books,
		    int64_t *ret_value)
{
	switch (expression->function) {
	case ALERT_P50:
		return histogram_percentile(&series->requests, 50, ret_value);
	case ALERT_P90:
		return histogram_percentile(&series->requests, 90, ret_value);
	case ALERT_P99:
		return histogram_percentile(&series->requests, 99, ret_value);
	case ALERT_MAX:
		return histogram_percentile(&series->requests, 100, ret_value);
	case ALERT_MEAN:
		return histogram_mean(&series->requests, ret_value);
	case ALERT_COUNT_REQUESTS:
		*ret_value = (int64_t)series->request_count;
		return true;
	case ALERT_RATE_REQUESTS:
		return per_second((int64_t)series->request_count, MILLION * NS_PER_S, window,
				  ret_value);
	case ALERT_SUM:
		*ret_value = series->used_ns;
		return is_measured(series);
	case ALERT_RATE:
		return is_measured(series) &&
		       per_second(series->used_ns, MILLION, window, ret_value);
	default:
		return measure_books(expression, window, books, ret_value);
	}
}

/* By how much a window may be too short or too long: it ends when its recorder gets a CPU. */
static uint64_t jitter_ns(const struct alert_window *window)
{
	return window->end_ns > window->start_ns
		       ? (window->end_ns - window->start_ns) / JITTER_DIVISOR
		       : 0;
}

/* Handles an alert that fires while nothing is measured. True: it is over now. */
static bool end_silence(const struct alert_expression *expression, struct value_series *series,
			const struct alert_window *window)
{
	uint64_t silence_ns =
		expression->for_ns > ALERT_SILENCE_NS ? expression->for_ns : ALERT_SILENCE_NS;

	/* The window may be an older one if recordings are read in the wrong order. */
	if (window->end_ns < series->measured_ns + silence_ns)
		return false;
	series->since_ns = series->measured_ns;
	series->is_firing = series->is_turning = false;
	return true;
}

/* The state machine of alert.h. True: the state has changed. */
static bool follow(const struct alert_expression *expression, struct value_series *series,
		   const struct alert_window *window, bool has_value, bool holds)
{
	bool turns = series->is_firing ? !holds : holds;

	if (has_value)
		series->measured_ns = window->end_ns;
	else if (series->is_firing && alert_expression_is_of_requests(expression))
		return end_silence(expression, series, window);
	if (!turns && !series->is_firing && !has_value && series->is_turning &&
	    window->end_ns - series->seen_ns <= expression->for_ns + jitter_ns(window))
		return false;
	if (!turns) {
		series->is_turning = false;
		return false;
	}
	if (!series->is_turning)
		series->since_ns = window->start_ns;
	series->is_turning = true;
	series->seen_ns = window->end_ns;
	if (window->end_ns - series->since_ns + jitter_ns(window) < expression->for_ns)
		return false;
	series->is_firing = !series->is_firing;
	series->is_turning = false;
	return true;
}

static void reset(struct value_series *series)
{
	histogram_deinit(&series->requests);
	series->request_count = 0;
	series->used_ns = 0;
	series->has_figure = series->lacks_figure = false;
}

static uint64_t wall_ns(const struct alert_window *window, uint64_t ns)
{
	return ns + (uint64_t)window->clock_set_ns;
}

static void end_series(struct alert *alert, struct value_series *series,
		       const struct alert_window *window, const struct alert_books *books,
		       alert_change_fn on_change, void *user)
{
	const struct alert_expression *expression = &alert->expression;
	struct alert_change change = {
		.expression = expression,
		.value_of_key = expression->key[0] ? series->value : NULL,
		.wall_ns = wall_ns(window, window->told_ns ? window->told_ns : window->end_ns),
	};
	bool holds;

	change.has_value = measure(expression, series, window, books, &change.value);
	holds = change.has_value && alert_expression_holds(expression, change.value);
	if (follow(expression, series, window, change.has_value, holds)) {
		change.is_firing = series->is_firing;
		change.since_ns = wall_ns(window, series->since_ns);
		on_change(user, &change);
	}
	reset(series);
}

/* Whether windows are missing before this one. A clock that was set counts, too. */
static bool is_behind_a_hole(const struct alert *alert, const struct alert_window *window)
{
	uint64_t length_ns = window->end_ns - window->start_ns;

	return alert->end_ns &&
	       (window->end_ns <= alert->end_ns || window->start_ns > alert->end_ns + length_ns);
}

void alert_end_window(struct alert *alert, const struct alert_window *window,
		      const struct alert_books *books, alert_change_fn on_change, void *user)
{
	bool has_hole = is_behind_a_hole(alert, window);
	struct value_series *series, *next;

	HASH_ITER(hh, alert->series, series, next) {
		series->is_turning &= !has_hole;
		end_series(alert, series, window, books, on_change, user);
		if (alert->expression.key[0] && !series->is_firing && !series->is_turning)
			remove_series(alert, series);
	}
	alert->end_ns = window->end_ns;
}
