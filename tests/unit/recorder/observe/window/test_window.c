/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window.h"

#include <errno.h>
#include <string.h>

#include "unit_test.h"

#include <correlator/snapshot.h>

#include "base/clock.h"
#include "failing_memory.h"

enum {
	SOME = CONTEXT_HASH_FIRST,
	OTHER = CONTEXT_HASH_FIRST + 1,
	EPOCH = 3,
	START = 1000,
	END = 5000,
	WALL = 100000
};

static const struct key_options keys = { .record_names = { "request_id", "endpoint" },
					 .count = 2,
					 .ruby_count = 2 };

struct fixture {
	struct window window;
	struct window_process process;
	const char *values[2];
	struct context context;
};

static int set_up(void **state)
{
	static struct fixture fixture;

	fixture = (struct fixture){
		.process = { .pid = 100, .ns_pid = 5 },
		.values = { "r1", "GET /" },
		.context = { .hash = SOME, .values = fixture.values },
	};
	assert_int_equal(window_init(&fixture.window, &keys), 0);
	fixture.window.number = 1;
	fixture.window.start_ktime_ns = START;
	fixture.window.end_ktime_ns = END;
	fixture.window.wall_offset_ns = WALL;
	fixture.window.epoch = EPOCH;
	fixture.window.has_kernel_split = true;
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	window_deinit(&fixture->window);
	return 0;
}

/* The row of an account of 30 ns in user mode and 20 ns in the kernel. */
static struct window_row *add(struct fixture *fixture, uint32_t thread, uint64_t hash,
			      const struct context *context)
{
	struct account_key key = { .context_hash = hash, .thread_serial = thread, .life = 7100 };
	struct account account = {
		.totals = { .user_ns = 30, .kernel_ns = 20, .slices = 1 },
		.first_ns = START + 1,
		.last_ns = END - 1,
		.tid = 100 + thread,
		.tgid = 100,
		.ns_tid = 5 + thread,
		.comm = "puma worker",
	};
	struct window_row *row;

	assert_int_equal(window_add_account(&fixture->window, &key, &account), 0);
	row = &fixture->window.rows[fixture->window.row_count - 1];
	row->process = &fixture->process;
	row->context = context;
	return row;
}

static const struct balance_record *close_books(struct fixture *fixture,
						const struct process_books *now)
{
	struct window *window = &fixture->window;

	window_charge(window);
	assert_int_equal(window_close_process(window, &fixture->process, now), 0);
	return &window->books[window->books_count - 1].balance;
}

#define WINDOW_TEST(test) TEST_WITH(test, set_up, tear_down)

WINDOW_TEST(window_row_record_has_account_and_context_keys)
{
	struct fixture *fixture = *state;
	const struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct record_key values[KEYS_MAX] = { [2].name = "of another" };
	struct cpu_record record;

	window_charge(&fixture->window);
	window_row_record(&fixture->window, row, values, &record);
	assert_string_equal(values[2].name, "of another");
	assert_int_equal(record.common.pid, 100);
	assert_int_equal(record.common.ns_pid, 5);
	assert_int_equal(record.tid, 101);
	assert_int_equal(record.ns_tid, 6);
	assert_string_equal(record.thread_name, "puma worker");
	assert_int_equal(record.keys_count, 2);
	assert_string_equal(record.keys[0].name, "request_id");
	assert_string_equal(record.keys[0].value, "r1");
	assert_string_equal(record.keys[1].value, "GET /");
	assert_int_equal(record.window_ns, END - START);
	assert_int_equal(record.cpu_ns, 50);
	assert_int_equal(record.user_ns, 30);
	assert_int_equal(record.kernel_ns, 20);
	assert_int_equal(record.first_ns, WALL + START + 1);
	assert_int_equal(record.last_ns, WALL + END - 1);
	assert_int_equal(record.flags, 0);
}

