/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <correlator/events.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "record/record.h"
#include "recorder/observe/alerting.h"
#include "recorder/observe/budget.h"
#include "recorder/observe/contexts.h"
#include "recorder/observe/missing_keys.h"
#include "recorder/observe/modes.h"
#include "recorder/observe/observed.h"
#include "recorder/observe/output.h"
#include "recorder/observe/own_cost.h"
#include "recorder/observe/resolve.h"
#include "recorder/observe/stacks.h"
#include "recorder/observe/syscalls.h"
#include "recorder/observe/targets.h"
#include "recorder/observe/timeline.h"
#include "recorder/observe/ways.h"
#include "recorder/observe/window.h"
#include "recorder/probe/features.h"
#include "recorder/probe/session.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/namespaces.h"

/* Why a recording is not exact that was not asked to be lean. */
#define REASON_OTEL    "OpenTelemetry's contexts change without a probe"
#define REASON_UPROBES "uprobes need CAP_SYS_ADMIN on this kernel"

/* At the end, for the reader of a pipe. */
#define PATIENCE_NS (5 * NS_PER_S)
/* Two signals that end a command, within that time, end its recording. */
#define AGAIN_NS NS_PER_S

/* Of a timeline: so many rings full of slices find room in memory, of a window. */
enum {
	WINDOW_RINGS = 4
};

#define NOTHING_PUBLISHED                                                                \
	"no context was published: is the gem `correlator` (or `ruby-profiler`) in the " \
	"application?"

struct recorder {
	const struct recorder_options *options;
	struct session *session; /* the kernel side */
	struct targets targets; /* whom it observes */
	struct context_table *contexts; /* what their accounts are named by */
	struct window window; /* the open one */
	struct timeline *timeline; /* NULL = none is wanted */
	struct stacks *stacks; /* NULL = none are wanted */
	struct syscalls *syscalls; /* the same */
	struct own_cost cost;
	struct budget budget;
	uint64_t budget_turns; /* how often it made a process lean */
	struct output output;
	struct alerting alerting;
	int signal_fd;
	bool is_stopped; /* by a signal */
	bool is_interrupted; /* by SIGINT */
	int told_signal; /* to end, that was passed on to the command last; 0 = none yet */
	uint64_t told_ns; /* when; CLOCK_MONOTONIC */
	bool may_probe; /* uprobes are allowed */
	bool has_otel; /* contexts that change without a probe are read, beside others: it was said
			*/
	bool is_split_given_up; /* for the budget */
	struct ways ways;
	enum watch_mode mode; /* of the last meta record */
	bool has_told_split; /* and that */
	char reason[MODE_REASON_BYTES + 2 * COMM_BYTES]; /* of the last change of a mode */
	uint64_t attributed_ns; /* totals, for the last line */
	uint64_t exec_ns;
	uint64_t cpu_records;
	struct missing_keys missing;
};

/* The mode: how closely each is watched, and all of them together. */

static enum watch_mode mode_of(const struct recorder *recorder, const struct observed *process)
{
	return session_is_lean(recorder->session) ? WATCH_MODE_LEAN : observed_mode(process);
}

/* Remembers what a record tells of a process; says once that its error has no bound. */
static void note_told(struct observed *process, const struct process_record *record)
{
	process->told_mode = record->mode;
	process->told_lacks_bound = !record->has_bound;
	if (record->has_bound || record->mode != WATCH_MODE_LEAN || process->is_unbound_said)
		return;
	process->is_unbound_said = true;
	log_warning("process %d (%s) is lean, and its changes of context are not counted: "
		    "ambiguous_ns is no bound of the error",
		    process->pid, process->comm);
}

static int write_process(struct recorder *recorder, struct observed *process,
			 enum process_event event, uint64_t ktime_ns)
{
	uint64_t wall_ns = window_wall_ns(&recorder->window, ktime_ns);
	struct process_record record;

	observed_describe(process, event, &record);
	if (event != PROCESS_EVENT_EXIT) {
		record.mode = mode_of(recorder, process);
		note_told(process, &record);
	}
	if (process->mode_reason[0] &&
	    (event == PROCESS_EVENT_MODE || (event == PROCESS_EVENT_FOUND && process->lean_causes)))
		record.reason = process->mode_reason;
	if (event == PROCESS_EVENT_EXIT)
		record.end_ns = wall_ns;
	return output_add(&recorder->output, wall_ns, &record);
}

static enum watch_mode mode_of_all(const struct recorder *recorder)
{
	const struct session *session = recorder->session;

	return modes_of_all(&recorder->targets.processes, session_is_lean(session),
			    recorder->options->has_kernel_split &&
				    !session_has_kernel_split(session),
			    recorder->mode);
}

/* 0 or -errno (logged). */
static int write_meta(struct recorder *recorder, const char *reason)
{
	const struct recorder_options *options = recorder->options;
	const struct window *window = &recorder->window;
	struct utsname system;
	struct meta_record record = {
		.tool_version = CORRELATOR_VERSION,
		.boot_id = recorder->output.identity.boot_id,
		.mode = recorder->mode = mode_of_all(recorder),
		.kernel_split = session_has_kernel_split(recorder->session),
		.blocked_reasons = true,
		.children = options->follow_forks && options->has_children,
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.reason = reason,
		.interval_ns = options->interval_ns,
		.transition_ns = (uint64_t)(window->ways[SESSION_WAY_SHORT].hot_ns + 0.5),
		/* A clock that stands before its own start is not set. */
		.clock_offset_ns = window->wall_offset_ns <= INT64_MAX ? window->wall_offset_ns : 0,
		.key_names = options->keys.record_names,
		.key_names_count = options->keys.count,
	};

	(void)uname(&system);
	record.kernel_release = system.release;
	record.machine = system.machine;
	recorder->has_told_split = record.kernel_split;
	return output_add(&recorder->output, window_wall_ns(window, window->start_ktime_ns),
			  &record);
}

