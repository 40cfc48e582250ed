/* SPDX-License-Identifier: GPL-2.0-only */
#include <errno.h>
#include <inttypes.h>

#include "unit_test.h"

#include "failing_memory.h"
#include "reader/aggregate/sample_totals.h"

enum {
	HOST_BYTES = 6 /* "web-1:" */
};

static struct grouping grouping;
static uint64_t number; /* of the last record */
static size_t memory = SIZE_MAX; /* what there is of it to add a record */

static int teardown(void **state)
{
	(void)state;
	grouping_deinit(&grouping);
	return 0;
}

static void begin(const char *by)
{
	grouping_deinit(&grouping);
	assert_int_equal(grouping_init(&grouping, by), 0);
}

static int add(struct sample *sample, const char *comm)
{
	static struct record_view view;
	struct record_text text = { comm, comm ? strlen(comm) : 0 };
	struct costs costs;
	int r;

	sample_decode(sample, &view);
	costs = costs_of_record(&view);
	memory_fails_after(memory);
	r = grouping_add(
		&grouping,
		&(struct selection_record){ .view = &view, .comm = text, .number = ++number },
		&costs, NULL);
	memory_never_fails();
	msgpack_sbuffer_destroy(&sample->buffer);
	return r;
}

static int add_request(const char *request_id, const char *endpoint)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42 cpu_ns=10");
	if (request_id)
		sample_fields(&sample, "request_id=\"%s\"", request_id);
	sample_fields(&sample, "endpoint=\"%s\"", endpoint);
	return add(&sample, NULL);
}

static int add_thread(int64_t tid, const char *thread_name, const char *comm)
{
	struct sample sample;

	sample_record(&sample, "cpu pid=42 cpu_ns=10");
	if (tid >= 0)
		sample_fields(&sample, "tid=%ld", tid);
	sample_fields(&sample, "thread_name=\"%s\"", thread_name);
	return add(&sample, comm);
}

static const struct group *only_group(void)
{
	assert_int_equal(grouping.group_count, 1);
	return grouping.groups;
}

static void expect_label(const struct group *group, const char *label, const char *with_host)
{
	assert_true(record_text_is(grouping_label(group, false), label));
	assert_true(record_text_is(grouping_label(group, true), with_host));
}

#define FIXTURE_TEST(test) TEST_WITH(test, NULL, teardown)