WINDOW_TEST(window_row_record_has_each_total_of_account)
{
	struct fixture *fixture = *state;
	struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	row->account.totals = (struct account_totals){
		.user_ns = 1,
		.kernel_ns = 2,
		.run_queue_ns = 4,
		.blocked_ns = 5,
		.uninterruptible_ns = 6,
		.ambiguous_ns = 7,
		.slices = 8,
		.switches_voluntary = 9,
		.switches_involuntary = 10,
		.migrations = 11,
		.syscalls = 12,
		.stolen_ns = 13,
		.gvl_ns = 14,
		.gvl_waits = 15,
		.gc_ns = 16,
		.gc_runs = 17,
	};
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.user_ns, 1);
	assert_int_equal(record.kernel_ns, 2);
	assert_int_equal(record.cpu_ns, 3);
	assert_int_equal(record.run_queue_ns, 4);
	assert_int_equal(record.blocked_ns, 5);
	assert_int_equal(record.uninterruptible_ns, 6);
	assert_int_equal(record.ambiguous_ns, 7);
	assert_int_equal(record.slices, 8);
	assert_int_equal(record.switches_voluntary, 9);
	assert_int_equal(record.switches_involuntary, 10);
	assert_int_equal(record.migrations, 11);
	assert_int_equal(record.syscalls, 12);
	assert_int_equal(record.stolen_ns, 13);
	assert_int_equal(record.gvl_ns, 14);
	assert_int_equal(record.gvl_waits, 15);
	assert_int_equal(record.gc_ns, 16);
	assert_int_equal(record.gc_runs, 17);
	assert_false(record.has_gvl || record.has_gc);
	row->account.flags = ACCOUNT_COUNTS_GVL;
	window_row_record(&fixture->window, row, values, &record);
	assert_true(record.has_gvl && !record.has_gc);
	row->account.flags = ACCOUNT_COUNTS_GC;
	window_row_record(&fixture->window, row, values, &record);
	assert_true(record.has_gc && !record.has_gvl);
	assert_int_equal(record.flags, 0);
}

WINDOW_TEST(window_joins_contexts_of_equal_text_per_thread)
{
	struct fixture *fixture = *state;
	const struct window *window = &fixture->window;
	const char *const texts[][2] = {
		{ "r1", "GET /" }, { "r1", NULL }, { "r1", "" }, { "r2", "GET /" }
	};
	struct context contexts[5];
	struct window_row *row;

	contexts[0] = fixture->context;
	/* All digests alike: what they say counts. */
	for (size_t i = 0; i < 4; i++)
		contexts[i + 1] = (struct context){ .hash = OTHER + i, .values = texts[i] };
	(void)add(fixture, 1, CONTEXT_HASH_NONE, NULL);
	(void)add(fixture, 1, SOME, &contexts[0]);
	(void)add(fixture, 1, CONTEXT_HASH_UNKNOWN, NULL);
	row = add(fixture, 1, contexts[1].hash, &contexts[1]);
	row->account.first_ns = START;
	row->account.last_ns = END;
	/* What one of the two does not count is not known of both. */
	row->account.flags = ACCOUNT_INHERITED | ACCOUNT_COUNTS_GVL | ACCOUNT_COUNTS_GC;
	(void)add(fixture, 2, contexts[1].hash, &contexts[1]);
	(void)add(fixture, 1, contexts[2].hash, &contexts[2]);
	(void)add(fixture, 1, contexts[3].hash, &contexts[3]);
	(void)add(fixture, 1, contexts[4].hash, &contexts[4]);
	assert_int_equal(window_join(&fixture->window), 0);
	assert_int_equal(window->row_count, 7);
	assert_int_equal(window->rows[1].account.totals.user_ns, 60);
	assert_int_equal(window->rows[1].account.totals.slices, 2);
	assert_int_equal(window->rows[1].account.first_ns, START);
	assert_int_equal(window->rows[1].account.last_ns, END);
	assert_int_equal(window->rows[1].account.flags, ACCOUNT_INHERITED);
	assert_int_equal(window->rows[2].key.context_hash, CONTEXT_HASH_UNKNOWN);
	assert_int_equal(window->rows[3].key.thread_serial, 2);
	for (size_t i = 2; i < window->row_count; i++)
		assert_int_equal(window->rows[i].account.totals.user_ns, 30);
}

