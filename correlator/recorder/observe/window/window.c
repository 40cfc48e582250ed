/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/snapshot.h>

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_table.h"
#include "record/blocked.h"

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

int64_t window_clock_set_ns(const struct window *window)
{
	int64_t set_ns = (int64_t)(window->wall_offset_ns - window->first_wall_offset_ns -
				   (window->slept_ns - window->first_slept_ns));
	const int64_t least_ns = WINDOW_CLOCK_SET_NS;

	return set_ns > -least_ns && set_ns < least_ns ? 0 : set_ns;
}

uint64_t window_steady_ns(const struct window *window, uint64_t ktime_ns)
{
	return window_wall_ns(window, ktime_ns) - (uint64_t)window_clock_set_ns(window);
}

static uint64_t length_ns(const struct window *window)
{
	return window->end_ktime_ns - window->start_ktime_ns;
}

int window_add_account(void *user, const struct account_key *key, const struct account *account)
{
	struct window *window = user;
	struct window_row *row;

	if (array_reserve(&window->rows, &window->row_capacity, window->row_count + 1) < 0)
		return -ENOMEM;
	row = &window->rows[window->row_count++];
	*row = (struct window_row){ .key = *key, .account = *account };
	row->account.comm[COMM_BYTES - 1] = '\0';
	return 0;
}

/* The first row of a thread in a context with this text. */
struct first_row {
	struct {
		uint64_t thread_serial;
		uint64_t texts_digest;
	} key;
	size_t row;
	UT_hash_handle hh;
};

static bool has_equal_texts(const struct window *window, const struct context *a,
			    const struct context *b)
{
	for (size_t i = 0; i < window->keys->count; i++) {
		const char *text = a->values[i], *other = b->values[i];

		if (!text != !other || (text && strcmp(text, other) != 0))
			return false;
	}
	return true;
}

static void join_row(struct window_row *into, const struct window_row *row)
{
	struct account *account = &into->account;

	account_fold(&account->totals, &row->account.totals);
	if (row->account.first_ns < account->first_ns)
		account->first_ns = row->account.first_ns;
	if (row->account.last_ns > account->last_ns)
		account->last_ns = row->account.last_ns;
	/* If only one of the two counted a figure, it is not known for both. */
	account->flags =
		(account->flags | row->account.flags) &
		~((account->flags ^ row->account.flags) & (ACCOUNT_COUNTS_GVL | ACCOUNT_COUNTS_GC));
}

/* 1: the row was joined to another one; 0: it is kept; -ENOMEM. */
static int join(struct window *window, const struct window_row *row, struct first_row **firsts,
		struct first_row *fresh)
{
	struct first_row *first;

	if (!row->context)
		return 0;
	fresh->key.thread_serial = row->key.thread_serial;
	fresh->key.texts_digest = row->context->texts_digest;
	fresh->row = (size_t)(row - window->rows);
	HASH_FIND(hh, *firsts, &fresh->key, sizeof(fresh->key), first);
	if (!first) {
		HASH_ADD(hh, *firsts, key, sizeof(fresh->key), fresh);
		return fresh->hh.tbl ? 0 : -ENOMEM;
	}
	if (!has_equal_texts(window, window->rows[first->row].context, row->context))
		return 0;
	join_row(&window->rows[first->row], row);
	return 1;
}

int window_join(struct window *window)
{
	_cleanup_free_ struct first_row *rooms = calloc(window->row_count, sizeof(*rooms));
	struct first_row *firsts = NULL;
	size_t kept = 0;
	int r = 0;

	if (!rooms && window->row_count)
		return -ENOMEM;
	for (size_t i = 0; i < window->row_count && r >= 0; i++) {
		window->rows[kept] = window->rows[i];
		r = join(window, &window->rows[kept], &firsts, &rooms[kept]);
		kept += r == 0;
	}
	window->row_count = kept;
	HASH_CLEAR(hh, firsts);
	return r < 0 ? r : 0;
}