FIXTURE_TEST(costs_come_from_their_own_fields)
{
	static const struct {
		enum cost cost;
		const char *fields[2];
		const char *name;
	} cases[] = {
		{ COST_CPU, { "cpu_ns" }, "cpu_ns" },
		{ COST_CPU, { "user_ns", "kernel_ns" }, "cpu_ns" },
		{ COST_USER, { "user_ns" }, "user_ns" },
		{ COST_KERNEL, { "kernel_ns" }, "kernel_ns" },
		{ COST_RUN_QUEUE, { "run_queue_ns" }, "run_queue_ns" },
		{ COST_BLOCKED, { "blocked_ns" }, "blocked_ns" },
		{ COST_SLICES, { "slices" }, "slices" },
		{ COST_SWITCHES, { "switches_voluntary", "switches_involuntary" }, "switches" },
		{ COST_AMBIGUOUS, { "ambiguous_ns" }, "ambiguous_ns" },
		{ COST_MIGRATIONS, { "migrations" }, "migrations" },
		{ COST_STOLEN, { "stolen_ns" }, "stolen_ns" },
		{ COST_SPLIT_ERROR, { "split_error_ns" }, "split_error_ns" },
		{ COST_UNINTERRUPTIBLE, { "uninterruptible_ns" }, "uninterruptible_ns" },
		{ COST_SYSCALLS, { "syscalls" }, "syscalls" },
		{ COST_GVL, { "gvl_ns" }, "gvl_ns" },
		{ COST_GVL_WAITS, { "gvl_waits" }, "gvl_waits" },
		{ COST_GC, { "gc_ns" }, "gc_ns" },
		{ COST_GC_RUNS, { "gc_runs" }, "gc_runs" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool is_sum = cases[i].fields[1] != NULL;

		for (int fields = 1; fields <= 1 + is_sum; fields++) {
			struct sample sample;
			const struct costs *costs;

			begin("request_id");
			sample_record(&sample, "cpu pid=42 request_id=r");
			for (int field = 0; field < fields; field++)
				sample_fields(&sample, "%s=%d", cases[i].fields[field], 5 + field);
			assert_int_equal(add(&sample, NULL), 0);
			costs = &only_group()->costs;
			assert_int_equal(costs->record_count, 1);
			assert_int_equal(costs_has(costs, cases[i].cost), fields == 1 + is_sum);
			if (fields == 1 + is_sum)
				assert_int_equal(costs->sums[cases[i].cost], is_sum ? 11 : 5);
		}
		assert_string_equal(figure_infos[figure_of_cost(cases[i].cost)].field,
				    cases[i].name);
	}
}

/* In a recording of old, say, that has no user time. */
FIXTURE_TEST(costs_prefer_cpu_total_over_user_and_kernel)
{
	struct sample sample;

	begin("request_id");
	sample_record(&sample, "cpu pid=42 request_id=r cpu_ns=100 user_ns=1 kernel_ns=2");
	assert_int_equal(add(&sample, NULL), 0);
	assert_int_equal(only_group()->costs.sums[COST_CPU], 100);
}

FIXTURE_TEST(costs_share_requires_measured_nonzero_total)
{
	struct costs part = { .sums[COST_CPU] = 1 }, all = { .sums[COST_CPU] = 3 };
	double percent = -1;

	assert_true(costs_share_percent(&part, &all, &percent));
	assert_true(percent == 100.0 / 3);
	percent = -1;
	part.missing = 1 << COST_CPU;
	assert_false(costs_share_percent(&part, &all, &percent));
	part.missing = 0;
	all.missing = 1 << COST_CPU;
	assert_false(costs_share_percent(&part, &all, &percent));
	all = (struct costs){ .sums[COST_CPU] = 0 };
	assert_false(costs_share_percent(&part, &all, &percent));
	assert_true(percent == -1);
	all.sums[COST_CPU] = 1;
	assert_true(costs_share_percent(&part, &all, &percent));
}

/* A request of these records, one nanosecond each; NULL: without a value. Then it has ended. */
static void add_whole_request(const char *const *endpoints, size_t count)
{
	static struct record_view view;
	struct costs costs = { .record_count = 1, .sums[COST_CPU] = 1 }, before = { 0 };
	struct group *place = NULL;

	for (size_t i = 0; i < count; i++) {
		struct sample sample;

		sample_record(&sample, "cpu pid=42 tid=7");
		if (endpoints[i])
			sample_fields(&sample, "endpoint=\"%s\"", endpoints[i]);
		sample_decode(&sample, &view);
		assert_int_equal(grouping_add(&grouping,
					      &(struct selection_record){ .view = &view }, &costs,
					      &place),
				 0);
		costs_add(&before, &costs);
		msgpack_sbuffer_destroy(&sample.buffer);
	}
	assert_int_equal(grouping_settle(&grouping, place, &before), 0);
}

static int64_t cpu_of(const char *value)
{
	for (const struct group *group = grouping.groups; group; group = group->hh.next)
		if (record_text_is(grouping_label(group, false), value))
			return group->costs.sums[COST_CPU];
	return -1;
}

FIXTURE_TEST(grouping_puts_record_without_value_in_no_group)
{
	static const char *const some[] = { "", "cart", NULL }, *const moves[] = { "cart",
										   "order" };

	begin("endpoint");
	add_whole_request(some, 3);
	assert_int_equal(cpu_of("cart"), 1);
	assert_int_equal(grouping.without_value.sums[COST_CPU], 2);
	assert_int_equal(grouping.without_value_count, 1);
	assert_int_equal(grouping.without_value_requests.costs[REQUEST_CPU].largest, 3);
	assert_int_equal(grouping.open_count, 0);
	add_whole_request(moves, 2);
	assert_int_equal(cpu_of("cart"), 2);
	assert_int_equal(cpu_of("order"), 1);
	assert_int_equal(grouping.request_count, 2);
	begin("tid");
	add_whole_request(some, 3);
	assert_int_equal(cpu_of("42/7"), 3);
	/* A request of no named thread is counted, too. */
	begin("comm");
	add_whole_request(some, 3);
	assert_int_equal(grouping.without_value.sums[COST_CPU], 3);
	assert_int_equal(grouping.without_value_count, 1);
}

FIXTURE_TEST(grouping_counts_request_in_its_last_group)
{
	static const char *const cart[] = { "cart" }, *const moves[] = { "cart", "cart", "order" };
	int64_t cpu_ns = 0;

	begin("endpoint");
	add_whole_request(cart, 1);
	add_whole_request(moves, 3);
	assert_int_equal(grouping.request_count, 2);
	assert_int_equal(grouping.groups->request_count, 1);
	assert_int_equal(((struct group *)grouping.groups->hh.next)->request_count, 1);
	assert_true(histogram_percentile(
		&((struct group *)grouping.groups->hh.next)->requests->costs[REQUEST_CPU], 50,
		&cpu_ns));
	assert_int_equal(cpu_ns, 3);
	assert_int_equal(grouping.requests.costs[REQUEST_CPU].count, 2);
	assert_int_equal(grouping.requests.costs[REQUEST_CPU].sum, 4);
}

FIXTURE_TEST(grouping_rejects_more_groups_than_limit)
{
	begin("endpoint");
	assert_int_equal(add_request("a", "cart"), 0);
	grouping.group_count = GROUPS_MAX - 1;
	assert_int_equal(add_request("a", "order"), 0);
	assert_int_equal(grouping.group_count, GROUPS_MAX);
	assert_int_equal(add_request("a", "late"), -E2BIG);
	assert_int_equal(add_request("a", "order"), 0);
}

FIXTURE_TEST(grouping_labels_threads_by_host_and_pid)
{
	begin("tid");
	assert_int_equal(add_thread(7, "", NULL), 0);
	assert_int_equal(only_group()->host_bytes, HOST_BYTES);
	expect_label(only_group(), "42/7", "web-1:42/7");
	/* Of those that a full map folded together, it is not known. */
	assert_int_equal(add_thread(0, "", NULL), 0);
	assert_int_equal(add_thread(-1, "", NULL), 0);
	assert_int_equal(grouping.without_value.record_count, 2);
	assert_int_equal(only_group()->costs.record_count, 1);
	begin("pid");
	assert_int_equal(add_thread(0, "", NULL), 0);
	expect_label(only_group(), "42", "web-1:42");
	begin("request_id");
	assert_int_equal(add_request("a:b", ""), 0);
	expect_label(only_group(), "a:b", "a:b");
}

FIXTURE_TEST(grouping_fits_longest_host_and_highest_ids)
{
	static char host[RECORD_VIEW_TEXT_BYTES_MAX];
	static const char ids[] = ":9223372036854775807/9223372036854775807";
	const struct costs costs = { .record_count = 1 };
	static struct record_view view;

	memset(host, 'h', sizeof(host));
	view.fields[view.field_count++] = (struct record_field){
		.name = { "host_name", 9 },
		.value = RECORD_VALUE_TEXT,
		.text = { host, sizeof(host) },
	};
	for (int i = 0; i < 2; i++)
		view.fields[view.field_count++] = (struct record_field){
			.name = { i ? "pid" : "tid", 3 },
			.value = RECORD_VALUE_INTEGER,
			.integer = INT64_MAX,
		};
	begin("tid");
	assert_int_equal(
		grouping_add(&grouping, &(struct selection_record){ .view = &view }, &costs, NULL),
		0);
	assert_int_equal(only_group()->value_bytes, sizeof(host) + sizeof(ids) - 1);
	assert_true(record_text_is(grouping_label(only_group(), false), ids + 1));
}

FIXTURE_TEST(grouping_keeps_latest_thread_and_process_name)
{
	char longest[GROUP_NAME_BYTES + 2];
	const char *const *names;

	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	begin("tid");
	assert_int_equal(add_thread(7, "one", "ruby"), 0);
	names = (const char *const *)only_group()->names;
	assert_string_equal(names[GROUP_NAME_THREAD], "one");
	assert_string_equal(names[GROUP_NAME_COMM], "ruby");
	assert_int_equal(add_thread(7, "on", "rubb"), 0);
	assert_string_equal(names[GROUP_NAME_THREAD], "on");
	assert_string_equal(names[GROUP_NAME_COMM], "rubb");
	assert_int_equal(add_thread(7, "on", "ruby"), 0);
	assert_string_equal(names[GROUP_NAME_COMM], "ruby");
	assert_int_equal(add_thread(7, "", NULL), 0);
	assert_string_equal(names[GROUP_NAME_THREAD], "on");
	assert_int_equal(add_thread(7, longest, NULL), 0);
	assert_int_equal(strlen(names[GROUP_NAME_THREAD]), GROUP_NAME_BYTES);
	begin("pid");
	assert_int_equal(add_thread(7, "one", "ruby"), 0);
	assert_null(only_group()->names[GROUP_NAME_THREAD]);
	assert_string_equal(only_group()->names[GROUP_NAME_COMM], "ruby");
	begin("comm");
	assert_int_equal(add_thread(7, "one", "ruby"), 0);
	assert_int_equal(add_thread(7, "one", NULL), 0);
	assert_int_equal(grouping.without_value.record_count, 1);
	expect_label(only_group(), "ruby", "ruby");
	assert_null(only_group()->names[GROUP_NAME_COMM]);
	begin("thread_name");
	assert_int_equal(add_thread(7, "one", "ruby"), 0);
	assert_int_equal(add_thread(8, "one", "ruby"), 0);
	assert_int_equal(only_group()->costs.sums[COST_CPU], 20);
	expect_label(only_group(), "one", "one");
}

FIXTURE_TEST(grouping_by_thread_or_process_covers_all_time)
{
	static const char *const fields[] = { "pid", "tid", "comm", "thread_name", "host_name" };

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		assert_true(grouping_is_by_field(fields[i]));
		begin(fields[i]);
		assert_true(grouping.has_all_time);
	}
	assert_false(grouping_is_by_field("request_id"));
	begin("endpoint");
	assert_false(grouping.has_all_time);
	assert_int_equal(grouping_rename(&grouping, "queue"), 0);
	assert_string_equal(grouping.by, "queue");
}