WINDOW_TEST(window_joins_each_of_several_contexts_with_its_equal)
{
	struct fixture *fixture = *state;
	const struct window *window = &fixture->window;
	const char *const other[] = { "r2", "GET /" };
	struct context contexts[] = { fixture->context,
				      { .hash = OTHER, .values = other, .texts_digest = 1 },
				      { .hash = OTHER + 1, .values = other, .texts_digest = 1 } };

	assert_int_equal(window_join(&fixture->window), 0);
	for (size_t i = 0; i < 3; i++)
		(void)add(fixture, 1, contexts[i].hash, &contexts[i]);
	assert_int_equal(window_join(&fixture->window), 0);
	assert_int_equal(window->row_count, 2);
	assert_int_equal(window->rows[0].account.totals.user_ns, 30);
	assert_int_equal(window->rows[1].account.totals.user_ns, 60);
}

WINDOW_TEST(window_adds_and_joins_nothing_without_memory)
{
	struct fixture *fixture = *state;
	struct window *window = &fixture->window;
	const struct account account = { .tid = 1 };
	const struct process_books now = { 0 };
	struct account_key key = { 0 };
	size_t failures = 0;

	memory_fails_after(0);
	assert_int_equal(window_add_account(window, &key, &account), -ENOMEM);
	assert_int_equal(window_close_process(window, &fixture->process, &now), -ENOMEM);
	memory_never_fails();
	assert_int_equal(window->row_count + window->books_count, 0);
	/* Room for the rows, a table of them, and its buckets. */
	(void)add(fixture, 1, SOME, &fixture->context);
	assert_each_allocation_can_fail(
		window_join(window), (failures++, (void)add(fixture, 1, SOME, &fixture->context)));
	assert_int_equal(failures, 3);
}

WINDOW_TEST(window_moves_syscall_way_to_kernel_time)
{
	struct fixture *fixture = *state;
	struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	row->account.totals.syscalls = 2;
	fixture->window.ways[SESSION_WAY_SHORT].hot_ns = 5;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.user_ns, 20);
	assert_int_equal(record.kernel_ns, 30);
	assert_int_equal(record.cpu_ns, 50);
	assert_true(record.has_kernel_split && record.has_syscalls);
	fixture->window.has_kernel_split = false;
	window_row_record(&fixture->window, row, values, &record);
	assert_false(record.has_kernel_split || record.has_syscalls);
}

static const struct stint some_stint = { .context_hash = SOME,
					 .user_ns = 30,
					 .kernel_ns = 20,
					 .tid = 101,
					 .ns_tid = 6,
					 .cpu = 3,
					 .fiber = 9,
					 .syscalls = 2,
					 .flags = STINT_IS_CHARGED };

static struct slice_record slice_record_of(struct fixture *fixture, const struct stint *stint,
					   enum sched_state state, const struct context *context,
					   const struct window_row *thread)
{
	static struct record_key values[KEYS_MAX];
	struct slice slice = { .stint = stint,
			       .state = state,
			       .start_ns = START + 7,
			       .end_ns = START + 60,
			       .woken_by = UINT64_C(44) << 32 | 55 };
	struct slice_record record;

	window_slice_record(&fixture->window, &fixture->process, context, thread, &slice, values,
			    &record);
	return record;
}

