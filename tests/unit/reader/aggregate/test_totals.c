/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <stdio.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"

static const char *const by_default[] = { "request_id", "endpoint" };

static int setup(void **state)
{
	static struct totals totals;

	*state = &totals;
	return totals_init(&totals, by_default, 2);
}

static int teardown(void **state)
{
	totals_deinit(*state);
	return 0;
}

static const struct group *find_group(const struct grouping *grouping, const char *value)
{
	for (const struct group *group = grouping->groups; group; group = group->hh.next) {
		struct record_text label = grouping_label(group, false);

		if (record_text_is(label, value))
			return group;
	}
	fail_msg("no group %s", value);
	return NULL;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(totals_sum_groups_and_count_requests_once)
{
	struct totals *totals = *state;
	const struct group *orders;
	double percent;

	sample_add_cpu(totals, 1, "a", "orders", 10, 1);
	sample_add_cpu(totals, 2, "a", "orders", 20, 2);
	sample_add_cpu(totals, 1, "b", "orders", 30, 3);
	sample_add_cpu(totals, 1, "c", "cart", 4, 0);
	totals_finish(totals);
	assert_int_equal(totals->groupings[0].group_count, 3);
	assert_int_equal(totals->groupings[0].request_count, 3);
	assert_int_equal(totals->groupings[1].group_count, 2);
	assert_int_equal(totals->groupings[1].request_count, 3);
	orders = find_group(&totals->groupings[1], "orders");
	assert_int_equal(orders->request_count, 2);
	assert_int_equal(orders->costs.sums[COST_CPU], 66);
	assert_int_equal(orders->costs.sums[COST_USER], 60);
	assert_int_equal(orders->costs.sums[COST_KERNEL], 6);
	assert_int_equal(orders->costs.sums[COST_RUN_QUEUE], 3);
	assert_int_equal(orders->costs.sums[COST_BLOCKED], 6);
	assert_int_equal(orders->costs.sums[COST_SLICES], 9);
	assert_int_equal(orders->costs.sums[COST_SWITCHES], 27);
	assert_int_equal(find_group(&totals->groupings[0], "a")->costs.sums[COST_CPU], 33);
	assert_true(costs_share_percent(&orders->costs, &totals->all, &percent));
	assert_true(percent > 94.28 && percent < 94.29); /* 66 of 70 */
}

FIXTURE_TEST(totals_hold_nothing_if_endpoint_is_not_recorded)
{
	const char *by_request = "request_id";
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, &by_request, 1), 0);
	sample_add_record(totals, "meta pid=7 keys=[request_id]");
	sample_add_cpu(totals, 1, "a", NULL, 10, 0);
	assert_int_equal(totals->selection.held_bytes, 0);
	sample_add_cpu(totals, 1, "b", "orders", 10, 0);
	sample_add_cpu(totals, 1, "a", NULL, 10, 0);
	assert_true(totals->selection.held_bytes > 0);
	totals_finish(totals);
	assert_int_equal(find_group(&totals->groupings[0], "a")->costs.sums[COST_CPU], 20);
}

FIXTURE_TEST(totals_keep_unattributed_and_overflow_out_of_groups)
{
	struct totals *totals = *state;

	sample_add_cpu(totals, 1, "", NULL, 10, 0);
	sample_add_cpu_with(totals, 1, "", 5, 0, "flags=[unknown]");
	sample_add_cpu_with(totals, 1, "", 3, 0, "flags=[overflow]");
	totals_finish(totals);
	assert_int_equal(totals->groupings[0].group_count, 0);
	assert_int_equal(totals->unattributed.sums[COST_CPU], 15);
	assert_int_equal(totals->overflow.sums[COST_CPU], 3);
	assert_int_equal(totals->all.sums[COST_CPU], 18);
}

FIXTURE_TEST(totals_attribute_context_without_grouping_key)
{
	struct totals *totals = *state;

	sample_add_cpu(totals, 1, "a", NULL, 10, 0);
	sample_add_cpu(totals, 1, "", "health", 7, 0);
	totals_finish(totals);
	assert_int_equal(totals->groupings[1].without_value.sums[COST_CPU], 10);
	assert_int_equal(totals->groupings[0].without_value.sums[COST_CPU], 7);
	assert_int_equal(totals->unattributed.record_count, 0);
}