/* Once a process changes its mode: says so. Its record says it, too. */
static void say_mode(struct recorder *recorder, struct observed *process)
{
	process->is_mode_new = false;
	(void)snprintf(recorder->reason, sizeof(recorder->reason), "process %d (%s): %s",
		       process->pid, process->comm, process->mode_reason);
	if (process->lean_causes)
		log_warning("%s: lean from now on%s", recorder->reason,
			    process->lacks_bound ? "" : ", ambiguous_ns bounds the error");
	else
		log_info("%s: %s from now on", recorder->reason,
			 watch_mode_name(observed_mode(process)));
}

/* And that some have contexts of OpenTelemetry, once. */
static void note_otel(struct recorder *recorder)
{
	const struct observed *process = recorder->targets.processes.processes;

	if (recorder->has_otel || session_is_lean(recorder->session))
		return;
	while (process && !observed_has_otel(process))
		process = process->hh.next;
	if (!process)
		return;
	recorder->has_otel = true;
	(void)snprintf(recorder->reason, sizeof(recorder->reason), "process %d (%s): %s",
		       process->pid, process->comm, REASON_OTEL);
	log_info("process %d: %s: its keys are recorded as with --lean, Ruby's exactly; "
		 "ambiguous_ns is no bound of their error",
		 process->pid, REASON_OTEL);
}

/*
 * Writes down what changed about how closely is watched: of a process, and then, if that is another
 * by now, of all together. 0 or -errno (logged).
 */
static int follow_modes(struct recorder *recorder)
{
	struct observed *process = recorder->targets.processes.processes;
	int r = 0;

	/* At the start the first records say it. */
	if (!recorder->output.is_open)
		return 0;
	note_otel(recorder);
	for (; process && r == 0; process = process->hh.next) {
		if (!process->is_mode_new || !process->is_announced)
			continue;
		say_mode(recorder, process);
		r = write_process(recorder, process, PROCESS_EVENT_MODE, clock_monotonic_ns());
	}
	ways_follow(&recorder->ways, recorder->session, &recorder->targets.processes);
	if (r == 0 && (mode_of_all(recorder) != recorder->mode ||
		       session_has_kernel_split(recorder->session) != recorder->has_told_split))
		r = write_meta(recorder, recorder->reason);
	return r;
}

/* First one process after the other, then the split of all. 0 or -errno (logged). */
static int step_down(struct recorder *recorder, const char *reason)
{
	struct observed *process = session_is_lean(recorder->session)
					   ? NULL
					   : modes_find_dearest(&recorder->targets.processes);
	int r = 0;

	if (process) {
		process->budget_turn = ++recorder->budget_turns;
		observed_step_down(process, recorder->session, reason);
	} else if (session_has_kernel_split(recorder->session)) {
		recorder->is_split_given_up = true;
		ways_give_up(&recorder->ways);
		(void)snprintf(recorder->reason, sizeof(recorder->reason), "%s", reason);
		log_warning("%s: no user/kernel split from now on", reason);
		r = session_set_kernel_split(recorder->session, false);
	}
	return r;
}

/* The other way round: what was given up last comes first. True: there was something. */
static bool step_up(struct recorder *recorder, const char *reason)
{
	struct observed *last = modes_find_last(&recorder->targets.processes);

	if (recorder->is_split_given_up) {
		(void)snprintf(recorder->reason, sizeof(recorder->reason), "%s", reason);
		recorder->is_split_given_up = session_set_kernel_split(recorder->session, true) < 0;
		if (!recorder->is_split_given_up)
			log_info("%s: user/kernel split from the next window on", reason);
		return true;
	}
	if (last)
		observed_step_up(last, recorder->session, reason);
	return last != NULL;
}

/* Brings the modes to what they may cost, and to what is seen. 0 or -errno (logged). */
static int keep_modes(struct recorder *recorder)
{
	struct observed *process = recorder->targets.processes.processes;
	struct budget *budget = &recorder->budget;
	enum budget_step step = budget_on_window(budget, recorder->cost.percent);
	char reason[MODE_REASON_BYTES];
	int r = 0;

	(void)snprintf(reason, sizeof(reason),
		       "own cost of %.2f %% of a CPU is %s the budget of %.2f %%",
		       recorder->cost.percent, step == BUDGET_STEP_DOWN ? "over" : "below half of",
		       budget->percent);
	if (step == BUDGET_STEP_DOWN)
		r = step_down(recorder, reason);
	else if (step == BUDGET_STEP_UP && step_up(recorder, reason))
		budget_stepped_up(budget);
	for (; process; process = process->hh.next) {
		window_age_process(&process->books);
		observed_check_probes(process, recorder->session);
	}
	return r == 0 ? follow_modes(recorder) : r;
}

/* What happens to processes. */