/*
 * A context whose recorded values are all empty is nobody's: a record cannot distinguish it from no
 * context. A context without any of the keys is somebody's, without a name.
 */
static bool is_somebodys(const struct window *window, const struct context *context)
{
	bool has_empty = false;

	for (size_t i = 0; context && i < window->keys->count; i++) {
		if (context->values[i] && context->values[i][0] != '\0')
			return true;
		has_empty |= context->values[i] != NULL;
	}
	return context && !has_empty;
}

static void note_boundaries(struct window_process *process, const struct account_totals *totals)
{
	process->stints += totals->slices;
	process->window_stints += totals->slices;
	process->boundaries += totals->slices + 2 * totals->syscalls;
}

void window_charge(struct window *window)
{
	for (size_t i = 0; i < window->row_count; i++) {
		struct window_row *row = &window->rows[i];
		struct account_totals *totals = &row->account.totals;
		struct balance *balance = &row->process->balance;

		if (!row->context && row->key.context_hash >= CONTEXT_HASH_FIRST)
			balance->losses[COUNTER_CONTEXT_LOST]++;
		note_boundaries(row->process, totals);
		balance_add(balance,
			    is_somebodys(window, row->context) ? row->key.context_hash
							       : CONTEXT_HASH_NONE,
			    totals);
		totals->stolen_ns = (int64_t)stolen_debts_settle(
			window->debts, row->key.thread_serial, totals->stolen_ns);
	}
}

int window_close_process(struct window *window, struct window_process *process,
			 const struct process_books *now)
{
	struct window_books *books;

	if (array_reserve(&window->books, &window->books_capacity, window->books_count + 1) < 0)
		return -ENOMEM;
	books = &window->books[window->books_count++];
	*books = (struct window_books){
		.process = process,
		.balance.common = { .pid = process->pid, .ns_pid = process->ns_pid },
	};
	balance_overflow(&process->balance, now, window->epoch, &books->overflow);
	balance_close(&process->balance, now, window->epoch, length_ns(window), &books->balance);
	note_boundaries(process, &books->overflow);
	unseen_changes_add(&process->unseen, books->balance.losses[COUNTER_CHANGE_UNSEEN],
			   process->window_stints);
	process->window_stints = 0;
	if (window_has_overflow(books))
		books->overflow.stolen_ns = (int64_t)stolen_debts_settle(window->debts, NO_THREAD,
									 books->overflow.stolen_ns);
	return 0;
}