FIXTURE_TEST(totals_attribute_context_without_keys_like_books)
{
	struct totals *totals = *state;

	sample_add_record(totals, "cpu pid=42 cpu_ns=7");
	sample_add_cpu(totals, 1, "", NULL, 10, 0);
	sample_add_balance(totals, 17, 7, 10, 0);
	totals_finish(totals);
	assert_int_equal(totals->groupings[0].without_value.sums[COST_CPU], 7);
	assert_int_equal(totals->unattributed.sums[COST_CPU], 10);
	assert_true(totals_match_books(totals));
}

/* Of the cpu records: 10 ns in a context, 5 in none, 3 in overflow. */
static void add_divided(struct totals *totals, bool is_measured)
{
	static const char *const request_ids[] = { "a", "", "" };
	static const int64_t cpu_ns[] = { 10, 5, 3 };
	struct sample sample;

	for (size_t i = 0; i < 3; i++) {
		sample_record(&sample, "cpu pid=42 request_id=%s", request_ids[i]);
		if (is_measured)
			sample_fields(&sample, "cpu_ns=%ld", cpu_ns[i]);
		if (i == 2)
			sample_fields(&sample, "flags=[overflow]");
		assert_int_equal(sample_add(&sample, totals), 0);
	}
}

FIXTURE_TEST(totals_mismatch_books_on_different_split)
{
	static const struct {
		int64_t attributed_ns, unattributed_ns, overflow_ns;
		bool does_match;
	} cases[] = {
		{ 10, 5, 3, true },  { 11, 5, 3, false }, { 9, 5, 3, false },
		{ 11, 4, 3, false }, { 11, 5, 2, false }, { 10, 6, 2, false },
	};
	struct totals *totals = *state;

	assert_true(totals_match_books(totals));
	sample_add_balance(totals, 1, 0, 0, 0);
	totals_finish(totals);
	assert_true(totals_match_books(totals));
	totals->all = totals->unattributed = totals->overflow = (struct costs){ 0 };
	add_divided(totals, true);
	totals_finish(totals);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		totals->books = (struct books){ 0 };
		assert_true(totals_match_books(totals));
		sample_add_balance(totals, 18, cases[i].attributed_ns, cases[i].unattributed_ns,
				   cases[i].overflow_ns);
		assert_int_equal(totals_match_books(totals), cases[i].does_match);
	}
}

FIXTURE_TEST(totals_mismatch_books_without_records_or_cpu)
{
	struct totals *totals = *state;

	sample_add_balance(totals, 10, 10, 0, 0);
	totals_finish(totals);
	assert_false(totals_match_books(totals));
	totals->books = (struct books){ 0 };
	sample_add_balance(totals, 0, 0, 0, 0);
	add_divided(totals, false);
	assert_false(totals_match_books(totals));
}

FIXTURE_TEST(totals_report_zero_only_for_measured_costs)
{
	struct totals *totals = *state;

	totals_finish(totals);
	for (int cost = 0; cost < _COST_MAX; cost++)
		assert_false(costs_has(&totals->all, (enum cost)cost) ||
			     costs_has(&totals->unattributed, (enum cost)cost) ||
			     costs_has(&totals->overflow, (enum cost)cost));
	totals->all = totals->unattributed = totals->overflow = (struct costs){ 0 };
	sample_add_cpu(totals, 1, "a", NULL, 10, 0);
	totals_finish(totals);
	assert_true(costs_has(&totals->all, COST_CPU));
	assert_true(costs_has(&totals->unattributed, COST_CPU));
	assert_true(costs_has(&totals->overflow, COST_CPU));
	assert_false(costs_has(&totals->overflow, COST_STOLEN));
	/* What was measured of them themselves stays, whatever the others lack. */
	totals->unattributed.record_count = totals->overflow.record_count = 1;
	totals->unattributed.missing = totals->overflow.missing = 0;
	totals_finish(totals);
	assert_true(costs_has(&totals->unattributed, COST_STOLEN));
	assert_true(costs_has(&totals->overflow, COST_STOLEN));
}