WINDOW_TEST(window_slice_record_of_running_slice_has_thread_and_keys)
{
	struct fixture *fixture = *state;
	const struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct slice_record record;

	fixture->window.ways[SESSION_WAY_SHORT].hot_ns = 5;
	record = slice_record_of(fixture, &some_stint, SCHED_RUNNING, &fixture->context, row);
	assert_int_equal(record.common.pid, 100);
	assert_int_equal(record.common.ns_pid, 5);
	assert_int_equal(record.tid, 101);
	assert_int_equal(record.ns_tid, 6);
	assert_string_equal(record.thread_name, "puma worker");
	assert_int_equal(record.keys_count, 2);
	assert_string_equal(record.keys[0].name, "request_id");
	assert_string_equal(record.keys[0].value, "r1");
	assert_string_equal(record.keys[1].value, "GET /");
	assert_string_equal(record.state, "running");
	assert_int_equal(record.fiber, 9);
	assert_int_equal(record.start_ns, WALL + START + 7);
	assert_int_equal(record.end_ns, WALL + START + 60);
	assert_true(record.has_cpu && record.has_kernel_split);
	assert_int_equal(record.cpu_number, 3);
	assert_int_equal(record.cpu_ns, 50);
	/* Its calls' way was counted as user time. */
	assert_int_equal(record.user_ns, 20);
	assert_int_equal(record.kernel_ns, 30);
	assert_int_equal(record.woken_by_pid, 44);
	assert_int_equal(record.woken_by_tid, 55);
	assert_int_equal(record.flags, 0);
	/* Of no context: whichever fiber was in one last. */
	record = slice_record_of(fixture, &some_stint, SCHED_RUNNING, NULL, row);
	assert_int_equal(record.fiber, 0);
	fixture->window.has_kernel_split = false;
	record = slice_record_of(fixture, &some_stint, SCHED_RUNNING, &fixture->context, NULL);
	assert_true(record.has_cpu);
	assert_false(record.has_kernel_split);
	assert_null(record.thread_name);
}

WINDOW_TEST(window_slice_record_has_no_cpu_unless_running)
{
	static const struct {
		enum sched_state state;
		const char *name;
	} states[] = { { SCHED_BLOCKED, "blocked" },
		       { SCHED_UNINTERRUPTIBLE, "uninterruptible" },
		       { SCHED_RUN_QUEUE, "run_queue" } };
	struct fixture *fixture = *state;

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++) {
		struct slice_record record = slice_record_of(fixture, &some_stint, states[i].state,
							     &fixture->context, NULL);

		assert_string_equal(record.state, states[i].name);
		assert_false(record.has_cpu || record.has_kernel_split);
	}
}

WINDOW_TEST(window_slice_record_has_flags_and_keys_of_its_charge)
{
	struct fixture *fixture = *state;
	struct stint stint = some_stint;
	struct slice_record record;

	stint.context_hash = CONTEXT_HASH_NONE;
	record = slice_record_of(fixture, &stint, SCHED_BLOCKED, NULL, NULL);
	assert_string_equal(record.keys[0].value, "");
	assert_int_equal(record.flags, 0);
	stint.context_hash = CONTEXT_HASH_UNKNOWN;
	stint.flags |= STINT_IS_INHERITED;
	record = slice_record_of(fixture, &stint, SCHED_BLOCKED, NULL, NULL);
	assert_int_equal(record.flags, CPU_RECORD_UNKNOWN | CPU_RECORD_INHERITED);
	/* What it was charged to is of no context that could be told. */
	stint.context_hash = SOME;
	stint.flags |= STINT_IS_OVERFLOW;
	record = slice_record_of(fixture, &stint, SCHED_BLOCKED, &fixture->context, NULL);
	assert_int_equal(record.flags, CPU_RECORD_OVERFLOW);
	assert_null(record.keys[0].value);
	assert_string_equal(record.keys[0].name, "request_id");
	stint.flags = STINT_IS_CHARGED | STINT_IS_OF_ORIGIN;
	record = slice_record_of(fixture, &stint, SCHED_BLOCKED, &fixture->context, NULL);
	assert_int_equal(record.flags, CPU_RECORD_INHERITED_BY_EXEC);
	stint.flags = STINT_IS_CHARGED;
	fixture->context.is_truncated = fixture->process.mixes_threads = true;
	record = slice_record_of(fixture, &stint, SCHED_BLOCKED, &fixture->context, NULL);
	assert_int_equal(record.flags, CPU_RECORD_TRUNCATED | CPU_RECORD_MIXED_THREADS);
}