void window_age_process(struct window_process *process)
{
	process->stints /= 2;
	process->boundaries /= 2;
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

/* Calls that went the other way before the mode changed are part of the bound. */
static struct split_way way_of(const struct window *window, const struct window_process *process)
{
	struct split_way way = window->ways[process->way];

	if (process->has_both_ways)
		way.spread_ns += fabs(window->ways[SESSION_WAY_LONG].hot_ns -
				      window->ways[SESSION_WAY_SHORT].hot_ns);
	return way;
}

static void fill_reasons(const struct account_totals *totals, struct cpu_record *record)
{
#define FILL(reason, name) \
	record->blocked_##name##_ns = account_blocked_on_ns(totals, BLOCKED_ON_##reason);
	BLOCKED_REASONS(FILL)
#undef FILL
}

static void fill_totals(const struct window *window, const struct window_process *process,
			const struct account_totals *totals, struct cpu_record *record)
{
	struct split_way way = way_of(window, process);
	struct split split;

	record->window_ns = length_ns(window);
	record->has_kernel_split = window->has_kernel_split;
	record->has_syscalls = record->has_kernel_split;
	record->cpu_ns = account_on_cpu(totals);
	split_account(&way, totals, &split);
	record->user_ns = split.user_ns;
	record->kernel_ns = split.kernel_ns;
	record->split_error_ns = split.error_ns;
#define SPLIT(type, name)
#define TOTAL(type, name) record->name = (uint64_t)totals->name;
	ACCOUNT_TOTALS(SPLIT, TOTAL)
#undef TOTAL
#undef SPLIT
	fill_reasons(totals, record);
}

/* The configured keys: each is "" if no context was in force, absent if the context lacks it. */
static void fill_keys(const struct window *window, const struct context *context, bool is_nobodys,
		      struct record_key keys[static KEYS_MAX])
{
	for (size_t i = 0; i < window->keys->count; i++) {
		keys[i].name = window->keys->record_names[i];
		keys[i].value = is_nobodys ? "" : (context ? context->values[i] : NULL);
	}
}

static uint32_t context_flags(const struct window_process *process, const struct context *context,
			      uint64_t context_hash, uint32_t account_flags)
{
	uint32_t flags = 0;

	if (account_flags & ACCOUNT_INHERITED)
		flags |= CPU_RECORD_INHERITED;
	if (context && (account_flags & ACCOUNT_OF_ORIGIN))
		flags |= CPU_RECORD_INHERITED_BY_EXEC;
	if (context && context->is_truncated)
		flags |= CPU_RECORD_TRUNCATED;
	if (!context && context_hash != CONTEXT_HASH_NONE)
		flags |= CPU_RECORD_UNKNOWN;
	if (process->mixes_threads)
		flags |= CPU_RECORD_MIXED_THREADS;
	return flags;
}

static uint32_t account_flags_of(const struct stint *stint)
{
	return (stint->flags & STINT_IS_INHERITED ? ACCOUNT_INHERITED : 0) |
	       (stint->flags & STINT_IS_OF_ORIGIN ? ACCOUNT_OF_ORIGIN : 0);
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
		.keys = keys,
		.keys_count = window->keys->count,
		.first_ns = window_wall_ns(window, account->first_ns),
		.last_ns = window_wall_ns(window, account->last_ns),
		.flags =
			context_flags(row->process, context, row->key.context_hash, account->flags),
	};
	fill_keys(window, context, !is_somebodys(window, context), keys);
	fill_totals(window, row->process, &account->totals, ret_record);
	ret_record->has_gvl = account->flags & ACCOUNT_COUNTS_GVL;
	ret_record->has_gc = account->flags & ACCOUNT_COUNTS_GC;
}

/* The fields that all records of an owner's figures have. */
#define OF_OWNER(window, owner, record_keys)                                            \
	.common = { .pid = (owner)->process->pid, .ns_pid = (owner)->process->ns_pid }, \
	.tid = (owner)->tid, .ns_tid = (owner)->ns_tid,                                 \
	.thread_name = (owner)->tid ? (owner)->comm : NULL, .keys = (record_keys),      \
	.keys_count = (window)->keys->count, .window_ns = length_ns(window),            \
	.flags = owner_flags(owner)

static uint32_t owner_flags(const struct window_owner *owner)
{
	return owner->tid ? context_flags(owner->process, owner->context, owner->key.context_hash,
					  owner->account_flags)
			  : CPU_RECORD_OVERFLOW;
}

static void fill_keys_of_owner(const struct window *window, const struct window_owner *owner,
			       struct record_key keys[static KEYS_MAX])
{
	fill_keys(window, owner->context, owner->tid && !is_somebodys(window, owner->context),
		  keys);
}

void window_sample_record(const struct window *window, const struct window_sample *sample,
			  struct record_key keys[static KEYS_MAX], struct sample_record *ret_record)
{
	*ret_record = (struct sample_record){
		OF_OWNER(window, &sample->owner, keys),
		.samples = sample->count,
		.waits = sample->waited.waits,
		.blocked_ns = sample->waited.blocked_ns,
		.run_queue_ns = sample->waited.run_queue_ns,
	};
	fill_keys_of_owner(window, &sample->owner, keys);
}