FIXTURE_TEST(totals_usage_requires_duration_cpu_and_single_host)
{
	struct totals *totals = *state;
	struct costs costs = { .sums[COST_CPU] = 50 };
	double percent = -1;

	totals->selection.recording.cpu_count = 4;
	assert_false(totals_cpu_percent(totals, &costs, &percent));
	totals->selection.recording.start_ns = 1000;
	totals->selection.recording.end_ns = 1200;
	costs.missing = 1 << COST_CPU;
	assert_false(totals_cpu_percent(totals, &costs, &percent));
	assert_false(totals_machine_percent(totals, &costs, &percent));
	assert_true(percent == -1);
	costs.missing = 0;
	assert_true(totals_cpu_percent(totals, &costs, &percent));
	assert_true(percent == 25);
	assert_true(totals_machine_percent(totals, &costs, &percent));
	assert_true(percent == 6.25);
	totals->selection.recording.has_several_hosts = true;
	assert_false(totals_machine_percent(totals, &costs, &percent));
	totals->selection.recording.has_several_hosts = false;
	totals->selection.recording.cpu_count = 0;
	assert_false(totals_machine_percent(totals, &costs, &percent));
	totals->selection.recording.cpu_count = 1;
	assert_true(totals_machine_percent(totals, &costs, &percent));
	assert_true(percent == 25);
}

FIXTURE_TEST(totals_count_inherited_time_in_group_and_apart)
{
	struct totals *totals = *state;

	for (int i = 0; i < 3; i++)
		sample_add_cpu_with(totals, 1, i < 2 ? "a" : "", 7, 0, "flags=[inherited]");
	sample_add_cpu(totals, 1, "a", NULL, 100, 0);
	totals_finish(totals);
	assert_int_equal(totals->inherited.sums[COST_CPU], 14);
	assert_int_equal(totals->inherited_requests, 1);
	assert_int_equal(find_group(&totals->groupings[0], "a")->costs.sums[COST_CPU], 114);
	assert_int_equal(totals->unattributed.sums[COST_CPU], 7);
}

/* Wherever a record says it. */
FIXTURE_TEST(totals_check_every_flag_and_key_of_record)
{
	static const struct record_text flags[] = { { "inherited", 9 }, { "overflow", 8 } };
	struct record_view view = {
		.kind = RECORD_KIND_CPU,
		.field_count = 3,
		.fields = { { .name = { "queue", 5 },
			      .value = RECORD_VALUE_TEXT,
			      .is_key = true,
			      .text = { "mails", 5 } },
			    { .name = { "tenant", 6 },
			      .value = RECORD_VALUE_TEXT,
			      .is_key = true,
			      .text = { "", 0 } },
			    { .name = { "cpu_ns", 6 },
			      .value = RECORD_VALUE_INTEGER,
			      .integer = 7 } },
		.places.cpu.cpu_ns = 3,
	};
	struct totals *totals = *state;

	assert_int_equal(totals_add(totals, &view), 0);
	assert_int_equal(totals->unattributed.record_count, 0);
	assert_int_equal(totals->groupings[0].without_value.sums[COST_CPU], 7);
	view.fields[view.field_count++] = (struct record_field){
		.name = { "flags", 5 }, .value = RECORD_VALUE_LIST, .items = flags, .item_count = 2
	};
	view.places.cpu.flags = (uint8_t)view.field_count;
	assert_int_equal(totals_add(totals, &view), 0);
	assert_int_equal(totals->overflow.sums[COST_CPU], 7);
	assert_int_equal(totals->inherited.record_count, 0);
}

FIXTURE_TEST(totals_seed_each_hash_table_differently)
{
	const struct totals *totals = *state;
	const uint64_t seeds[] = {
		totals->selection.recording.seed, totals->selection.known.seed,
		totals->selection.requests.seed,  totals->groupings[0].seed,
		totals->groupings[1].seed,
	};

	for (size_t i = 0; i < sizeof(seeds) / sizeof(seeds[0]); i++) {
		assert_true(seeds[i] != 0);
		for (size_t j = 0; j < i; j++)
			assert_true(seeds[i] != seeds[j]);
	}
}

FIXTURE_TEST(totals_skip_duplicate_record_but_retry_rejected_one)
{
	struct totals *totals = *state;
	static const struct record_text id = { "b0:42:7:1", 9 };
	struct record_view view = {
		.kind = RECORD_KIND_BALANCE,
		.field_count = 1,
		.fields = { { .name = { "record_id", 9 },
			      .value = RECORD_VALUE_TEXT,
			      .text = id } },
		.places.common.record_id = 1,
	};

	assert_int_equal(totals_add(totals, &view), -EBADMSG);
	assert_int_equal(totals->selection.double_records, 0);
	view.kind = RECORD_KIND_GAP;
	assert_int_equal(totals_add(totals, &view), 0);
	assert_int_equal(totals->books.gap_count, 1);
	assert_int_equal(totals->self_cost.record_count, 0);
	assert_int_equal(totals->selection.recording.record_count, 1);
	assert_int_equal(totals_add(totals, &view), 0);
	assert_int_equal(totals->books.gap_count, 1);
	assert_int_equal(totals->selection.double_records, 1);
}