static void on_fork(struct recorder *recorder, const struct event *event)
{
	struct observed_table *processes = &recorder->targets.processes;
	struct observed *parent = observed_find(processes, event->parent_life);
	struct observed *child = observed_find(processes, event->life);

	/* Its account may have come before it. */
	if (child && !child->is_announced)
		observed_set_parent(processes, child, event->parent_life);
	else if (!child)
		child = observed_add(processes, event->life, (pid_t)event->tgid, event->parent_life,
				     event->comm);
	if (!child || child->is_announced)
		return;
	child->is_announced = child->is_fork = true;
	child->parent_pid = (pid_t)event->parent_tgid;
	child->start_ticks = event->start_ticks;
	child->books.ns_pid = event->ns_tgid;
	child->books.mixes_threads = parent && parent->books.mixes_threads;
	child->server = parent ? parent->server : NULL;
	if (parent)
		process_stacks_inherit(&child->stacks, &parent->stacks);
	child->start_wall_ns = window_wall_ns(&recorder->window, event->ktime_ns);
	process_on_forked(&child->state, parent ? &parent->state : NULL,
			  parent && parent->target && parent->keys->otel_count,
			  clock_monotonic_ns());
	if (parent)
		observed_inherit_mode(child, parent, recorder->session);
	(void)write_process(recorder, child, PROCESS_EVENT_FORK, event->ktime_ns);
}

static void on_exec(struct recorder *recorder, struct observed *process, const struct event *event)
{
	(void)snprintf(process->comm, sizeof(process->comm), "%.*s", COMM_BYTES - 1, event->comm);
	/* A look may have been first to see it. */
	if (event->image > process->image)
		observed_execute(process, event->image, clock_monotonic_ns());
	(void)write_process(recorder, process, PROCESS_EVENT_EXEC, event->ktime_ns);
}

/* One whose fork was not told. NULL: it was removed by now; no memory. */
static struct observed *add_untold(struct recorder *recorder, const struct event *event)
{
	struct process_books books;
	struct observed *process;

	if (session_get_books(recorder->session, event->life, &books) < 0)
		return NULL;
	process = observed_add(&recorder->targets.processes, event->life, (pid_t)event->tgid, 0,
			       event->comm);
	if (!process)
		return NULL;
	process->start_ticks = event->start_ticks;
	process->books.ns_pid = event->ns_tgid;
	return process;
}

static void on_event(void *user, const struct event *event)
{
	struct recorder *recorder = user;
	struct observed *process = observed_find(&recorder->targets.processes, event->life);

	if (event->kind == EVENT_KIND_FORK)
		on_fork(recorder, event);
	if (event->kind == EVENT_KIND_STRANGER)
		targets_expect(&recorder->targets, (pid_t)event->tgid);
	if (!process && (event->kind == EVENT_KIND_EXEC || event->kind == EVENT_KIND_EXIT))
		process = add_untold(recorder, event);
	if (!process)
		return;
	switch (event->kind) {
	case EVENT_KIND_EXEC:
		on_exec(recorder, process, event);
		break;
	case EVENT_KIND_LOAD:
		process_on_loading(&process->state, event->ktime_ns, clock_monotonic_ns());
		break;
	case EVENT_KIND_ASK:
		observed_ask(process, event->address, clock_monotonic_ns());
		break;
	case EVENT_KIND_OTEL_KEYS:
		process_on_news(&process->state, clock_monotonic_ns());
		break;
	case EVENT_KIND_EXIT:
		process_on_exited(&process->state, event->ktime_ns);
		break;
	default:
		break;
	}
}

/* The mode, or the bound, may be another one because a library was loaded, or unloaded. */
static void follow_bound(struct recorder *recorder, struct observed *process)
{
	if (process->told_mode && (process->told_lacks_bound != process->lacks_bound ||
				   process->told_mode != mode_of(recorder, process)))
		(void)write_process(recorder, process, PROCESS_EVENT_MODE, clock_monotonic_ns());
}

static void say_read(struct recorder *recorder, struct observed *process)
{
	const struct publisher *publisher =
		process->keys->ruby_count ? target_publisher(process->target) : NULL;

	if (!publisher)
		publisher = otel_target_publisher(&process->target->otel);
	log_info("process %d (%s) publishes contexts by %s: read from at most %.1f ms after it was "
		 "loaded on",
		 process->pid, process->comm, publisher->path,
		 (double)process->state.pickup_ns / 1e6);
	(void)write_process(recorder, process, PROCESS_EVENT_LOAD, clock_monotonic_ns());
	recorder->targets.has_published = true;
}

static void look_at(struct recorder *recorder, struct observed *process, uint64_t now_ns)
{
	bool is_first = process->is_fork && !process->is_configured;
	unsigned int decisions;

	(void)observed_look(&recorder->targets.processes, process, recorder->session, now_ns,
			    &decisions);
	(void)follow_modes(recorder);
	if (decisions & PROCESS_SAY_READ)
		say_read(recorder, process);
	/* A child that was forked with them, and has none, is about to run another program. */
	if (decisions & PROCESS_SAY_UNREAD && !is_first) {
		log_warning("process %d (%s) unloaded what publishes its contexts: none is read "
			    "from now on",
			    process->pid, process->comm);
		(void)write_process(recorder, process, PROCESS_EVENT_UNLOAD, clock_monotonic_ns());
	}
	follow_bound(recorder, process);
	if (decisions & PROCESS_SAY_COMPLETE)
		log_info("process %d (%s): context found, all keys known", process->pid,
			 process->comm);
}