WINDOW_TEST(window_error_bound_covers_both_ways_after_mode_change)
{
	struct fixture *fixture = *state;
	struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	row->account.totals.syscalls = 2;
	fixture->window.ways[SESSION_WAY_SHORT].hot_ns = 3;
	fixture->window.ways[SESSION_WAY_LONG].hot_ns = 5;
	fixture->process.way = SESSION_WAY_LONG;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.user_ns, 20);
	assert_int_equal(record.kernel_ns, 30);
	/* A call at its ends. */
	assert_int_equal(record.split_error_ns, 5);
	fixture->process.has_both_ways = true;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.kernel_ns, 30);
	assert_int_equal(record.split_error_ns, 5 + (2 + 1) * 2);
}

WINDOW_TEST(window_row_without_context_is_unattributed_with_empty_keys)
{
	struct fixture *fixture = *state;
	const struct window_row *row = add(fixture, 1, CONTEXT_HASH_NONE, NULL);
	struct process_books now = { .epochs[EPOCH & 1].exec_ns = 50 };
	const struct balance_record *balance = close_books(fixture, &now);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	window_row_record(&fixture->window, row, values, &record);
	assert_string_equal(record.keys[0].value, "");
	assert_int_equal(record.flags, 0);
	assert_int_equal(balance->unattributed_ns, 50);
	assert_int_equal(balance->residual_ns, 0);
	assert_int_equal(balance->losses[COUNTER_CONTEXT_LOST], 0);
}

WINDOW_TEST(window_row_with_context_without_keys_is_attributed)
{
	struct fixture *fixture = *state;
	const struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct process_books now = { .epochs[EPOCH & 1].exec_ns = 50 };
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	fixture->values[0] = fixture->values[1] = NULL;
	window_row_record(&fixture->window, row, values, &record);
	assert_null(record.keys[0].value);
	assert_null(record.keys[1].value);
	assert_int_equal(close_books(fixture, &now)->attributed_ns, 50);
}

WINDOW_TEST(window_row_with_only_empty_values_is_unattributed)
{
	struct fixture *fixture = *state;
	const struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct process_books now = { .epochs[EPOCH & 1].exec_ns = 50 };
	const struct balance_record *balance;
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	fixture->values[0] = "";
	window_row_record(&fixture->window, row, values, &record);
	assert_string_equal(record.keys[1].value, "GET /");
	fixture->values[1] = NULL;
	balance = close_books(fixture, &now);
	assert_int_equal(balance->attributed_ns, 0);
	assert_int_equal(balance->unattributed_ns, 50);
	assert_int_equal(balance->losses[COUNTER_CONTEXT_LOST], 0);
	window_row_record(&fixture->window, row, values, &record);
	assert_string_equal(record.keys[0].value, "");
	assert_string_equal(record.keys[1].value, "");
	assert_int_equal(record.flags, 0);
}

static void expect_unknown(struct fixture *fixture, uint64_t hash, uint64_t lost)
{
	const struct window_row *row = add(fixture, 1, hash, NULL);
	struct process_books now = { .epochs[EPOCH & 1].exec_ns = 50 };
	const struct balance_record *balance = close_books(fixture, &now);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	window_row_record(&fixture->window, row, values, &record);
	assert_string_equal(record.keys[0].value, "");
	assert_int_equal(record.flags, CPU_RECORD_UNKNOWN);
	assert_int_equal(balance->attributed_ns, 0);
	assert_int_equal(balance->unattributed_ns, 50);
	assert_int_equal(balance->losses[COUNTER_CONTEXT_LOST], lost);
}

