/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/resolve.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <correlator/snapshot.h>

enum {
	PID = 4000000, /* above the kernel's highest: nothing of it can be read */
	SOME = CONTEXT_HASH_FIRST + 7,
	END = 5000
};

static const struct key_options keys = { .record_names = { "request_id" }, .count = 1 };

/* No session: what is known already needs none. */
static void resolve(struct window *window, struct observed_table *processes,
		    struct context_table *contexts)
{
	assert_int_equal(resolve_rows(window, processes, contexts, NULL), 0);
}

static void a_child_whose_fork_was_not_seen_is_known_by_its_account(void **state)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	struct observed_table processes = { .keys = &keys };
	struct window window = { .end_ktime_ns = END, .number = 1 };
	struct account_key key = { .context_hash = CONTEXT_HASH_NONE, .tgid = PID };
	struct account account = { .comm = "child" };
	struct observed *child;

	(void)state;
	assert_int_equal(window_init(&window, &keys), 0);
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	resolve(&window, &processes, contexts);
	child = observed_find(&processes, PID);
	assert_non_null(child);
	assert_int_equal(HASH_COUNT(processes.processes), 1);
	assert_string_equal(child->comm, "child");
	assert_ptr_equal(window.rows[0].process, &child->books);
	assert_ptr_equal(window.rows[1].process, &child->books);
	assert_int_equal(child->books.pid, PID);
	/* It is looked at, and said to be there when its fork event comes after all. */
	assert_int_equal(observed_next_look(&processes), END);
	assert_false(child->is_announced);
	observed_table_deinit(&processes);
	window_deinit(&window);
}

static void rows_of_one_context_share_its_texts(void **state)
{
	_cleanup_(context_table_freep) struct context_table *contexts = context_table_new();
	const char *const values[] = { "r1" };
	const struct context context = { .hash = SOME, .values = values, .last_window = 1 };
	struct observed_table processes = { .keys = &keys };
	struct window window = { .end_ktime_ns = END, .number = 2 };
	struct account_key key = { .context_hash = SOME, .thread_serial = 1, .tgid = PID };
	struct account account = { .tid = PID };

	(void)state;
	assert_int_equal(context_table_add(contexts, &context, 1), 0);
	assert_int_equal(window_init(&window, &keys), 0);
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	key.thread_serial = 2;
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	key.context_hash = CONTEXT_HASH_UNKNOWN;
	assert_int_equal(window_add_account(&window, &key, &account), 0);
	resolve(&window, &processes, contexts);
	assert_string_equal(window.rows[0].context->values[0], "r1");
	assert_ptr_equal(window.rows[1].context, window.rows[0].context);
	assert_null(window.rows[2].context);
	assert_int_equal(window.rows[0].context->last_window, 2);
	observed_table_deinit(&processes);
	window_deinit(&window);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_child_whose_fork_was_not_seen_is_known_by_its_account),
		cmocka_unit_test(rows_of_one_context_share_its_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