static void look_at_due(struct recorder *recorder, uint64_t now_ns)
{
	struct observed *process = recorder->targets.processes.processes;

	for (; process; process = process->hh.next) {
		uint64_t may_look_ns;

		if (process_next_look(&process->state) > now_ns)
			continue;
		may_look_ns = observed_may_look_ns(process, now_ns);
		if (may_look_ns > now_ns)
			process_on_postponed(&process->state, may_look_ns);
		else
			look_at(recorder, process, now_ns);
	}
}

static int announce(struct recorder *recorder, struct observed *process, uint64_t ktime_ns)
{
	process->is_announced = true;
	process->is_found = false;
	if (process->is_mode_new)
		say_mode(recorder, process);
	return write_process(recorder, process, PROCESS_EVENT_FOUND, ktime_ns);
}

/* Looks for others, if that is due, and begins to observe them. 0 or -errno (logged). */
static int search(struct recorder *recorder, uint64_t now_ns)
{
	struct targets *targets = &recorder->targets;
	struct observed *process;
	int r = 0;

	if (!targets_search(targets, recorder->session, now_ns))
		return 0;
	r = session_register_threads(recorder->session);
	for (process = targets->processes.processes; process && r == 0;
	     process = process->hh.next) {
		if (!process->is_found)
			continue;
		log_info("found process %d (%s)", process->pid,
			 process->server ? process->server : process->comm);
		r = announce(recorder, process, clock_monotonic_ns());
	}
	if (r == 0)
		r = follow_modes(recorder);
	return r;
}

/*
 * The end of a window. end_window() below reads from top to bottom: what each step does is a
 * function over the window's data (window.h), of which this file carries out what is not pure.
 */

/*
 * CLOCK_REALTIME - CLOCK_MONOTONIC. It changes when the former is set; what else differs is the
 * time between our two readings, of which the shortest is best, and would have slices overlap.
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

/* CLOCK_BOOTTIME - CLOCK_MONOTONIC: the same, but for a suspend. */
static uint64_t slept_ns(uint64_t before_ns)
{
	uint64_t read_ns = clock_boot_ns() - clock_monotonic_ns();

	return (int64_t)(read_ns - before_ns) < (int64_t)WINDOW_CLOCK_SET_NS ? before_ns : read_ns;
}