WINDOW_TEST(window_row_with_unreadable_context_is_unknown)
{
	expect_unknown(*state, CONTEXT_HASH_UNKNOWN, 0);
}

WINDOW_TEST(window_row_with_lost_context_is_unknown_and_counted)
{
	expect_unknown(*state, SOME, 1);
}

WINDOW_TEST(window_row_flags_mark_inherited_and_truncated_context)
{
	struct fixture *fixture = *state;
	struct window_row *row = add(fixture, 1, SOME, &fixture->context);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	row->account.flags = ACCOUNT_INHERITED;
	fixture->context.is_truncated = true;
	fixture->values[1] = NULL;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.flags, CPU_RECORD_INHERITED | CPU_RECORD_TRUNCATED);
	/* Not "": the context has no such key. */
	assert_null(record.keys[1].value);
	fixture->process.mixes_threads = true;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.flags,
			 CPU_RECORD_INHERITED | CPU_RECORD_TRUNCATED | CPU_RECORD_MIXED_THREADS);
	fixture->process.mixes_threads = fixture->context.is_truncated = false;
	row->account.flags = ACCOUNT_OF_ORIGIN;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.flags, CPU_RECORD_INHERITED_BY_EXEC);
	/* Whose values are gone: it cannot be said in what. */
	row->context = NULL;
	window_row_record(&fixture->window, row, values, &record);
	assert_int_equal(record.flags, CPU_RECORD_UNKNOWN);
}

WINDOW_TEST(window_balance_sums_all_accounts_of_its_process)
{
	struct fixture *fixture = *state;
	struct window *window = &fixture->window;
	struct window_process second = { .pid = 200 };
	const char *const values[] = { "r2", NULL };
	const struct context other = { .hash = OTHER, .values = values };
	struct process_books now = { .epochs[EPOCH & 1].exec_ns = 160 };
	const struct balance_record *balance;

	(void)add(fixture, 1, SOME, &fixture->context);
	(void)add(fixture, 2, OTHER, &other);
	(void)add(fixture, 2, CONTEXT_HASH_NONE, NULL);
	add(fixture, 3, SOME, &fixture->context)->process = &second;
	balance = close_books(fixture, &now);
	assert_int_equal(balance->common.pid, 100);
	assert_int_equal(balance->exec_ns, 160);
	assert_int_equal(balance->attributed_ns, 100);
	assert_int_equal(balance->unattributed_ns, 50);
	assert_int_equal(balance->residual_ns, 10);
	assert_false(window_has_overflow(&window->books[0]));
	now.epochs[EPOCH & 1].exec_ns = 50;
	assert_int_equal(window_close_process(window, &second, &now), 0);
	assert_int_equal(window->books[1].balance.common.pid, 200);
	assert_int_equal(window->books[1].balance.attributed_ns, 50);
	assert_int_equal(window->books[1].balance.residual_ns, 0);
}

WINDOW_TEST(window_reports_overflow_record_without_keys)
{
	struct fixture *fixture = *state;
	struct process_books now = {
		.epochs[EPOCH & 1] = { .exec_ns = 40,
				       .overflow = { .user_ns = 33, .kernel_ns = 7 } },
	};
	const struct balance_record *balance = close_books(fixture, &now);
	const struct window_books *books = &fixture->window.books[0];
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	assert_int_equal(balance->overflow_ns, 40);
	assert_int_equal(balance->residual_ns, 0);
	assert_true(window_has_overflow(books));
	window_overflow_record(&fixture->window, books, values, &record);
	assert_int_equal(record.flags, CPU_RECORD_OVERFLOW);
	assert_int_equal(record.cpu_ns, 40);
	assert_int_equal(record.tid, 0);
	assert_null(record.keys[0].value);
	assert_int_equal(record.first_ns, WALL + START);
	assert_int_equal(record.last_ns, WALL + END);
}

