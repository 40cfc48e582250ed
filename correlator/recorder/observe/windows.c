/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/windows.h"

#include <errno.h>
#include <inttypes.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/observe/watching.h"
#include "recorder/observe/window/resolve.h"

/*
 * CLOCK_REALTIME - CLOCK_MONOTONIC. It changes when CLOCK_REALTIME is set. A smaller difference is
 * the time between our two readings, of which the shortest is best; following it would make slices
 * overlap.
 */
static uint64_t wall_offset_ns(uint64_t before_ns)
{
	const uint64_t set_ns = WINDOW_CLOCK_SET_NS;
	const int readings = 3;
	uint64_t offset_ns = 0, difference_ns;

	for (int i = 0; i < readings; i++) {
		uint64_t read_ns = clock_wall_ns() - clock_monotonic_ns();

		if (i == 0 || (int64_t)(read_ns - offset_ns) > 0)
			offset_ns = read_ns;
	}
	difference_ns = offset_ns > before_ns ? offset_ns - before_ns : before_ns - offset_ns;
	return difference_ns < set_ns ? before_ns : offset_ns;
}

/* CLOCK_BOOTTIME - CLOCK_MONOTONIC, likewise; it changes by a suspend. */
static uint64_t slept_ns(uint64_t before_ns)
{
	uint64_t read_ns = clock_boot_ns() - clock_monotonic_ns();

	return (int64_t)(read_ns - before_ns) < (int64_t)WINDOW_CLOCK_SET_NS ? before_ns : read_ns;
}

void windows_begin(struct recorder *recorder)
{
	struct window *window = &recorder->window;

	window->start_ktime_ns = clock_monotonic_ns();
	window->wall_offset_ns = window->first_wall_offset_ns = wall_offset_ns(0);
	window->slept_ns = window->first_slept_ns = clock_boot_ns() - clock_monotonic_ns();
}

/* The kernel's accounts -> rows. */
static int drain(struct recorder *recorder)
{
	struct window *window = &recorder->window;

	window->number++;
	window->wall_offset_ns = wall_offset_ns(window->wall_offset_ns);
	window->slept_ns = slept_ns(window->slept_ns);
	recorder->output.identity.clock_set_ns = window_clock_set_ns(window);
	ways_measure(recorder->session, window->start_ktime_ns, window->ways);
	return session_flush(recorder->session, recorder->is_last_window, window_add_account,
			     window, &window->end_ktime_ns, &window->epoch);
}

/* The kernel's figures of each process + what was charged to it -> books. */
static int close_books(struct recorder *recorder)
{
	struct observed *process = recorder->targets.processes.processes;
	struct window *window = &recorder->window;
	struct process_books now;
	int r = 0;

	for (; process && r == 0; process = process->hh.next)
		if (session_get_books(recorder->session, process->life, &now) == 0) {
			process->has_threads = now.live_threads > 0;
			r = window_close_process(window, &process->books, &now);
		}
	for (size_t i = 0; i < window->books_count; i++) {
		recorder->attributed_ns += window->books[i].balance.attributed_ns;
		recorder->exec_ns += window->books[i].balance.exec_ns;
	}
	return r;
}

/* If a wanted key is missing, inspects the existing keys, once per window. */
static void see_keys(struct recorder *recorder)
{
	struct observed *process;
	struct seen_keys seen;

	if (!missing_keys_lacks_some(&recorder->missing, &recorder->options->targets.keys) ||
	    !session_take_seen_keys(recorder->session, &seen))
		return;
	process = observed_find(&recorder->targets.processes, seen.life);
	if (process)
		missing_keys_see(&recorder->missing, &seen, observed_find_symbol, process);
}

/* Rows -> records. */
static int put_rows(struct recorder *recorder)
{
	const struct window *window = &recorder->window;
	uint64_t wall_ns = window_wall_ns(window, window->end_ktime_ns);
	struct record_key keys[KEYS_MAX];
	struct cpu_record record;
	int r = 0;

	for (size_t i = 0; i < window->row_count && r == 0; i++) {
		window_row_record(window, &window->rows[i], keys, &record);
		missing_keys_note(&recorder->missing, &recorder->options->targets.keys,
				  window->rows[i].context);
		r = output_add(&recorder->output, wall_ns, &record);
	}
	recorder->cpu_records += window->row_count;
	see_keys(recorder);
	return r;
}