/* The kernel's accounts -> rows. Each thread charges to the next window from here on. */
static int drain(struct recorder *recorder, bool is_last)
{
	struct window *window = &recorder->window;

	window->number++;
	window->wall_offset_ns = wall_offset_ns(window->wall_offset_ns);
	window->slept_ns = slept_ns(window->slept_ns);
	recorder->output.identity.clock_set_ns = window_clock_set_ns(window);
	ways_measure(recorder->session, window->start_ktime_ns, window->ways);
	return session_flush(recorder->session, is_last, window_add_account, window,
			     &window->end_ktime_ns, &window->epoch);
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

/* Where a wanted one is missing, those that there are are looked at once a window. */
static void see_keys(struct recorder *recorder)
{
	struct observed *process;
	struct seen_keys seen;

	if (!missing_keys_lacks_some(&recorder->missing, &recorder->options->keys) ||
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
		missing_keys_note(&recorder->missing, &recorder->options->keys,
				  window->rows[i].context);
		r = output_add(&recorder->output, wall_ns, &record);
	}
	recorder->cpu_records += window->row_count;
	see_keys(recorder);
	return r;
}

/* What all this cost -> a record, and the books. */
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

/* Those whose last window this was. */
static int end_processes(struct recorder *recorder)
{
	struct observed_table *table = &recorder->targets.processes;
	struct observed *process, *next;
	int r = 0;

	HASH_ITER(hh, table->processes, process, next) {
		if (r < 0 || !(process_on_window(&process->state) & PROCESS_REMOVE))
			continue;
		r = write_process(recorder, process, PROCESS_EVENT_EXIT,
				  process->state.exit_ktime_ns);
		session_remove_process(recorder->session, process->life, process->pid);
		observed_remove(table, process);
	}
	return r;
}

/* Process contexts are published anew at any time: a look at each, once a window. */
static int follow_otel(struct recorder *recorder)
{
	observed_check_otel(&recorder->targets.processes, recorder->window.end_ktime_ns);
	return follow_modes(recorder);
}

static void remove_snapshot(void *user, uint64_t hash)
{
	struct recorder *recorder = user;
	const struct context *context = context_table_look(recorder->contexts, hash);
	struct context_snapshot snapshot;

	if (session_take_context(recorder->session, hash, &snapshot) < 0)
		return;
	/* A late value has just come: its account is in the open window, whose drain looks for it.
	 */
	if (context && snapshot.late_hash && snapshot.late_hash != context->late_hash)
		session_return_context(recorder->session, hash, &snapshot);
}

/* Rows and books -> records. */
static int write_up(struct recorder *recorder)
{
	struct window *window = &recorder->window;
	int r = resolve_rows(window, &recorder->targets.processes, recorder->contexts,
			     recorder->session);

	if (r < 0)
		return r;
	r = stacks_settle(recorder->stacks, window);
	if (r == 0)
		r = syscalls_settle(recorder->syscalls, window);
	if (r < 0)
		return r;
	r = window_join(window);
	if (r < 0)
		return r;
	ways_note(&recorder->targets.processes, recorder->session);
	window_charge(window);
	timeline_settle(recorder->timeline, recorder->session, window,
			&recorder->targets.processes);
	r = close_books(recorder);
	if (r == 0)
		r = put_rows(recorder);
	if (r == 0)
		r = put_cost(recorder);
	if (r == 0)
		r = put_books(recorder);
	if (r == 0)
		r = timeline_put(recorder->timeline, window, &recorder->targets.processes,
				 recorder->contexts, &recorder->output);
	if (r == 0)
		r = stacks_put(recorder->stacks);
	if (r == 0)
		r = syscalls_put(recorder->syscalls);
	if (r == 0)
		r = end_processes(recorder);
	return r < 0 ? r : follow_otel(recorder);
}

static int look_at_alerts(struct recorder *recorder, bool is_last)
{
	const struct window *window = &recorder->window;
	struct alert_window alert_window = {
		.start_ns = window_steady_ns(window, window->start_ktime_ns),
		.end_ns = window_steady_ns(window, window->end_ktime_ns),
		.clock_set_ns = window_clock_set_ns(window),
	};

	return alerting_end_window(&recorder->alerting, &recorder->output, &alert_window, is_last);
}

/* Only what the kernel side cannot do any more is a failure: -errno (logged), and -EPIPE as
 * output_write. */
static int end_window(struct recorder *recorder, bool is_last)
{
	struct window *window = &recorder->window;
	size_t mark = output_mark(&recorder->output), last;
	int r;

	window->has_kernel_split = session_has_kernel_split(recorder->session);
	r = drain(recorder, is_last);
	if (r == 0)
		r = write_up(recorder);
	if (r == 0)
		r = look_at_alerts(recorder, is_last);
	if (r == -ENOMEM) {
		/* Its time is in the residual of the next one. */
		log_warning("no memory: the records of a window are lost");
		/* Of a timeline some may have been written. */
		last = output_mark(&recorder->output);
		output_forget(&recorder->output, last < mark ? last : mark);
		stacks_forget(recorder->stacks);
		syscalls_forget(recorder->syscalls);
		r = 0;
	}
	if (r == 0)
		r = output_write(&recorder->output, window_wall_ns(window, window->end_ktime_ns));
	if (r < 0)
		return r;
	if (output_begins_anew(&recorder->output))
		stacks_forget(recorder->stacks);
	output_publish(&recorder->output);
	context_table_end_window(recorder->contexts, window->number, remove_snapshot, recorder);
	window_next(window);
	return is_last ? 0 : keep_modes(recorder);
}

/* From the start to the end. */

static int attach(struct recorder *recorder)
{
	int r;

	if (session_attach(recorder->session) < 0)
		return EXIT_CODE_UNSUPPORTED;
	if (!recorder->options->has_kernel_split)
		return EXIT_CODE_OK;
	r = session_start_calibration(recorder->session, SESSION_WAY_SHORT);
	if (r < 0)
		return r == -EINTR ? EXIT_CODE_INTERRUPTED : EXIT_CODE_UNSUPPORTED;
	ways_measure(recorder->session, 0, recorder->window.ways);
	return EXIT_CODE_OK;
}

static int begin_stacks(struct recorder *recorder)
{
	const struct stacks_places places = {
		.session = recorder->session,
		.processes = &recorder->targets.processes,
		.window = &recorder->window,
		.output = &recorder->output,
		.hz = recorder->options->stacks_hz,
		.has_native = recorder->options->has_native,
	};

	if (!places.hz)
		return EXIT_CODE_OK;
	recorder->stacks = stacks_new(&places);
	if (!recorder->stacks)
		return EXIT_CODE_FAILURE;
	stacks_look(recorder->stacks, clock_monotonic_ns());
	return EXIT_CODE_OK;
}

static int begin_syscalls(struct recorder *recorder)
{
	const struct syscalls_places places = {
		.session = recorder->session,
		.processes = &recorder->targets.processes,
		.window = &recorder->window,
		.output = &recorder->output,
	};

	if (!recorder->options->counts_syscalls)
		return EXIT_CODE_OK;
	recorder->syscalls = syscalls_new(&places);
	return recorder->syscalls ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t first_window_ns(const struct recorder_options *options)
{
	return options->first_window_ns ? earliest(options->first_window_ns, options->interval_ns)
					: options->interval_ns;
}

static int begin_observing(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct window *window = &recorder->window;
	uint64_t first_ns = first_window_ns(options);

	if (options->duration_ns)
		first_ns = earliest(first_ns, options->duration_ns);

	if (session_register_threads(recorder->session) < 0)
		return EXIT_CODE_FAILURE;
	ways_follow(&recorder->ways, recorder->session, &recorder->targets.processes);
	window->start_ktime_ns = clock_monotonic_ns();
	window->wall_offset_ns = window->first_wall_offset_ns = wall_offset_ns(0);
	window->slept_ns = window->first_slept_ns = clock_boot_ns() - clock_monotonic_ns();
	own_cost_begin(&recorder->cost, recorder->session,
		       options->measures_programs || options->budget_percent > 0,
		       window->start_ktime_ns, window->start_ktime_ns + first_ns);
	return EXIT_CODE_OK;
}

/* Why the mode is not the one that was asked for; NULL: it is. */
static const char *reason_at_start(struct recorder *recorder)
{
	struct observed *process = recorder->targets.processes.processes;

	if (session_is_lean(recorder->session) && recorder->options->is_lean)
		return NULL;
	if (session_is_lean(recorder->session))
		return recorder->may_probe ? REASON_OTEL : REASON_UPROBES;
	note_otel(recorder);
	for (; process; process = process->hh.next)
		if (process->is_mode_new)
			say_mode(recorder, process);
	return recorder->reason[0] ? recorder->reason : NULL;
}

static int begin_output(struct recorder *recorder)
{
	const struct window *window = &recorder->window;
	struct observed *process = recorder->targets.processes.processes;
	int code = output_open(&recorder->output, window_wall_ns(window, window->start_ktime_ns));
	int r;

	if (code != EXIT_CODE_OK)
		return code;
	r = write_meta(recorder, reason_at_start(recorder));
	for (; process && r == 0; process = process->hh.next)
		r = announce(recorder, process, window->start_ktime_ns);
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* The first few by name. */
static void name_processes(const struct observed *process, unsigned int count, char *ret_text,
			   size_t text_bytes)
{
	const unsigned int named_max = 3;
	int used = snprintf(ret_text, text_bytes, count == 1 ? "process" : "%u processes:", count);

	for (unsigned int i = 0; process && i < named_max; i++, process = process->hh.next)
		used += snprintf(ret_text + used, text_bytes - (size_t)used, "%s %d (%s)",
				 i ? "," : "", process->pid,
				 process->server ? process->server : process->comm);
	if (process)
		(void)snprintf(ret_text + used, text_bytes - (size_t)used, " and %u more",
			       count - named_max);
}

/* One line that says that everything is in place: scripts may wait for it. */
static void say_ready(const struct recorder *recorder)
{
	const struct targets *targets = &recorder->targets;
	const struct observed *process = targets->processes.processes;
	unsigned int count = HASH_COUNT(targets->processes.processes), incomplete = 0;
	const char *output = recorder->output.name;
	char names[256];

	for (const struct observed *each = process; each; each = each->hh.next)
		incomplete += each->state.look_ns != 0;
	if (targets->child.pid) {
		log_info("starting %s, writing to %s", recorder->options->command[0], output);
	} else if (!process) {
		log_info("observing no process yet, writing to %s; Ctrl-C to stop", output);
	} else {
		name_processes(process, count, names, sizeof(names));
		log_info("observing %s, writing to %s; Ctrl-C to stop", names, output);
	}
	if (incomplete && !targets->child.pid)
		log_info("waiting for a key or a context in %u of them: normal before the first "
			 "request",
			 incomplete);
}

/* What can be refused before anything is attached. */
static int prepare(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	int code;

	recorder->contexts = context_table_new();
	if (!recorder->contexts || window_init(&recorder->window, &options->keys) < 0)
		return EXIT_CODE_FAILURE;
	if (options->has_timeline) {
		uint64_t ring_bytes =
			options->timeline_bytes ? options->timeline_bytes : SLICE_RING_BYTES;

		recorder->timeline = timeline_new(WINDOW_RINGS * ring_bytes);
		if (!recorder->timeline)
			return EXIT_CODE_FAILURE;
	}
	if (namespaces_check_own_proc() < 0)
		return EXIT_CODE_UNSUPPORTED;
	code = output_prepare(&recorder->output, options);
	if (code == EXIT_CODE_OK)
		code = targets_prepare(&recorder->targets, options);
	if (code != EXIT_CODE_OK)
		return code;
	recorder->signal_fd = options->command ? signals_catch_for_command() : signals_catch();
	return recorder->signal_fd < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* Where uprobes are not allowed it is lean, and says so. */
static bool must_be_lean(struct recorder *recorder, const struct kernel_offers *kernel)
{
	const struct recorder_options *options = recorder->options;

	recorder->may_probe = features_may_probe(kernel);
	if (options->is_lean || !options->keys.ruby_count)
		return true;
	if (!recorder->may_probe)
		log_warning(REASON_UPROBES " (before Linux 6.6): recording as with --lean; "
					   "ambiguous_ns bounds the error of contexts "
					   "that the gem publishes");
	return !recorder->may_probe;
}

int recorder_start(const struct recorder_options *options, struct recorder **ret_recorder)
{
	_cleanup_(recorder_freep) struct recorder *recorder = calloc(1, sizeof(*recorder));
	struct kernel_offers kernel;
	struct session_options session_options = {
		.kernel = &kernel,
		.watches_otel = options->keys.otel_count > 0,
		.late_keys = options->keys.late,
		.request_key = options->keys.request,
		.has_kernel_split = options->has_kernel_split,
		.follow_forks = options->follow_forks,
		.has_children = options->follow_forks && options->has_children,
		.strangers = !options->searches ? STRANGERS_NONE
			     : options->comm	? STRANGERS_BY_NAME
						: STRANGERS_ANY,
		.contexts_max = options->contexts_max,
		.accounts_max = options->accounts_max,
		.ring_bytes = options->ring_bytes,
		.has_timeline = options->has_timeline,
		.slice_ring_bytes = options->timeline_bytes,
		.stacks_hz = options->stacks_hz,
		.has_native = options->has_native,
		.has_wait_stacks = options->has_wait_stacks,
		.counts_syscalls = options->counts_syscalls,
	};
	int code;

	if (!recorder)
		return EXIT_CODE_FAILURE;
	recorder->options = options;
	alerting_init(&recorder->alerting, options->alerts, options->on_alert);
	budget_init(&recorder->budget, options->budget_percent);
	recorder->signal_fd = -1;
	features_ask_kernel(&kernel);
	session_options.is_lean = must_be_lean(recorder, &kernel);
	if (options->stacks_hz && !kernel.can_walk_stacks) {
		(void)log_error(ENOTSUP, "--stacks needs Linux 5.17 (bpf_loop)");
		return EXIT_CODE_UNSUPPORTED;
	}
	code = prepare(recorder);
	if (code != EXIT_CODE_OK)
		return code;
	if (session_open(&session_options, &recorder->session) < 0)
		return EXIT_CODE_UNSUPPORTED;
	agent_set_identifier(session_identify_file, session_identifier(recorder->session));
	code = attach(recorder);
	if (code == EXIT_CODE_OK)
		code = targets_observe(&recorder->targets, recorder->session);
	if (code == EXIT_CODE_OK)
		code = begin_stacks(recorder);
	if (code == EXIT_CODE_OK)
		code = begin_syscalls(recorder);
	if (code == EXIT_CODE_OK)
		code = begin_observing(recorder);
	if (code == EXIT_CODE_OK)
		code = begin_output(recorder);
	if (code == EXIT_CODE_OK)
		code = targets_release(&recorder->targets);
	if (code != EXIT_CODE_OK)
		return code;
	say_ready(recorder);
	*ret_recorder = TAKE_PTR(recorder);
	return EXIT_CODE_OK;
}

void recorder_free(struct recorder *recorder)
{
	if (!recorder)
		return;
	/* What is let go next is not to be kept by the agent. */
	agent_set_identifier(NULL, -1);
	session_free(recorder->session);
	window_deinit(&recorder->window);
	timeline_free(recorder->timeline);
	stacks_free(recorder->stacks);
	syscalls_free(recorder->syscalls);
	context_table_free(recorder->contexts);
	output_deinit(&recorder->output);
	alerting_deinit(&recorder->alerting);
	targets_deinit(&recorder->targets);
	if (recorder->signal_fd >= 0)
		(void)close(recorder->signal_fd);
	free(recorder);
}

/* Others are for a command. */
static bool is_end_of_recording(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/*
 * A command gets each signal that we get, and is recorded until it has ended: what it does last is
 * of interest, too. A terminal has told it already. False: there is none to tell, or it was told to
 * end twice within AGAIN_NS, which is meant for us.
 */
static bool tell_command(struct recorder *recorder, int number, bool is_typed)
{
	bool is_end = number == SIGINT || number == SIGTERM;
	uint64_t now_ns = clock_monotonic_ns(), since_ns = now_ns - recorder->told_ns;

	if (!child_command_runs(&recorder->targets.child))
		return false;
	if (is_end && recorder->told_signal && since_ns < AGAIN_NS)
		return number == recorder->told_signal && since_ns < SIGNALS_ECHO_NS;
	if (!is_typed)
		child_command_signal(&recorder->targets.child, number);
	if (!is_end)
		return true;
	if (!recorder->told_signal)
		log_info("recording until %s has ended; two signals within a second end it at once",
			 recorder->options->command[0]);
	recorder->told_signal = number;
	recorder->told_ns = now_ns;
	return true;
}

/* True: one came that ends the recording. */
static bool read_signal(struct recorder *recorder)
{
	bool is_typed;
	int number = signals_read(recorder->signal_fd, &is_typed);

	if (!number || tell_command(recorder, number, is_typed) || !is_end_of_recording(number))
		return false;
	recorder->is_stopped = true;
	recorder->is_interrupted |= number == SIGINT;
	return true;
}

/* Waits until then at most, and handles what came. True: it is time to end. */
static bool wait_for_work(struct recorder *recorder, uint64_t deadline_ns)
{
	struct child_command *child = &recorder->targets.child;
	struct pollfd fds[] = {
		{ .fd = recorder->signal_fd, .events = POLLIN },
		{ .fd = session_events_fd(recorder->session), .events = POLLIN },
		{ .fd = child_command_runs(child) ? child->pid_fd : -1, .events = POLLIN },
		{ .fd = output_fd(&recorder->output), .events = POLLOUT },
		{ .fd = alert_program_fd(&recorder->alerting.program), .events = POLLIN },
	};
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec timeout = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);

	(void)ppoll(fds, sizeof(fds) / sizeof(fds[0]), &timeout, NULL);
	child_command_check(child);
	alert_program_continue(&recorder->alerting.program, clock_monotonic_ns());
	(void)session_read_events(recorder->session, on_event, recorder);
	return (fds[0].revents & POLLIN) && read_signal(recorder);
}

/* All is written: what there is to say of it, and the exit code. */
static int finish_well(const struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	const struct targets *targets = &recorder->targets;
	const struct child_command *child = &targets->child;
	bool has_ended = child->pid && !child_command_runs(child);

	if (targets->must_publish && !targets->has_published) {
		(void)log_error(ENOENT, NOTHING_PUBLISHED);
		return EXIT_CODE_NO_TARGET;
	}
	if (targets_were_hidden(targets))
		return EXIT_CODE_UNSUPPORTED;
	if (child->pid && !targets->has_published && !targets->discovery)
		log_warning(NOTHING_PUBLISHED);
	if (recorder->is_interrupted && !recorder->cpu_records && !has_ended)
		return EXIT_CODE_INTERRUPTED;
	missing_keys_say(&recorder->missing, &options->keys);
	/* What collectors took was said before. */
	log_info("%s %" PRIu64 " records of %.3f s CPU%s%s, %.1f %% of it in a context%s",
		 options->output ? "wrote" : "made",
		 options->output ? recorder->output.written_records
				 : recorder->output.identity.record_number,
		 (double)recorder->exec_ns / 1e9, options->output ? " to " : "",
		 options->output ? output_file_name(options) : "",
		 recorder->exec_ns
			 ? 100.0 * (double)recorder->attributed_ns / (double)recorder->exec_ns
			 : 0.0,
		 targets->processes.processes || (targets->discovery && !targets->has_found)
			 ? ""
			 : "; the target has ended");
	if (child_command_runs(child))
		log_info("%s (process %d) goes on", recorder->options->command[0], child->pid);
	return has_ended ? child->code : EXIT_CODE_OK;
}

/* At the end: how long the reader of a pipe is waited for. For ever, as anywhere else, unless
 * somebody wants it to end: then no longer than a collector. */
struct patience {
	struct recorder *recorder;
	uint64_t start_ns;
	uint64_t end_ns;
};

static bool is_patience_over(void *user, int fd)
{
	struct patience *patience = user;
	struct pollfd fds[] = {
		{ .fd = patience->recorder->signal_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLOUT },
	};
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec timeout =
		clock_timespec(patience->end_ns > now_ns ? patience->end_ns - now_ns : 0);
	bool is_typed, is_echo;

	(void)ppoll(fds, sizeof(fds) / sizeof(fds[0]),
		    patience->end_ns == UINT64_MAX ? NULL : &timeout, NULL);
	now_ns = clock_monotonic_ns();
	is_echo = patience->recorder->is_stopped && now_ns - patience->start_ns < SIGNALS_ECHO_NS;
	if (is_end_of_recording(signals_read(patience->recorder->signal_fd, &is_typed)) &&
	    !is_echo) {
		if (patience->end_ns != UINT64_MAX)
			return true;
		patience->end_ns = now_ns + PATIENCE_NS;
	}
	return now_ns >= patience->end_ns;
}

static int finish(struct recorder *recorder, int r)
{
	uint64_t now_ns = clock_monotonic_ns();
	struct patience patience = {
		.recorder = recorder,
		.start_ns = now_ns,
		.end_ns = recorder->is_stopped ? now_ns + PATIENCE_NS : UINT64_MAX,
	};
	int closed;

	(void)session_read_events(recorder->session, on_event, recorder);
	if (r == 0)
		r = end_window(recorder, true);
	/* Whatever has failed, what was taken is handed over. */
	closed = output_close(&recorder->output, is_patience_over, &patience);
	/* The reader of our pipe has seen enough. */
	if (r == -EPIPE)
		return EXIT_CODE_OK;
	return r < 0 || closed < 0 ? EXIT_CODE_FAILURE : finish_well(recorder);
}

int recorder_run(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	struct targets *targets = &recorder->targets;
	uint64_t start_ns = recorder->window.start_ktime_ns;
	uint64_t flush_ns = start_ns + first_window_ns(options);
	uint64_t end_ns = options->duration_ns ? start_ns + options->duration_ns : UINT64_MAX;
	int r = 0;

	while (r == 0) {
		uint64_t look_ns = earliest(observed_next_look(&targets->processes),
					    targets_next_search(targets));
		uint64_t write_ns = earliest(output_due_ns(&recorder->output),
					     alert_program_due_ns(&recorder->alerting.program));
		uint64_t due_ns = earliest(earliest(look_ns, own_cost_due_ns(&recorder->cost)),
					   earliest(flush_ns, write_ns));
		uint64_t read_ns = timeline_due_ns(recorder->timeline);
		bool is_over = wait_for_work(recorder, earliest(end_ns, earliest(due_ns, read_ns)));
		uint64_t now_ns = clock_monotonic_ns();

		own_cost_sample(&recorder->cost, now_ns);
		timeline_read(recorder->timeline, recorder->session, now_ns);
		look_at_due(recorder, now_ns);
		stacks_look(recorder->stacks, now_ns);
		if (now_ns >= flush_ns) {
			targets_find_lost_exits(targets);
			observed_check_publishers(&targets->processes, now_ns);
		}
		if (is_over || now_ns >= end_ns || targets_are_over(targets))
			break;
		r = output_continue(&recorder->output);
		if (r == 0)
			r = search(recorder, now_ns);
		/* For a record: there may be some for the next one. */
		if (r == -ENOMEM)
			r = 0;
		if (r < 0 || now_ns < flush_ns)
			continue;
		r = end_window(recorder, false);
		/* After a pause of ours, one window, not one for each that was missed. */
		while (flush_ns <= now_ns)
			flush_ns += options->interval_ns;
		own_cost_next_window(&recorder->cost, clock_monotonic_ns(),
				     earliest(flush_ns, end_ns));
	}
	return finish(recorder, r);
}