WINDOW_TEST(window_ignores_clock_jump_of_suspend)
{
	struct window *window = &((struct fixture *)*state)->window;

	window->first_wall_offset_ns = window->wall_offset_ns = 1000 * NS_PER_S;
	window->first_slept_ns = window->slept_ns = 3 * NS_PER_S;
	assert_int_equal(window_clock_set_ns(window), 0);
	window->wall_offset_ns += 8 * NS_PER_S;
	assert_int_equal(window_clock_set_ns(window), 8 * NS_PER_S);
	assert_int_equal(window_steady_ns(window, 5), 1000 * NS_PER_S + 5);
	/* Two readings of two clocks. */
	window->slept_ns += 8 * NS_PER_S - WINDOW_CLOCK_SET_NS + 1;
	assert_int_equal(window_clock_set_ns(window), 0);
	assert_int_equal(window_steady_ns(window, 5), 1008 * NS_PER_S + 5);
	window->wall_offset_ns -= NS_PER_S;
	assert_int_equal(window_clock_set_ns(window),
			 -(int64_t)NS_PER_S + (int64_t)WINDOW_CLOCK_SET_NS - 1);
}

WINDOW_TEST(window_ages_stints_of_process)
{
	struct fixture *fixture = *state;
	struct process_books now = { 0 };

	add(fixture, 1, SOME, &fixture->context)->account.totals.slices = 6;
	add(fixture, 1, CONTEXT_HASH_NONE, NULL)->account.totals.slices = 4;
	now.epochs[fixture->window.epoch & 1].overflow.slices = 30;
	now.epochs[fixture->window.epoch & 1].overflow.syscalls = 7;
	now.losses[COUNTER_CHANGE_UNSEEN] = 9;
	(void)close_books(fixture, &now);
	assert_int_equal(fixture->process.unseen.stints, 40);
	assert_int_equal(fixture->process.unseen.changes, 9);
	assert_int_equal(fixture->process.window_stints, 0);
	assert_int_equal(fixture->process.stints, 40);
	assert_int_equal(fixture->process.boundaries, 40 + 2 * 7);
	window_age_process(&fixture->process);
	assert_int_equal(fixture->process.stints, 20);
	assert_int_equal(fixture->process.boundaries, 20 + 7);
}

WINDOW_TEST(window_row_stolen_time_is_never_negative)
{
	struct fixture *fixture = *state;
	struct window_row *early = add(fixture, 1, SOME, &fixture->context);
	struct record_key values[KEYS_MAX];
	struct cpu_record record;

	early->account.totals.stolen_ns = -30;
	/* The array may have moved by the next row. */
	add(fixture, 1, CONTEXT_HASH_NONE, NULL)->account.totals.stolen_ns = 100;
	add(fixture, 2, CONTEXT_HASH_NONE, NULL)->account.totals.stolen_ns = 10;
	window_charge(&fixture->window);
	window_row_record(&fixture->window, &fixture->window.rows[0], values, &record);
	assert_int_equal(record.stolen_ns, 0);
	window_row_record(&fixture->window, &fixture->window.rows[1], values, &record);
	assert_int_equal(record.stolen_ns, 70);
	window_row_record(&fixture->window, &fixture->window.rows[2], values, &record);
	assert_int_equal(record.stolen_ns, 10);
}

