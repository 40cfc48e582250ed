/* SPDX-License-Identifier: GPL-2.0-only */
#include "alert/alert_set.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "requests/request_tracker.h"

/* Alerts with the same key share a request tracker. */
struct alert_set {
	struct alert *alerts[ALERTS_MAX];
	size_t tracker_of[ALERTS_MAX];
	size_t count;
	struct request_tracker *trackers[ALERTS_MAX];
	const char *keys[ALERTS_MAX]; /* of the trackers, "" = none; borrowed from the alerts */
	size_t tracker_count;
	struct alert_books books;
};

struct alert_set *alert_set_new(void)
{
	return calloc(1, sizeof(struct alert_set));
}

void alert_set_free(struct alert_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->count; i++)
		alert_free(set->alerts[i]);
	for (size_t i = 0; i < set->tracker_count; i++)
		request_tracker_free(set->trackers[i]);
	free(set);
}

int alert_set_add(struct alert_set *set, const struct alert_expression *expression)
{
	_cleanup_(alert_freep) struct alert *alert = NULL;
	size_t tracker = 0;
	int r;

	if (set->count == ALERTS_MAX)
		return -E2BIG;
	r = alert_new(expression, &alert);
	if (r < 0)
		return r;
	while (tracker < set->tracker_count && strcmp(set->keys[tracker], expression->key) != 0)
		tracker++;
	if (tracker == set->tracker_count) {
		set->trackers[tracker] = request_tracker_new(REQUESTS_OPEN_MAX);
		if (!set->trackers[tracker])
			return -ENOMEM;
		set->keys[tracker] = alert_expression(alert)->key;
		set->tracker_count++;
	}
	set->tracker_of[set->count] = tracker;
	set->alerts[set->count++] = TAKE_PTR(alert);
	return 0;
}

size_t alert_set_count(const struct alert_set *set)
{
	return set->count;
}

const struct alert_expression *alert_set_expression(const struct alert_set *set, size_t index)
{
	return alert_expression(set->alerts[index]);
}

static bool is_of_window(const struct alert_expression *expression)
{
	return expression->function == ALERT_COUNT_REQUESTS ||
	       expression->function == ALERT_RATE_REQUESTS || expression->function == ALERT_SUM ||
	       expression->function == ALERT_RATE;
}

/* Passes requests that have ended to the alerts with that key. */
static int give_ended(struct alert_set *set, size_t tracker, bool is_last)
{
	const struct ended_request *request;
	int r = 0;

	while ((request = request_tracker_next_ended(set->trackers[tracker]))) {
		for (size_t i = 0; i < set->count; i++) {
			int added = 0;

			if (set->tracker_of[i] == tracker &&
			    !(is_last && is_of_window(alert_expression(set->alerts[i]))))
				added = alert_add_request(set->alerts[i], request->value,
							  &request->costs);
			r = r < 0 ? r : added;
		}
	}
	return r;
}

static int add_charge(struct alert_set *set, size_t tracker, const struct request_charge *charge)
{
	int r = request_tracker_add(set->trackers[tracker], charge);

	for (size_t i = 0; i < set->count; i++)
		if (set->tracker_of[i] == tracker) {
			int added = alert_add_charge(set->alerts[i], charge);

			r = r < 0 ? r : added;
		}
	/* Requests also end if too many are open. */
	if (r == 0)
		r = give_ended(set, tracker, false);
	return r;
}

static const char *key_of(const struct alert_set *set, size_t tracker)
{
	return set->keys[tracker][0] ? set->keys[tracker] : NULL;
}

static int add_cpu(struct alert_set *set, const struct cpu_record *record)
{
	int r = 0;

	for (size_t i = 0; i < set->tracker_count && r == 0; i++) {
		struct request_charge charge = request_charge_of_record(record, key_of(set, i));

		r = add_charge(set, i, &charge);
	}
	return r;
}

static void add_own_cpu(struct alert_books *books, int64_t own_cpu_ns)
{
	books->has_own_cpu = true;
	saturated_add_to(&books->own_cpu_ns, own_cpu_ns);
}