void window_syscall_record(const struct window *window, const struct window_syscall *syscall,
			   struct record_key keys[static KEYS_MAX],
			   struct syscall_record *ret_record)
{
	*ret_record = (struct syscall_record){
		OF_OWNER(window, &syscall->owner, keys),
		.calls = syscall->calls,
		.inside_ns = syscall->inside_ns,
	};
	fill_keys_of_owner(window, &syscall->owner, keys);
}

void window_io_record(const struct window *window, const struct window_io *io,
		      struct record_key keys[static KEYS_MAX], struct io_record *ret_record)
{
	const struct io_sums *sums = &io->sums;
	bool is_dns = io->object.on == IO_ON_DNS;

	*ret_record = (struct io_record){
		OF_OWNER(window, &io->owner, keys),   .calls = sums->calls,
		.in_bytes = sums->in_bytes,	      .out_bytes = sums->out_bytes,
		.connects = is_dns ? 0 : sums->waits, .connect_ns = is_dns ? 0 : sums->wait_ns,
		.answers = is_dns ? sums->waits : 0,  .answer_ns = is_dns ? sums->wait_ns : 0,
	};
	fill_keys_of_owner(window, &io->owner, keys);
}

static void fill_running(const struct window *window, const struct window_process *process,
			 const struct stint *stint, struct slice_record *record)
{
	const struct account_totals totals = { .user_ns = stint->user_ns,
					       .kernel_ns = stint->kernel_ns,
					       .syscalls = stint->syscalls };
	struct split_way way = way_of(window, process);
	struct split split;

	split_account(&way, &totals, &split);
	record->has_cpu = true;
	record->cpu_number = stint->cpu;
	record->cpu_ns = stint_running_ns(stint);
	record->has_kernel_split = window->has_kernel_split;
	record->user_ns = split.user_ns;
	record->kernel_ns = split.kernel_ns;
}

void window_slice_record(const struct window *window, const struct window_process *process,
			 const struct context *context, const struct window_row *thread,
			 const struct slice *slice, struct record_key keys[static KEYS_MAX],
			 struct slice_record *ret_record)
{
	const struct stint *stint = slice->stint;
	bool is_overflow = stint->flags & STINT_IS_OVERFLOW;

	*ret_record = (struct slice_record){
		.common = { .pid = process->pid, .ns_pid = process->ns_pid },
		.tid = stint->tid,
		.ns_tid = stint->ns_tid,
		.thread_name = thread ? thread->account.comm : NULL,
		.keys = keys,
		.keys_count = window->keys->count,
		.fiber = !is_overflow && is_somebodys(window, context) ? stint->fiber : 0,
		.state = sched_state_name(slice->state),
		.blocked_on = sched_state_is_asleep(slice->state) ? blocked_name(stint->blocked_on)
								  : NULL,
		.start_ns = window_wall_ns(window, slice->start_ns),
		.end_ns = window_wall_ns(window, slice->end_ns),
		.woken_by_pid = (uint32_t)(slice->woken_by >> 32),
		.woken_by_tid = (uint32_t)slice->woken_by,
		.flags = is_overflow ? CPU_RECORD_OVERFLOW
				     : context_flags(process, context, stint->context_hash,
						     account_flags_of(stint)),
	};
	fill_keys(window, is_overflow ? NULL : context,
		  !is_overflow && !is_somebodys(window, context), keys);
	if (slice->state == SCHED_RUNNING)
		fill_running(window, process, stint, ret_record);
}

void window_overflow_record(const struct window *window, const struct window_books *books,
			    struct record_key keys[static KEYS_MAX], struct cpu_record *ret_record)
{
	*ret_record = (struct cpu_record){
		.common = { .pid = books->process->pid, .ns_pid = books->process->ns_pid },
		.thread_name = "",
		.keys = keys,
		.keys_count = window->keys->count,
		.first_ns = window_wall_ns(window, window->start_ktime_ns),
		.last_ns = window_wall_ns(window, window->end_ktime_ns),
		.flags = CPU_RECORD_OVERFLOW,
	};
	fill_keys(window, NULL, false, keys);
	fill_totals(window, books->process, &books->overflow, ret_record);
}