/* The cost of the recording -> a record, and the books. */
static int put_cost(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct window *window = &recorder->window;
	struct self_program programs[SESSION_PROGRAMS_MAX];
	struct sender_status status;
	struct self_record record = {
		.contexts = { .used = context_table_count(recorder->contexts),
			      .limit = options->contexts_max ? options->contexts_max
							     : CONTEXTS_MAX },
		.accounts = { .used = window->row_count,
			      .limit = options->accounts_max ? options->accounts_max
							     : ACCOUNTS_MAX },
		.processes = { .used = HASH_COUNT(recorder->targets.processes.processes),
			       .limit = PROCESSES_MAX },
	};

	output_fill_writing(&recorder->output, &record);
	output_fill_delivery(&recorder->output, &status, &record.delivery);
	own_cost_measure(&recorder->cost, clock_monotonic_ns(),
			 window->end_ktime_ns - window->start_ktime_ns,
			 output_asked_cpu_ns(&recorder->output), programs, &record);
	window_share(window, record.own_cpu_ns);
	return output_add(&recorder->output, window_wall_ns(window, window->end_ktime_ns), &record);
}

/* Books -> records. */
static int put_books(struct recorder *recorder)
{
	const struct window *window = &recorder->window;
	uint64_t wall_ns = window_wall_ns(window, window->end_ktime_ns);
	struct record_key keys[KEYS_MAX];
	struct cpu_record overflow;
	int r = 0;

	for (size_t i = 0; i < window->books_count && r == 0; i++) {
		struct window_books *books = &window->books[i];

		if (window_has_overflow(books)) {
			window_overflow_record(window, books, keys, &overflow);
			r = output_add(&recorder->output, wall_ns, &overflow);
			recorder->cpu_records++;
		}
		if (r == 0)
			r = output_add(&recorder->output, wall_ns, &books->balance);
	}
	return r;
}

/* Ends the processes whose last window this was. */
static int end_processes(struct recorder *recorder)
{
	struct observed_table *table = &recorder->targets.processes;
	struct observed *process, *next;
	int r = 0;

	HASH_ITER(hh, table->processes, process, next) {
		if (r < 0 || !(process_on_window(&process->state) & PROCESS_REMOVE))
			continue;
		r = watching_tell_process(recorder, process, PROCESS_EVENT_EXIT,
					  process->state.exit_ktime_ns);
		session_remove_process(recorder->session, process->life, process->pid);
		observed_remove(table, process);
	}
	return r;
}

/* Process contexts may be republished at any time: checks each once per window. */
static int follow_otel(struct recorder *recorder)
{
	observed_check_otel(&recorder->targets.processes, recorder->window.end_ktime_ns);
	return watching_follow(recorder);
}

static void remove_snapshot(void *user, uint64_t hash)
{
	struct recorder *recorder = user;
	const struct context *context = context_table_look(recorder->contexts, hash);
	struct context_snapshot snapshot;

	if (session_take_context(recorder->session, hash, &snapshot) < 0)
		return;
	/* A late value has just arrived: its account is in the open window, whose drain needs it.
	 */
	if (context && snapshot.late_hash && snapshot.late_hash != context->late_hash)
		session_return_context(recorder->session, hash, &snapshot);
}

static int resolve(struct recorder *recorder)
{
	return resolve_rows(&recorder->window, &recorder->targets.processes, recorder->contexts,
			    recorder->session);
}

static int settle_stacks(struct recorder *recorder)
{
	return window_stacks_settle(recorder->stacks, &recorder->window);
}

static int settle_syscalls(struct recorder *recorder)
{
	return window_syscalls_settle(recorder->syscalls, &recorder->window);
}

static int settle_io(struct recorder *recorder)
{
	return window_io_settle(recorder->io, &recorder->window);
}