WINDOW_TEST(window_overflow_stolen_debt_is_not_charged_to_threads)
{
	struct fixture *fixture = *state;
	struct process_books now = { .epochs[EPOCH & 1].overflow.stolen_ns = -30 };
	struct window *window = &fixture->window;

	(void)close_books(fixture, &now);
	assert_int_equal(window->books[0].overflow.stolen_ns, 0);
	window_next(window);
	now.epochs[EPOCH & 1].overflow.stolen_ns += 100;
	add(fixture, 1, SOME, &fixture->context)->account.totals.stolen_ns = 7;
	(void)close_books(fixture, &now);
	assert_int_equal(window->rows[0].account.totals.stolen_ns, 7);
	assert_int_equal(window->books[0].overflow.stolen_ns, 70);
}

WINDOW_TEST(window_drops_stolen_debt_of_exited_thread)
{
	struct fixture *fixture = *state;
	struct window *window = &fixture->window;

	add(fixture, 1, SOME, &fixture->context)->account.totals.stolen_ns = -30;
	window_charge(window);
	for (size_t i = 0; i < 2; i++) {
		window->end_ktime_ns = window->start_ktime_ns + NS_PER_S;
		window_next(window);
	}
	add(fixture, 1, SOME, &fixture->context)->account.totals.stolen_ns = 100;
	window_charge(window);
	assert_int_equal(window->rows[0].account.totals.stolen_ns, 100);
}

WINDOW_TEST(window_shares_own_cpu_exactly_between_processes)
{
	struct fixture *fixture = *state;
	struct window *window = &fixture->window;
	struct process_books now = { 0 };
	const uint64_t own_cpu_ns = 1000;

	for (size_t count = 1; count <= 7; count++) {
		uint64_t sum_ns = 0;

		assert_int_equal(window_close_process(window, &fixture->process, &now), 0);
		window_share(window, own_cpu_ns);
		for (size_t i = 0; i < count; i++) {
			uint64_t share_ns = window->books[i].balance.own_cpu_ns;

			assert_in_range(share_ns, own_cpu_ns / count, own_cpu_ns / count + 1);
			sum_ns += share_ns;
		}
		assert_int_equal(sum_ns, own_cpu_ns);
	}
	/* Nobody to share it out to. */
	window_next(window);
	window_share(window, own_cpu_ns);
}

WINDOW_TEST(window_next_is_empty_and_starts_at_previous_end)
{
	struct fixture *fixture = *state;
	struct window *window = &fixture->window;
	struct process_books now = { .epochs[EPOCH & 1].exec_ns = 50 };

	(void)add(fixture, 1, SOME, &fixture->context);
	(void)close_books(fixture, &now);
	window_next(window);
	assert_int_equal(window->row_count, 0);
	assert_int_equal(window->books_count, 0);
	assert_int_equal(window->start_ktime_ns, END);
	/* The kernel's books only grow: a window is their growth. */
	window->epoch += 2;
	now.epochs[EPOCH & 1].exec_ns = 58;
	assert_int_equal(close_books(fixture, &now)->exec_ns, 8);
	assert_int_equal(window->books[0].balance.attributed_ns, 0);
}

WINDOW_TEST(window_keeps_more_accounts_than_table_maximum)
{
	struct fixture *fixture = *state;
	struct window *window = &fixture->window;
	enum {
		MANY = 2 * ACCOUNTS_MAX
	};

	for (uint32_t i = 0; i < MANY; i++)
		(void)add(fixture, i + 1, CONTEXT_HASH_NONE, NULL);
	assert_int_equal(window->row_count, MANY);
	for (uint32_t i = 0; i < MANY; i++)
		assert_int_equal(window->rows[i].key.thread_serial, i + 1);
	window_charge(window);
	assert_int_equal(fixture->process.balance.unattributed_ns, 50 * MANY);
}

WINDOW_TEST(window_truncates_unterminated_thread_name)
{
	struct fixture *fixture = *state;
	struct account_key key = { 0 };
	struct account account;

	memset(&account, 'x', sizeof(account));
	assert_int_equal(window_add_account(&fixture->window, &key, &account), 0);
	assert_int_equal(strlen(fixture->window.rows[0].account.comm), COMM_BYTES - 1);
}
