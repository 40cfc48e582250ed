/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One window, from the accounts that were drained to its books and its records: plain data, filled
 * in step by step, in this order:
 *
 *   window_add_account     each account that was drained             rows
 *   (whoever can look it up sets the row's process and context)
 *   window_join            contexts of equal text are one context    rows
 *   window_charge          rows -> what their processes used         balances
 *   window_close_process   a balance + the kernel's figures          books
 *   window_row_record, window_overflow_record, books->balance        records
 *   window_share           our own CPU, among the books
 *   window_next            the next window begins where this one ended
 *
 * Pure: no I/O, no clock, never logs; single thread. Bounded by the kernel's map of accounts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/kernel_books.h>
#include <correlator/limits.h>
#include <correlator/stacks.h>

#include "base/clock.h"
#include "record/record.h"
#include "recorder/observe/process/key_options.h"
#include "recorder/observe/process/window_process.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/slices.h"
#include "recorder/observe/window/split.h"
#include "recorder/observe/window/stolen_debts.h"
#include "recorder/probe/session.h"

#define WINDOW_CLOCK_SET_NS (100 * NS_PER_US)

/* A drained account, and whose time it is. */
struct window_row {
	struct account_key key;
	struct account account;
	struct window_process *process;
	const struct context *context; /* NULL = none was in force, or it is not known */
};

/* Samples of one account in one stack, or its waits there. */
struct window_sample {
	struct account_key key;
	uint64_t stack; /* correlator/stacks.h */
	uint64_t tip; /* the same */
	bool is_wait;
	uint64_t count; /* of samples */
	struct wait_sums waited;
	struct window_process *process; /* NULL = not known any more */
	const struct context *context; /* as of a row */
	uint32_t tid; /* 0 = it is in the overflow of its process, which is of no thread */
	uint32_t ns_tid;
	uint32_t account_flags; /* enum account_flags */
	char comm[COMM_BYTES];
};

/* System calls of one account of one kind. */
struct window_syscall {
	struct account_key key;
	uint32_t call; /* correlator/syscall_counts.h */
	uint64_t calls;
	uint64_t inside_ns;
	struct window_process *process; /* the rest as of a sample */
	const struct context *context;
	uint32_t tid;
	uint32_t ns_tid;
	bool is_inherited;
	char comm[COMM_BYTES];
};

/* The books of one process. */
struct window_books {
	const struct window_process *process;
	struct account_totals overflow; /* what found no account */
	struct balance_record balance;
};

struct window {
	/* Of the recording: */
	const struct key_options *keys; /* borrowed */
	struct stolen_debts *debts;
	/* Of the window; CLOCK_MONOTONIC: */
	uint64_t number; /* from 1 on */
	uint64_t start_ktime_ns;
	uint64_t end_ktime_ns;
	/* CLOCK_REALTIME - CLOCK_MONOTONIC, now and when the recording began. */
	uint64_t wall_offset_ns;
	uint64_t first_wall_offset_ns;
	uint64_t slept_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: in suspend; the same two */
	uint64_t first_slept_ns;
	uint64_t epoch; /* the kernel side's number of it */
	bool has_kernel_split;
	/* Of a system call: counted as user, is the kernel's. By enum session_way. */
	struct split_way ways[_SESSION_WAY_MAX];
	/* In it: */
	struct window_row *rows;
	size_t row_count;
	size_t row_capacity;
	struct window_books *books;
	size_t books_count;
	size_t books_capacity;
};

/* Of zeroed memory. 0 or -ENOMEM. */
int window_init(struct window *window, const struct key_options *keys);
void window_deinit(struct window *window);

/* What CLOCK_REALTIME showed then. */
uint64_t window_wall_ns(const struct window *window, uint64_t ktime_ns);
/* By how much the wall clock was set on (< 0: back) since the recording began. A suspend is none:
 * then CLOCK_MONOTONIC stands. By less than WINDOW_CLOCK_SET_NS it was not. */
int64_t window_clock_set_ns(const struct window *window);
/* Wall clock as it would be had nobody set it. */
uint64_t window_steady_ns(const struct window *window, uint64_t ktime_ns);

/* A session_account_fn: copies an account into a row. 0 or -ENOMEM. */
int window_add_account(void *window, const struct account_key *key, const struct account *account);

/*
 * Joins the rows of a thread whose contexts have equal text in all keys: the same String in two
 * encodings, or a Symbol of that name, are two contexts in the kernel. 0 or -ENOMEM.
 */
int window_join(struct window *window);

/* Adds each row to its process's balance, and brings what was stolen from a thread above 0. */
void window_charge(struct window *window);

/* Closes the books of a process: now are the kernel's figures as they stand. 0 or -ENOMEM. */
int window_close_process(struct window *window, struct window_process *process,
			 const struct process_books *now);

/* When its window has been judged: what it did long ago counts for less and less. */
void window_age_process(struct window_process *process);

/* True if something found no account: there is a record of it. */
bool window_has_overflow(const struct window_books *books);

/* Shares out what we ourselves used, so that the window's balance records add up to it. */
void window_share(struct window *window, uint64_t own_cpu_ns);

/* Fill in all of a record but what output_add does. keys are the caller's, and the record points
 * into them and the window. */
void window_row_record(const struct window *window, const struct window_row *row,
		       struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record);
/* Of a slice whose thread is of that process; thread: a row of it, or NULL. */
void window_slice_record(const struct window *window, const struct window_process *process,
			 const struct context *context, const struct window_row *thread,
			 const struct slice_piece *piece, struct record_key keys[static KEYS_MAX],
			 struct slice_record *ret_record);
/* But for stack_id and period_ns. */
void window_sample_record(const struct window *window, const struct window_sample *sample,
			  struct record_key keys[static KEYS_MAX],
			  struct sample_record *ret_record);
/* But for the call itself: its name, number and table. */
void window_syscall_record(const struct window *window, const struct window_syscall *syscall,
			   struct record_key keys[static KEYS_MAX],
			   struct syscall_record *ret_record);
void window_overflow_record(const struct window *window, const struct window_books *books,
			    struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record);

/* Forgets rows, books, and what threads owe that are gone. */
void window_next(struct window *window);