static int64_t clamp(uint64_t value)
{
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static void add_balance(struct alert_books *books, const struct balance_record *record)
{
	int64_t residual_ns = record->residual_ns;

	books->has_balance = true;
	saturated_add_to(&books->exec_ns, clamp(record->exec_ns));
	saturated_add_to(&books->attributed_ns, clamp(record->attributed_ns));
	saturated_add_to(&books->unattributed_ns, clamp(record->unattributed_ns));
	saturated_add_to(&books->overflow_ns, clamp(record->overflow_ns));
	saturated_add_to(&books->residual_ns,
			 clamp(residual_ns < 0 ? -(uint64_t)residual_ns : (uint64_t)residual_ns));
	for (size_t i = 0; i < _COUNTER_MAX; i++)
		saturated_add_to(&books->losses[i], clamp(record->losses[i]));
}

int alert_set_add_record(struct alert_set *set, enum record_kind kind, const void *record)
{
	if (kind == RECORD_KIND_CPU)
		return add_cpu(set, record);
	if (kind == RECORD_KIND_BALANCE)
		add_balance(&set->books, record);
	else if (kind == RECORD_KIND_SELF)
		add_own_cpu(&set->books, clamp(((const struct self_record *)record)->own_cpu_ns));
	else if (kind == RECORD_KIND_GAP)
		saturated_add_to(&set->books.dropped_records,
				 clamp(((const struct gap_record *)record)->dropped_records));
	return 0;
}

/* A missing count is 0. */
static uint64_t count_of(const struct record_view *view, const char *name)
{
	int64_t count = 0;

	(void)record_view_count(view, name, &count);
	return (uint64_t)count;
}

static void add_balance_view(struct alert_books *books, const struct record_view *view)
{
	static const char *const counters[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, kind, text) [COUNTER_##name] = field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};
	const struct record_field *residual =
		record_view_find(view, RECORD_FIELD(balance, residual_ns));
	struct balance_record record = {
		.exec_ns = count_of(view, RECORD_FIELD(balance, exec_ns)),
		.attributed_ns = count_of(view, RECORD_FIELD(balance, attributed_ns)),
		.unattributed_ns = count_of(view, RECORD_FIELD(balance, unattributed_ns)),
		.overflow_ns = count_of(view, RECORD_FIELD(balance, overflow_ns)),
		.residual_ns =
			residual && residual->value == RECORD_VALUE_INTEGER ? residual->integer : 0,
	};

	for (size_t i = 0; i < _COUNTER_MAX; i++)
		record.losses[i] = count_of(view, counters[i]);
	add_balance(books, &record);
}

static int add_cpu_view(struct alert_set *set, const struct record_view *view)
{
	int r = 0;

	for (size_t i = 0; i < set->tracker_count && r == 0; i++) {
		struct request_charge charge = request_charge_of_view(view, key_of(set, i));

		r = add_charge(set, i, &charge);
	}
	return r;
}

int alert_set_add_view(struct alert_set *set, const struct record_view *view)
{
	if (view->kind == RECORD_KIND_CPU)
		return add_cpu_view(set, view);
	if (view->kind == RECORD_KIND_BALANCE)
		add_balance_view(&set->books, view);
	else if (view->kind == RECORD_KIND_SELF)
		add_own_cpu(&set->books, (int64_t)count_of(view, RECORD_FIELD(self, own_cpu_ns)));
	else if (view->kind == RECORD_KIND_GAP)
		(void)record_view_add(view, RECORD_FIELD(gap, dropped_records),
				      &set->books.dropped_records);
	return 0;
}

struct ending {
	const struct alert_window *window; /* that ends now */
	alert_change_fn on_change;
	void *user;
};

static void end_requests(struct alert_set *set, size_t tracker, const struct ending *ending,
			 const struct request_window *of, bool is_last)
{
	const struct alert_window window = { of->start_ns, of->end_ns, ending->window->clock_set_ns,
					     ending->window->end_ns };

	for (size_t i = 0; i < set->count; i++)
		if (set->tracker_of[i] == tracker && alert_is_of_requests(set->alerts[i]) &&
		    !(is_last && is_of_window(alert_expression(set->alerts[i]))))
			alert_end_window(set->alerts[i], &window, &set->books, ending->on_change,
					 ending->user);
}

/* Ends the windows whose requests have all ended, one after the other. */
static int follow_requests(struct alert_set *set, size_t tracker, const struct ending *ending,
			   bool is_last)
{
	struct request_window window;
	int r = 0;

	while (request_tracker_next_window(set->trackers[tracker], &window)) {
		int given = give_ended(set, tracker, is_last);

		r = r < 0 ? r : given;
		end_requests(set, tracker, ending, &window, is_last);
	}
	return r;
}

int alert_set_end_window(struct alert_set *set, const struct alert_window *window, bool is_last,
			 alert_change_fn on_change, void *user)
{
	const struct ending ending = { window, on_change, user };
	int r = 0;

	for (size_t i = 0; i < set->tracker_count; i++) {
		int followed;

		request_tracker_end_window(
			set->trackers[i],
			&(struct request_window){ window->start_ns, window->end_ns });
		followed = follow_requests(set, i, &ending, false);
		r = r < 0 ? r : followed;
		if (!is_last)
			continue;
		/* How many requests ended in the last windows cannot be known. */
		request_tracker_finish(set->trackers[i]);
		followed = follow_requests(set, i, &ending, true);
		r = r < 0 ? r : followed;
	}
	for (size_t i = 0; i < set->count; i++)
		if (!alert_is_of_requests(set->alerts[i]))
			alert_end_window(set->alerts[i], window, &set->books, on_change, user);
	set->books = (struct alert_books){ 0 };
	return r;
}

void alert_change_print(const struct alert_change *change, char *ret_text, size_t text_bytes)
{
	const struct alert_expression *expression = change->expression;
	bool has_key = change->value_of_key != NULL;
	char value[64];

	alert_unit_print(expression->unit, change->value, value, sizeof(value));
	(void)snprintf(ret_text, text_bytes, "%s: %s%s%s%s%s%s", expression->text,
		       has_key ? expression->key : "", has_key ? "=" : "",
		       has_key ? change->value_of_key : "", has_key ? ": " : "",
		       change->has_value ? "is at " : "nothing is measured any more",
		       change->has_value ? value : "");
}