static int join(struct recorder *recorder)
{
	return window_join(&recorder->window);
}

static int charge(struct recorder *recorder)
{
	ways_note(&recorder->targets.processes, recorder->session);
	window_charge(&recorder->window);
	return 0;
}

static int settle_timeline(struct recorder *recorder)
{
	window_slices_settle(recorder->timeline, recorder->session, &recorder->window,
			     &recorder->targets.processes);
	return 0;
}

static int settle_stalls(struct recorder *recorder)
{
	window_stalls_settle(recorder->stalls);
	return 0;
}

static int put_timeline(struct recorder *recorder)
{
	return window_slices_put(recorder->timeline, &recorder->window,
				 &recorder->targets.processes, recorder->contexts,
				 &recorder->output);
}

static int put_stacks(struct recorder *recorder)
{
	return window_stacks_put(recorder->stacks);
}

static int put_syscalls(struct recorder *recorder)
{
	return window_syscalls_put(recorder->syscalls);
}

static int put_io(struct recorder *recorder)
{
	return window_io_put(recorder->io);
}

static int put_stalls(struct recorder *recorder)
{
	return window_stalls_put(recorder->stalls);
}

static int look_at_alerts(struct recorder *recorder)
{
	const struct window *window = &recorder->window;
	struct alert_window alert_window = {
		.start_ns = window_steady_ns(window, window->start_ktime_ns),
		.end_ns = window_steady_ns(window, window->end_ktime_ns),
		.clock_set_ns = window_clock_set_ns(window),
	};

	return alerting_end_window(&recorder->alerting, &recorder->output, &alert_window,
				   recorder->is_last_window);
}

/*
 * The steps that end a window, in order. The comment behind a step says why it cannot come earlier.
 * The arithmetic is that of the window (window.h), the rest is done here.
 */
static int (*const steps[])(struct recorder *recorder) = {
	drain, /* from here on each thread charges to the next window */
	resolve, /* rows: their processes and contexts */
	settle_stacks, /* samples and calls belong to rows that are resolved but not joined: */
	settle_syscalls, /* their accounts have the kernel side's key */
	settle_io,	 join, /* merge contexts of equal text */
	charge, /* rows -> what their processes used */
	settle_timeline, /* losses of the timeline and of stalls go into the books */
	settle_stalls,	 close_books,	 put_rows,   put_cost, /* it shares our own CPU among the
								  books */
	put_books,	 put_timeline,	 put_stacks, put_syscalls, put_io,
	put_stalls, /* after the stacks, of which they are */
	end_processes, /* after the last records of each process */
	follow_otel,	 look_at_alerts, /* needs all records of the window */
};

static int write_up(struct recorder *recorder)
{
	int r = 0;

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && r == 0; i++)
		r = steps[i](recorder);
	return r;
}

/* Drops the records of a window from mark on; its time goes to the residual of the next window. */
static void forget(struct recorder *recorder, size_t mark)
{
	/* Part of the timeline may already be written. */
	size_t last = output_mark(&recorder->output);

	log_warning("no memory: the records of a window are lost");
	output_forget(&recorder->output, last < mark ? last : mark);
	window_stacks_forget(recorder->stacks);
	window_syscalls_forget(recorder->syscalls);
	window_io_forget(recorder->io);
}

int windows_end(struct recorder *recorder, bool is_last)
{
	struct window *window = &recorder->window;
	size_t mark = output_mark(&recorder->output);
	int r;

	recorder->is_last_window = is_last;
	window->has_kernel_split = session_has_kernel_split(recorder->session);
	r = write_up(recorder);
	if (r == -ENOMEM) {
		forget(recorder, mark);
		r = 0;
	}
	if (r == 0)
		r = output_write(&recorder->output, window_wall_ns(window, window->end_ktime_ns));
	if (r < 0)
		return r;
	if (output_begins_anew(&recorder->output))
		window_stacks_forget(recorder->stacks);
	output_publish(&recorder->output);
	context_table_end_window(recorder->contexts, window->number, remove_snapshot, recorder);
	window_next(window);
	return is_last ? 0 : watching_keep(recorder);
}
