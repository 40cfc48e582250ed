/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/account.h>

#include <string.h>

#include "unit_test.h"

struct books {
	struct thread_clock clock;
	struct account_totals totals;
};

static struct books running_since(uint64_t now_ns)
{
	const struct kernel_figures figures = { .exec_ns = 5000, .run_delay_ns = 300 };
	struct books books;

	memset(&books, 0, sizeof(books));
	account_begin(&books.clock, &figures, now_ns - 100, 1, OFF_CPU_SLEEPING, THREAD_MODE_USER);
	account_switch_in(&books.clock, &books.totals, now_ns, 0, 0);
	return books;
}

static void leave(struct books *books, uint64_t now_ns, uint64_t ran_ns)
{
	const struct kernel_figures figures = { .exec_ns = 5000 + ran_ns, .run_delay_ns = 300 };

	(void)account_switch_out(&books->clock, &books->totals, now_ns, &figures, OFF_CPU_SLEEPING);
}

TEST(account_edges_folded_later_equal_edges_in_place)
{
	struct books in_place = running_since(2000);
	struct books apart = in_place;
	struct edge_times edges;

	account_edges_open(&edges, &apart.clock);
	for (uint64_t now_ns = 2100; now_ns < 2500; now_ns += 100) {
		(void)account_edge(&in_place.clock, &in_place.totals, now_ns, THREAD_MODE_KERNEL);
		(void)account_edge(&in_place.clock, &in_place.totals, now_ns + 30,
				   THREAD_MODE_USER);
		account_edges_pass(&edges, now_ns, THREAD_MODE_KERNEL);
		account_edges_pass(&edges, now_ns + 30, THREAD_MODE_USER);
	}
	account_edges_fold(&edges, &apart.clock, &apart.totals);
	leave(&in_place, 2600, 590);
	leave(&apart, 2600, 590);
	assert_int_equal(apart.totals.kernel_ns, 120);
	assert_memory_equal(&apart, &in_place, sizeof(apart));
}

TEST(account_edges_fold_adds_syscalls_of_slot)
{
	struct books books = running_since(2000);
	struct edge_times edges;

	books.totals.syscalls = 2;
	account_edges_open(&edges, &books.clock);
	edges.syscalls = 3;
	account_edges_fold(&edges, &books.clock, &books.totals);
	assert_int_equal(books.totals.syscalls, 5);
}

TEST(account_edges_ignore_clock_stepping_back)
{
	struct books books = running_since(2000);
	struct edge_times edges;

	account_edges_open(&edges, &books.clock);
	account_edges_pass(&edges, 1900, THREAD_MODE_KERNEL);
	account_edges_fold(&edges, &books.clock, &books.totals);
	assert_int_equal(books.totals.user_ns + books.totals.kernel_ns, 0);
	assert_int_equal(books.clock.mode, THREAD_MODE_KERNEL);
}