static const char *known_text(const char *text)
{
	return text[0] ? text : NULL;
}

/*
 * The kind of an interrupt: a program is not told which one it is in, but what the thread waited
 * for leaves no choice. A sleep ends by its timer, as a futex in an interrupt; a timer is a
 * hardware interrupt (hrtimer_interrupt()), a packet a software one (net_rx_action()).
 */
static const char *interrupt_name(const struct stall *stall)
{
	switch (stall->blocked_on) {
	case BLOCKED_ON_SLEEP:
	case BLOCKED_ON_FUTEX:
		return "timer";
	case BLOCKED_ON_DISK:
	case BLOCKED_ON_FAULT:
		return "disk";
	case BLOCKED_ON_POLL:
		if (stall->flags & STALL_BY_HARDIRQ)
			return "timer";
		return stall->flags & STALL_BY_SOFTIRQ ? "network" : "interrupt";
	case BLOCKED_ON_NETWORK:
		return stall->flags & STALL_BY_SOFTIRQ ? "network" : "interrupt";
	default:
		return "interrupt";
	}
}

static void fill_waker(const struct stall *stall, struct stall_record *record)
{
	if (!(stall->flags & STALL_WAS_WOKEN) || !stall->blocked_ns)
		return;
	if (stall->flags & STALL_BY_INTERRUPT) {
		record->woken_by = interrupt_name(stall);
		return;
	}
	record->woken_by = "thread";
	/* In another pid namespace only its name is known. */
	record->woken_by_pid = stall->waker_tgid;
	record->woken_by_tid = stall->waker_tid;
	record->woken_by_thread_name = known_text(stall->waker_comm);
}

void window_stall_record(const struct window *window, const struct window_process *process,
			 const struct context *context, const struct stall *stall,
			 struct record_key keys[static KEYS_MAX], struct stall_record *ret_record)
{
	uint32_t account_flags = (stall->flags & STALL_IS_INHERITED ? ACCOUNT_INHERITED : 0) |
				 (stall->flags & STALL_IS_OF_ORIGIN ? ACCOUNT_OF_ORIGIN : 0);

	*ret_record = (struct stall_record){
		.common = { .pid = process->pid, .ns_pid = process->ns_pid },
		.tid = stall->tid,
		.ns_tid = stall->ns_tid,
		.thread_name = known_text(stall->comm),
		.keys = keys,
		.keys_count = window->keys->count,
		.start_ns = window_wall_ns(window, stall->start_ns),
		.end_ns = window_wall_ns(window, stall->end_ns),
		.blocked_ns = stall->blocked_ns,
		.run_queue_ns = stall->run_queue_ns,
		.gvl_ns = stall->gvl_ns,
		.is_hog = stall->flags & STALL_IS_HOG,
		.cpu_ns = stall->cpu_ns,
		.blocked_on = stall->blocked_ns && !(stall->flags & STALL_IS_HOG)
				      ? blocked_name(stall->blocked_on)
				      : NULL,
		.flags = context_flags(process, context, stall->context_hash, account_flags),
	};
	fill_keys(window, context, !is_somebodys(window, context), keys);
	fill_waker(stall, ret_record);
	if (stall->run_queue_ns > stall->blocked_ns && !(stall->flags & STALL_IS_HOG)) {
		ret_record->ran_instead_pid = stall->other_tgid;
		ret_record->ran_instead_tid = stall->other_tid;
		if (stall->other_tid)
			ret_record->ran_instead_thread_name = known_text(stall->other_comm);
	}
}

void window_next(struct window *window)
{
	stolen_debts_end_window(window->debts, length_ns(window));
	window->row_count = window->books_count = 0;
	window->start_ktime_ns = window->end_ktime_ns;
}
