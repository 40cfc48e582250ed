/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/snapshot.h>

/* Serials of threads begin with 1. */
enum {
	NO_THREAD = 0
};

int window_init(struct window *window, const struct key_options *keys)
{
	window->keys = keys;
	window->debts = stolen_debts_new();
	return window->debts ? 0 : -ENOMEM;
}

void window_deinit(struct window *window)
{
	stolen_debts_free(window->debts);
	free(window->rows);
	free(window->books);
}

uint64_t window_wall_ns(const struct window *window, uint64_t ktime_ns)
{
	return ktime_ns + window->wall_offset_ns;
}

static uint64_t length_ns(const struct window *window)
{
	return window->end_ktime_ns - window->start_ktime_ns;
}

/* Room for one more. 0 or -ENOMEM. */
static int grow(void **array, size_t count, size_t *capacity, size_t size_bytes)
{
	const size_t first = 64;
	size_t wanted = *capacity ? 2 * *capacity : first;
	void *larger;

	if (count < *capacity)
		return 0;
	larger = realloc(*array, wanted * size_bytes);
	if (!larger)
		return -ENOMEM;
	*array = larger;
	*capacity = wanted;
	return 0;
}

int window_add_account(void *user, const struct account_key *key, const struct account *account)
{
	struct window *window = user;
	struct window_row *row;

	if (grow((void **)&window->rows, window->row_count, &window->row_capacity, sizeof(*row)) <
	    0)
		return -ENOMEM;
	row = &window->rows[window->row_count++];
	*row = (struct window_row){ .key = *key, .account = *account };
	row->account.comm[COMM_BYTES - 1] = '\0';
	return 0;
}

void window_charge(struct window *window)
{
	for (size_t i = 0; i < window->row_count; i++) {
		struct window_row *row = &window->rows[i];
		struct account_totals *totals = &row->account.totals;
		struct balance *balance = &row->process->balance;

		if (!row->context && row->key.context_hash >= CONTEXT_HASH_FIRST)
			balance->contexts_lost++;
		balance_add(balance, row->context ? row->key.context_hash : CONTEXT_HASH_UNKNOWN,
			    totals);
		totals->stolen_ns = (int64_t)stolen_debts_settle(
			window->debts, row->key.thread_serial, totals->stolen_ns);
	}
}

int window_close_process(struct window *window, struct window_process *process,
			 const struct process_books *now)
{
	struct window_books *books;

	if (grow((void **)&window->books, window->books_count, &window->books_capacity,
		 sizeof(*books)) < 0)
		return -ENOMEM;
	books = &window->books[window->books_count++];
	*books = (struct window_books){
		.process = process,
		.balance.common = { .pid = process->pid, .ns_pid = process->ns_pid },
	};
	balance_overflow(&process->balance, now, window->epoch, &books->overflow);
	balance_close(&process->balance, now, window->epoch, length_ns(window), &books->balance);
	if (window_has_overflow(books))
		books->overflow.stolen_ns = (int64_t)stolen_debts_settle(window->debts, NO_THREAD,
									 books->overflow.stolen_ns);
	return 0;
}

bool window_has_overflow(const struct window_books *books)
{
	static const struct account_totals zero;

	return memcmp(&books->overflow, &zero, sizeof(zero)) != 0;
}

void window_share(struct window *window, uint64_t own_cpu_ns)
{
	for (size_t i = 0; i < window->books_count; i++) {
		uint64_t share_ns = own_cpu_ns / (window->books_count - i);

		window->books[i].balance.own_cpu_ns = share_ns;
		own_cpu_ns -= share_ns;
	}
}

static void fill_totals(const struct window *window, const struct account_totals *totals,
			struct cpu_record *record)
{
	struct split split;

	record->window_ns = length_ns(window);
	record->has_kernel_split = window->has_kernel_split;
	record->has_syscalls = record->has_kernel_split;
	record->cpu_ns = totals->user_ns + totals->kernel_ns;
	split_account(&window->way, totals, &split);
	record->user_ns = split.user_ns;
	record->kernel_ns = split.kernel_ns;
	record->split_error_ns = split.error_ns;
	record->run_queue_ns = totals->run_queue_ns;
	record->blocked_ns = totals->blocked_ns;
	record->uninterruptible_ns = totals->uninterruptible_ns;
	record->stolen_ns = (uint64_t)totals->stolen_ns;
	record->ambiguous_ns = totals->ambiguous_ns;
	record->slices = totals->slices;
	record->switches_voluntary = totals->switches_voluntary;
	record->switches_involuntary = totals->switches_involuntary;
	record->migrations = totals->migrations;
	record->syscalls = totals->syscalls;
}

/* The configured keys: "" each where no context was in force, absent where it has no such key. */
static void fill_keys(const struct window *window, const struct context *context, bool is_nobodys,
		      struct record_key keys[static KEYS_MAX], struct cpu_record *record)
{
	for (size_t i = 0; i < window->keys->count; i++) {
		keys[i].name = window->keys->record_names[i];
		keys[i].value = is_nobodys ? "" : (context ? context->values[i] : NULL);
	}
	record->keys = keys;
	record->keys_count = window->keys->count;
}

void window_row_record(const struct window *window, const struct window_row *row,
		       struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record)
{
	const struct account *account = &row->account;
	const struct context *context = row->context;

	*ret_record = (struct cpu_record){
		.common = { .pid = row->process->pid, .ns_pid = row->process->ns_pid },
		.tid = account->tid,
		.ns_tid = account->ns_tid,
		.thread_name = account->comm,
		.first_ns = window_wall_ns(window, account->first_ns),
		.last_ns = window_wall_ns(window, account->last_ns),
	};
	fill_keys(window, context, !context, keys, ret_record);
	fill_totals(window, &account->totals, ret_record);
	if (context && context->is_truncated)
		ret_record->flags |= CPU_RECORD_TRUNCATED;
	if (!context && row->key.context_hash != CONTEXT_HASH_NONE)
		ret_record->flags |= CPU_RECORD_UNKNOWN;
	if (account->flags & ACCOUNT_INHERITED)
		ret_record->flags |= CPU_RECORD_INHERITED;
}

void window_overflow_record(const struct window *window, const struct window_books *books,
			    struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record)
{
	*ret_record = (struct cpu_record){
		.common = { .pid = books->process->pid, .ns_pid = books->process->ns_pid },
		.thread_name = "",
		.first_ns = window_wall_ns(window, window->start_ktime_ns),
		.last_ns = window_wall_ns(window, window->end_ktime_ns),
		.flags = CPU_RECORD_OVERFLOW,
	};
	fill_keys(window, NULL, false, keys, ret_record);
	fill_totals(window, &books->overflow, ret_record);
}

void window_next(struct window *window)
{
	stolen_debts_end_window(window->debts);
	window->row_count = window->books_count = 0;
	window->start_ktime_ns = window->end_ktime_ns;
}