FIXTURE_TEST(totals_return_enomem_without_memory)
{
	struct record_view view = { .kind = RECORD_KIND_CPU,
				    .field_count = 1,
				    .fields = { { .name = { "record_id", 9 },
						  .value = RECORD_VALUE_TEXT,
						  .text = { "b0:42:7:1", 9 } } },
				    .places.common.record_id = 1 };
	struct totals *totals = *state;
	size_t failures = 0;

	memory_fails_after(0);
	assert_int_equal(totals_add(totals, &view), -ENOMEM);
	memory_never_fails();
	totals_deinit(totals);
	assert_each_allocation_can_fail(totals_init(totals, by_default, 2),
					(failures++, assert_int_equal(totals->grouping_count, 0)));
	assert_true(failures > 1);
}

static void add_cpu_by_queue(struct totals *totals, const char *queue, const char *endpoint)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42");
	if (queue)
		sample_fields(&sample, "queue=%s", queue);
	if (endpoint)
		sample_fields(&sample, "endpoint=%s", endpoint);
	sample_fields(&sample, "cpu_ns=10");
	assert_int_equal(sample_add(&sample, totals), 0);
}

FIXTURE_TEST(totals_group_by_first_key_without_request_id)
{
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, NULL, 2), 0);
	add_cpu_by_queue(totals, NULL, NULL);
	add_cpu_by_queue(totals, "", "");
	add_cpu_by_queue(totals, "mails", "MailJob");
	totals_finish(totals);
	assert_string_equal(totals->groupings[1].by, "queue");
	assert_int_equal(find_group(&totals->groupings[1], "mails")->costs.sums[COST_CPU], 10);
	assert_int_equal(totals->groupings[1].without_value.sums[COST_CPU], 10);
	assert_int_equal(totals->unattributed.sums[COST_CPU], 10);
	assert_int_equal(find_group(&totals->groupings[0], "MailJob")->costs.sums[COST_CPU], 10);
}

FIXTURE_TEST(totals_prefer_request_id_over_earlier_key)
{
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, NULL, 1), 0);
	sample_add_record(totals, "cpu pid=42 queue=mails request_id=a cpu_ns=10");
	assert_string_equal(totals->groupings[0].by, "request_id");
	/* Of one table, too. */
	totals_deinit(totals);
	assert_int_equal(totals_init(totals, NULL, 1), 0);
	add_cpu_by_queue(totals, "mails", NULL);
	assert_string_equal(totals->groupings[0].by, "queue");
	assert_int_equal(totals->grouping_count, 1);
}

FIXTURE_TEST(totals_put_endpoint_grouping_first)
{
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, NULL, 2), 0);
	sample_add_cpu(totals, 1, "a", "orders", 10, 1);
	assert_int_equal(totals->grouping_count, 2);
	assert_string_equal(totals->groupings[0].by, "endpoint");
	assert_string_equal(totals->groupings[1].by, "request_id");
}

FIXTURE_TEST(totals_drop_endpoint_grouping_if_never_recorded)
{
	struct totals *totals = *state;

	for (int keeps_one = 0; keeps_one < 2; keeps_one++) {
		totals_deinit(totals);
		assert_int_equal(totals_init(totals, NULL, 2), 0);
		totals->keeps_one = keeps_one;
		sample_add_cpu(totals, 1, "a", "", 10, 1);
		sample_add_cpu(totals, 1, "b", "", 20, 2);
		assert_int_equal(totals->grouping_count, 2);
		assert_int_equal(totals_finish(totals), 0);
		assert_int_equal(totals->grouping_count, 1);
		assert_string_equal(totals->groupings[0].by, "request_id");
		assert_int_equal(find_group(&totals->groupings[0], "b")->costs.sums[COST_CPU], 22);
	}
}