static int add_and_settle(const struct record_view *view)
{
	struct costs costs = costs_of_record(view);
	struct group *place = NULL;
	int r = grouping_add(&grouping,
			     &(struct selection_record){ .view = view, .comm = { "ruby", 4 } },
			     &costs, &place);

	return r == 0 ? grouping_settle(&grouping, place, &costs) : r;
}

FIXTURE_TEST(grouping_returns_enomem_for_each_failed_allocation)
{
	struct record_view *view = malloc(sizeof(*view));
	struct sample sample;
	size_t failures = 0;

	assert_each_allocation_can_fail(grouping_init(&grouping, "tid"), failures++);
	assert_true(failures > 1);
	begin("endpoint");
	memory_fails_after(0);
	assert_int_equal(grouping_rename(&grouping, "tid"), -ENOMEM);
	memory_never_fails();
	sample_begin_cpu(&sample, 42, 7, "r", 1, 0);
	sample_fields(&sample, "thread_name=worker");
	sample_decode(&sample, view);
	begin("tid");
	failures = 0;
	assert_each_allocation_can_fail(add_and_settle(view), (failures++, begin("tid")));
	msgpack_sbuffer_destroy(&sample.buffer);
	free(view);
	/* A group, a table and its buckets, two names, a figure of all, its own and one in them. */
	assert_int_equal(failures, 8);
	assert_int_equal(only_group()->request_count, 1);
	assert_int_equal(grouping.request_count, 1);
	assert_string_equal(only_group()->names[GROUP_NAME_THREAD], "worker");
	assert_string_equal(only_group()->names[GROUP_NAME_COMM], "ruby");
}

FIXTURE_TEST(grouping_skips_costs_if_name_allocation_fails)
{
	begin("tid");
	assert_int_equal(add_thread(7, "one", "ruby"), 0);
	memory = 0;
	assert_int_equal(add_thread(7, "two", "ruby"), -ENOMEM);
	assert_int_equal(add_thread(7, "one", "puma"), -ENOMEM);
	memory = SIZE_MAX;
	assert_int_equal(only_group()->costs.record_count, 1);
	assert_string_equal(only_group()->names[GROUP_NAME_THREAD], "one");
	assert_string_equal(only_group()->names[GROUP_NAME_COMM], "ruby");
}
