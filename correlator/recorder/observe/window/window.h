/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One window, from drained accounts to its books and records: plain data, filled in step by step,
 * in this order:
 *
 *   window_add_account     each drained account                      rows
 *   (the caller looks up and sets each row's process and context)
 *   window_join            contexts of equal text are one context    rows
 *   window_charge          rows -> what their processes used         balances
 *   window_close_process   a balance + the kernel's figures          books
 *   window_row_record, window_overflow_record, books->balance        records
 *   window_share           shares our own CPU among the books
 *   window_next            the next window begins where this one ended
 *
 * Pure: no I/O, no clock, never logs; single thread. Bounded by the kernel's map of accounts.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/io_counts.h>
#include <correlator/kernel_books.h>
#include <correlator/limits.h>
#include <correlator/stacks.h>
#include <correlator/stall.h>

#include "base/clock.h"
#include "record/record.h"
#include "recorder/observe/process/key_options.h"
#include "recorder/observe/process/window_process.h"
#include "recorder/observe/window/contexts.h"
#include "recorder/observe/window/split.h"
#include "recorder/observe/window/stints.h"
#include "recorder/observe/window/stolen_debts.h"
#include "recorder/probe/session.h"

#define WINDOW_CLOCK_SET_NS (100 * NS_PER_US)

/* A drained account, with its process and its context. */
struct window_row {
	struct account_key key;
	struct account account;
	struct window_process *process;
	const struct context *context; /* NULL = none was in force, or it is not known */
};

/* The account that figures beside those of the row belong to. */
struct window_owner {
	struct account_key key;
	struct window_process *process; /* NULL = no longer known */
	const struct context *context; /* as in a row */
	uint32_t tid; /* 0 = in the overflow of its process, which has no thread */
	uint32_t ns_tid;
	uint32_t account_flags; /* enum account_flags */
	char comm[COMM_BYTES];
};

/* Samples of one account in one stack, or its waits there. */
struct window_sample {
	struct window_owner owner;
	uint64_t stack; /* correlator/stacks.h */
	uint64_t tip; /* correlator/stacks.h */
	bool is_wait;
	uint64_t count; /* of samples */
	struct wait_sums waited;
};

/* The calls of one account to one system call. */
struct window_syscall {
	struct window_owner owner;
	uint32_t call; /* correlator/syscall_counts.h */
	uint64_t calls;
	uint64_t inside_ns;
};

/* The reads and writes of one account on one kind of file or peer. */
struct window_io {
	struct window_owner owner;
	struct io_object object;
	struct io_sums sums;
};

/* The books of one process. */
struct window_books {
	const struct window_process *process;
	struct account_totals overflow; /* totals without an account */
	struct balance_record balance;
};

struct window {
	/* The same for all windows: */
	const struct key_options *keys; /* borrowed */
	struct stolen_debts *debts;
	/* This window; times are CLOCK_MONOTONIC: */
	uint64_t number; /* from 1 on */
	uint64_t start_ktime_ns;
	uint64_t end_ktime_ns;
	/* CLOCK_REALTIME - CLOCK_MONOTONIC, now and when the recording began. */
	uint64_t wall_offset_ns;
	uint64_t first_wall_offset_ns;
	uint64_t slept_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC: time in suspend; likewise */
	uint64_t first_slept_ns;
	uint64_t epoch; /* the kernel side's number of the window */
	bool has_kernel_split;
	/* Time per system call counted as user that is the kernel's. By enum session_way. */
	struct split_way ways[_SESSION_WAY_MAX];
	/* Its contents: */
	struct window_row *rows;
	size_t row_count;
	size_t row_capacity;
	struct window_books *books;
	size_t books_count;
	size_t books_capacity;
};

/* Initializes zeroed memory. 0 or -ENOMEM. */
int window_init(struct window *window, const struct key_options *keys);
void window_deinit(struct window *window);

/* CLOCK_REALTIME at ktime_ns. */
uint64_t window_wall_ns(const struct window *window, uint64_t ktime_ns);
/*
 * How far the wall clock was set forward (< 0: back) since the recording began. A suspend does not
 * count: CLOCK_MONOTONIC stops in it. 0 if it is less than WINDOW_CLOCK_SET_NS.
 */
int64_t window_clock_set_ns(const struct window *window);
/* The wall clock at ktime_ns, as if it had never been set. */
uint64_t window_steady_ns(const struct window *window, uint64_t ktime_ns);

/* A session_account_fn: copies an account into a row. 0 or -ENOMEM. */
int window_add_account(void *window, const struct account_key *key, const struct account *account);

/*
 * Joins the rows of a thread whose contexts have equal text in all keys: in the kernel, the same
 * String in two encodings, or as a Symbol, makes two contexts. 0 or -ENOMEM.
 */
int window_join(struct window *window);

/* Adds each row to its process's balance, and makes each thread's stolen time at least 0. */
void window_charge(struct window *window);

/* Closes the books of a process. now: the kernel's current figures. 0 or -ENOMEM. */
int window_close_process(struct window *window, struct window_process *process,
			 const struct process_books *now);

/* Call when its window has been judged: halves its counts, so that older windows count less. */
void window_age_process(struct window_process *process);

/* True if some totals have no account: then there is a record of them. */
bool window_has_overflow(const struct window_books *books);

/* Divides our own CPU time among the window's balance records, which add up to it. */
void window_share(struct window *window, uint64_t own_cpu_ns);

/*
 * These fill in a record, except what output_add() sets. keys is the caller's; the record points
 * into it and into the window.
 */
void window_row_record(const struct window *window, const struct window_row *row,
		       struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record);
/* slice: of a slice of the process. thread: a row of its thread, or NULL. */
void window_slice_record(const struct window *window, const struct window_process *process,
			 const struct context *context, const struct window_row *thread,
			 const struct slice *slice, struct record_key keys[static KEYS_MAX],
			 struct slice_record *ret_record);
/* Leaves to the caller: the names of the system call and of what was waited on, and the waker's
 * keys. */
void window_stall_record(const struct window *window, const struct window_process *process,
			 const struct context *context, const struct stall *stall,
			 struct record_key keys[static KEYS_MAX], struct stall_record *ret_record);
/* Leaves stack_id and period_ns to the caller. */
void window_sample_record(const struct window *window, const struct window_sample *sample,
			  struct record_key keys[static KEYS_MAX],
			  struct sample_record *ret_record);
/* Leaves the call itself to the caller: its name, number and table. */
void window_syscall_record(const struct window *window, const struct window_syscall *syscall,
			   struct record_key keys[static KEYS_MAX],
			   struct syscall_record *ret_record);
/* Leaves what it is on, and the peer, to the caller. */
void window_io_record(const struct window *window, const struct window_io *io,
		      struct record_key keys[static KEYS_MAX], struct io_record *ret_record);
void window_overflow_record(const struct window *window, const struct window_books *books,
			    struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record);

/* Drops rows, books, and the debts of threads that are gone. */
void window_next(struct window *window);