FIXTURE_TEST(totals_drop_request_grouping_on_first_endpoint)
{
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, NULL, 2), 0);
	totals->keeps_one = true;
	sample_add_cpu(totals, 1, "a", "", 10, 1);
	assert_int_equal(totals_settle(totals, 0), 0);
	assert_int_equal(totals->grouping_count, 2);
	sample_add_cpu(totals, 1, "b", "orders", 20, 2);
	assert_int_equal(totals_settle(totals, 0), 0);
	assert_int_equal(totals->grouping_count, 1);
	assert_int_equal(totals_finish(totals), 0);
	assert_string_equal(totals->groupings[0].by, "endpoint");
	assert_int_equal(find_group(&totals->groupings[0], "orders")->costs.sums[COST_CPU], 22);
	assert_int_equal(totals->groupings[0].without_value.sums[COST_CPU], 11);
}

/* What came before the endpoint was known, on whatever thread. */
FIXTURE_TEST(totals_measure_request_across_threads_and_windows)
{
	struct totals *totals = *state;
	const struct group *orders;
	struct sample sample;

	for (int i = 0; i < 3; i++) {
		sample_record(&sample, "cpu pid=42 tid=%d request_id=a", 7 + i);
		if (i == 1)
			sample_fields(&sample, "endpoint=orders");
		sample_fields(&sample, "cpu_ns=10 first_ns=%d last_ns=%d", 1000 - 100 * i,
			      1010 + 5 * i);
		assert_int_equal(sample_add(&sample, totals), 0);
	}
	assert_int_equal(totals_finish(totals), 0);
	orders = find_group(&totals->groupings[1], "orders");
	assert_int_equal(orders->costs.sums[COST_CPU], 30);
	assert_int_equal(orders->requests->costs[REQUEST_CPU].largest, 30);
	assert_int_equal(orders->requests->costs[REQUEST_WALL].largest, 1020 - 800);
	assert_int_equal(totals->groupings[1].without_value.record_count, 0);
	assert_string_equal(find_group(&totals->groupings[0], "a")->names[GROUP_NAME_ENDPOINT],
			    "orders");
}

/* As many as any recording has: those that came again soon are one all the same. */
FIXTURE_TEST(totals_end_least_recent_requests_beyond_open_limit)
{
	struct totals *totals = *state;
	char id[32];

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, &by_default[1], 1), 0);
	for (int i = 0; i < REQUESTS_OPEN_MAX + 10; i++) {
		(void)snprintf(id, sizeof(id), "r-%d", i);
		sample_add_cpu(totals, 1, id, "orders", 1, 0);
		sample_add_cpu(totals, 1, "steady", "orders", 1, 0);
	}
	assert_int_equal(totals->groupings[0].request_count, 11);
	assert_int_equal(totals_finish(totals), 0);
	assert_int_equal(totals->groupings[0].request_count, REQUESTS_OPEN_MAX + 11);
	assert_int_equal(totals->groupings[0].requests.costs[REQUEST_CPU].largest,
			 REQUESTS_OPEN_MAX + 10);
	assert_int_equal(totals->groupings[0].groups->costs.sums[COST_CPU],
			 2 * (REQUESTS_OPEN_MAX + 10));
}

FIXTURE_TEST(totals_by_endpoint_only_have_one_grouping)
{
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, NULL, 2), 0);
	add_cpu_by_queue(totals, NULL, "MailJob");
	assert_int_equal(totals->grouping_count, 1);
	assert_int_equal(find_group(&totals->groupings[0], "MailJob")->costs.sums[COST_CPU], 10);
}

FIXTURE_TEST(totals_mark_missing_cost_in_its_group_and_total)
{
	struct totals *totals = *state;
	const struct group *a, *b;

	sample_add_cpu(totals, 1, "a", NULL, 10, 1);
	sample_add_record(totals, "cpu pid=42 request_id=a cpu_ns=5");
	sample_add_cpu(totals, 1, "b", NULL, 2, 3);
	totals_finish(totals);
	a = find_group(&totals->groupings[0], "a");
	b = find_group(&totals->groupings[0], "b");
	assert_int_equal(a->costs.sums[COST_CPU], 16);
	assert_true(costs_has(&a->costs, COST_CPU));
	assert_false(costs_has(&a->costs, COST_USER));
	assert_false(costs_has(&a->costs, COST_SWITCHES));
	assert_true(costs_has(&b->costs, COST_USER));
	assert_false(costs_has(&totals->all, COST_USER));
	/* Nothing was unattributed: 0, but not in a column that was not measured. */
	assert_true(costs_has(&totals->unattributed, COST_CPU));
	assert_false(costs_has(&totals->unattributed, COST_USER));
}

FIXTURE_TEST(totals_sums_saturate_at_int64_max)
{
	struct totals *totals = *state;

	sample_add_cpu(totals, 1, "a", "GET /", INT64_MAX, 0);
	sample_add_cpu(totals, 1, "a", "GET /", INT64_MAX, 0);
	assert_int_equal(totals->all.sums[COST_CPU], INT64_MAX);
}

/* What a listener was told, as a line. */
struct told {
	char text[256];
	int error; /* to answer with, */
	char at; /* to this */
};

static int tell(struct told *told, char what, const char *more, int number)
{
	size_t length = strlen(told->text);

	(void)snprintf(told->text + length, sizeof(told->text) - length, "%c%s%d ", what, more,
		       number);
	return told->at == what ? told->error : 0;
}

static int hear_other(void *context, const struct record_view *record)
{
	return tell(context, 'o', "", record->kind == RECORD_KIND_BALANCE);
}

static int hear_take(void *context, const struct selection_record *taken)
{
	return tell(context, 't', "", taken->is_wanted);
}

static int hear_charge(void *context, const struct selection_record *taken,
		       const struct costs *costs)
{
	return tell(context, 'c', taken->request ? "r" : "n",
		    (int)totals_part_of(taken->attribution) * 100 + (int)costs->sums[COST_CPU]);
}

static int hear_settle(void *context, const struct request *request)
{
	return tell(context, 's', "", (int)request->costs.record_count);
}

FIXTURE_TEST(totals_notify_listener_of_counted_records)
{
	struct told told = { 0 };
	const struct totals_listener listener = { hear_other, hear_take, hear_charge, hear_settle,
						  &told };
	struct totals *totals = *state;

	totals->listener = &listener;
	assert_int_equal(filter_add(&totals->selection.filter, "endpoint=yes"), 0);
	sample_add_cpu(totals, 1, "a", NULL, 1, 0);
	sample_add_cpu(totals, 1, "a", "yes", 2, 0);
	sample_add_cpu(totals, 1, "b", "no", 4, 0);
	sample_add_cpu(totals, 1, "c", NULL, 8, 0);
	sample_add_cpu(totals, 1, "", "yes", 16, 0);
	sample_add_balance(totals, 31, 31, 0, 0);
	assert_int_equal(totals_finish(totals), 0);
	assert_string_equal(told.text, "cr1 t1 cr2 t1 t0 cn16 t1 o1 s2 s0 t0 s0 ");
	filter_deinit(&totals->selection.filter);
	told.text[0] = '\0';
	sample_add_cpu(totals, 1, "", "", 3, 0);
	sample_add_cpu_with(totals, 0, "", 5, 0, "flags=[overflow]");
	assert_string_equal(told.text, "cn103 t1 cn205 t1 ");
}

FIXTURE_TEST(totals_return_listener_error)
{
	static const char places[] = "tc";
	struct told told = { .error = -EDOM };
	const struct totals_listener listener = { hear_other, hear_take, hear_charge, hear_settle,
						  &told };
	struct totals *totals = *state;
	struct sample sample;

	totals->listener = &listener;
	for (size_t i = 0; i < 2; i++) {
		told.at = places[i];
		sample_begin_cpu(&sample, 42, 1, "a", 1, 0);
		sample_fields(&sample, "endpoint=\"GET /\"");
		assert_int_equal(sample_add(&sample, totals), -EDOM);
	}
	told.at = 's';
	assert_int_equal(totals_finish(totals), -EDOM);
}

FIXTURE_TEST(totals_keep_threads_of_hosts_apart)
{
	static const char *const by_tid[] = { "tid", "comm" };
	struct totals *totals = *state;

	totals_deinit(totals);
	assert_int_equal(totals_init(totals, by_tid, 2), 0);
	sample_add_record(totals, "process pid=42 comm=puma");
	sample_add_cpu(totals, 7, "a", NULL, 10, 0);
	sample_add_record(totals, "cpu host_name=Web-1 pid=42 tid=7 request_id=a cpu_ns=5");
	assert_int_equal(totals->groupings[0].group_count, 2);
	assert_true(totals->selection.recording.has_several_hosts);
	assert_int_equal(find_group(&totals->groupings[0], "42/7")->costs.sums[COST_CPU], 10);
	assert_int_equal(find_group(&totals->groupings[1], "puma")->costs.sums[COST_CPU], 10);
	assert_int_equal(totals->groupings[1].without_value.sums[COST_CPU], 5);
}
