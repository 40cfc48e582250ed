/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/recording.h"

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
#include "observe/contexts.h"
#include "observe/observed.h"
#include "observe/output.h"
#include "observe/own_cost.h"
#include "observe/resolve.h"
#include "observe/targets.h"
#include "observe/window.h"
#include "probe/session.h"
#include "record/record.h"
#include "target/proc/namespaces.h"

/* Why a recording runs lean that was not asked to. */
#define REASON_OTEL    "OpenTelemetry's contexts change without a probe"
#define REASON_NO_SITE "the object that publishes has no function known to change the context"

struct recording {
	const struct recording_options *options;
	struct session *session; /* the kernel side */
	struct targets targets; /* whom it observes */
	struct context_table *contexts; /* what their accounts are named by */
	struct window window; /* the open one */
	struct own_cost cost;
	struct output output;
	int signal_fd;
	bool is_interrupted;
	bool has_otel; /* contexts that change without a probe are read, beside others */
	uint64_t attributed_ns; /* totals, for the last line */
	uint64_t exec_ns;
	uint64_t cpu_records;
};

/* The mode: how closely all are watched. */

static const char *mode_name(const struct recording *recording)
{
	static const char *const names[] = { "exact", "lean", "switch-only" };
	enum session_mode mode = session_get_mode(recording->session);

	return mode == SESSION_MODE_EXACT && recording->has_otel ? "partly-lean" : names[mode];
}

/* reason: why the mode changed, NULL at the start. 0 or -errno (logged). */
static int write_meta(struct recording *recording, const char *reason)
{
	const struct recording_options *options = recording->options;
	const struct window *window = &recording->window;
	struct utsname system;
	struct meta_record record = {
		.tool_version = CORRELATOR_VERSION,
		.boot_id = recording->output.identity.boot_id,
		.mode = mode_name(recording),
		.kernel_split = session_has_kernel_split(recording->session),
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.reason = reason,
		.interval_ns = options->interval_ns,
		.transition_ns = (uint64_t)(window->way.hot_ns + 0.5),
		/* A clock that stands before its own start is not set. */
		.clock_offset_ns = window->wall_offset_ns <= INT64_MAX ? window->wall_offset_ns : 0,
		.key_names = options->keys.record_names,
		.key_names_count = options->keys.count,
	};

	if (uname(&system) < 0)
		return log_error_errno(errno, "cannot read the kernel's name");
	record.kernel_release = system.release;
	record.machine = system.machine;
	return output_add(&recording->output, window_wall_ns(window, window->start_ktime_ns),
			  &record);
}

/*
 * Notes that a process has contexts of OpenTelemetry, once, and says so. Returns why the mode is
 * another one from now on, NULL if it is not.
 */
static const char *note_otel(struct recording *recording)
{
	const struct observed *process = recording->targets.processes.processes;

	if (recording->has_otel || session_get_mode(recording->session) != SESSION_MODE_EXACT)
		return NULL;
	while (process && !observed_has_otel(process))
		process = process->hh.next;
	if (!process)
		return NULL;
	recording->has_otel = true;
	log_info("process %d: %s: its keys are recorded as with --lean, Ruby's exactly; "
		 "ambiguous_ns bounds the error",
		 process->pid, REASON_OTEL);
	return REASON_OTEL;
}

/*
 * Brings the mode to what the looks so far want, and writes it down: the one place where what is
 * found in a process changes how all are watched. 0 or -errno (logged).
 */
static int follow_targets(struct recording *recording)
{
	const char *reason = REASON_NO_SITE;
	bool steps_down = recording->targets.wants_lean &&
			  session_get_mode(recording->session) == SESSION_MODE_EXACT;
	int r = steps_down ? session_step_down(recording->session, SESSION_MODE_LEAN) : 0;

	/* At the start the first record says why. */
	if (r < 0 || !recording->output.is_open)
		return r;
	if (!steps_down)
		reason = note_otel(recording);
	return reason ? write_meta(recording, reason) : 0;
}

/* And to what it may cost. 0 or -errno (logged). */
static int keep_budget(struct recording *recording)
{
	double budget_percent = recording->options->budget_percent;
	enum session_mode mode = session_get_mode(recording->session);
	char reason[160];
	int r;

	if (budget_percent <= 0 || mode == SESSION_MODE_SWITCH_ONLY ||
	    !own_cost_is_over(&recording->cost, budget_percent))
		return 0;
	(void)snprintf(reason, sizeof(reason),
		       "own cost of %.2f %% of a CPU is over the budget of %.2f %%",
		       recording->cost.percent, budget_percent);
	r = session_step_down(recording->session, mode + 1);
	if (r < 0)
		return r;
	log_warning("%s: %s from now on", reason,
		    mode == SESSION_MODE_EXACT ? "lean" : "no user/kernel split");
	return write_meta(recording, reason);
}

/* Takes what was measured of system calls since then for what is written next. */
static void calibrate(struct recording *recording, uint64_t since_ns)
{
	struct split_way *way = &recording->window.way;
	struct session_ways ways;

	if (!session_has_kernel_split(recording->session))
		return;
	session_read_ways(recording->session, since_ns, &ways);
	split_estimate(ways.hot_ns, ways.hot_count, ways.lone_ns, ways.lone_count, ways.slept_ns,
		       ways.slept_count, way);
	log_debug("a system call's way: %.1f ns, give or take %.1f ns (%zu samples), cold %.1f ns "
		  "more, after a sleep %.1f ns more",
		  way->hot_ns, way->spread_ns, ways.hot_count, way->lone_excess_ns,
		  way->slept_excess_ns);
}

/* What happens to processes. */

static int write_process(struct recording *recording, const struct observed *process,
			 const char *event, uint64_t ktime_ns)
{
	uint64_t wall_ns = window_wall_ns(&recording->window, ktime_ns);
	struct process_record record;

	observed_describe(process, event, &record);
	if (strcmp(event, "exit") == 0)
		record.end_ns = wall_ns;
	return output_add(&recording->output, wall_ns, &record);
}

static void on_fork(struct recording *recording, const struct event *event)
{
	struct observed_table *processes = &recording->targets.processes;
	struct observed *parent = observed_find(processes, (pid_t)event->parent_tgid);
	struct observed *child = observed_find(processes, (pid_t)event->tgid);

	if (!child)
		child = observed_add(processes, (pid_t)event->tgid, (pid_t)event->parent_tgid,
				     event->comm);
	if (!child || child->is_announced)
		return;
	child->is_announced = child->is_fork = true;
	child->books.ns_pid = event->ns_tgid;
	child->server = parent ? parent->server : NULL;
	child->start_wall_ns = window_wall_ns(&recording->window, event->ktime_ns);
	process_on_forked(&child->state, parent ? &parent->state : NULL,
			  parent && parent->target && parent->keys->otel_count,
			  clock_monotonic_ns());
	(void)write_process(recording, child, "fork", event->ktime_ns);
}

static void on_exec(struct recording *recording, struct observed *process,
		    const struct event *event)
{
	(void)snprintf(process->comm, sizeof(process->comm), "%.*s", COMM_BYTES - 1, event->comm);
	observed_execute(process, clock_monotonic_ns());
	(void)write_process(recording, process, "exec", event->ktime_ns);
}

static void on_event(void *user, const struct event *event)
{
	struct recording *recording = user;
	struct observed *process = observed_find(&recording->targets.processes, (pid_t)event->tgid);

	if (event->kind == EVENT_KIND_FORK)
		on_fork(recording, event);
	if (!process)
		return;
	switch (event->kind) {
	case EVENT_KIND_EXEC:
		on_exec(recording, process, event);
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

static void say_read(struct recording *recording, const struct observed *process)
{
	const struct publisher *publisher =
		process->keys->ruby_count ? target_publisher(process->target) : NULL;

	if (!publisher)
		publisher = otel_target_publisher(&process->target->otel);
	log_info("process %d (%s) publishes contexts by %s: read from at most %.1f ms after it was "
		 "loaded on",
		 process->pid, process->comm, publisher->path,
		 (double)process->state.pickup_ns / 1e6);
	(void)write_process(recording, process, "load", clock_monotonic_ns());
	recording->targets.has_published = true;
}

static void look_at(struct recording *recording, struct observed *process, uint64_t now_ns)
{
	unsigned int decisions;

	(void)targets_look(&recording->targets, process, recording->session, now_ns, &decisions);
	(void)follow_targets(recording);
	if (decisions & PROCESS_SAY_READ)
		say_read(recording, process);
	if (decisions & PROCESS_SAY_UNREAD) {
		log_warning("process %d (%s) unloaded what publishes its contexts: none is read "
			    "from now on",
			    process->pid, process->comm);
		(void)write_process(recording, process, "unload", clock_monotonic_ns());
	}
	if (decisions & PROCESS_SAY_COMPLETE)
		log_info("process %d (%s): context found, all keys known", process->pid,
			 process->comm);
}

static void look_at_due(struct recording *recording, uint64_t now_ns)
{
	struct observed *process = recording->targets.processes.processes;

	for (; process; process = process->hh.next)
		if (process_next_look(&process->state) <= now_ns)
			look_at(recording, process, now_ns);
}

static int announce(struct recording *recording, struct observed *process, uint64_t ktime_ns)
{
	process->is_announced = true;
	process->is_found = false;
	return write_process(recording, process, "found", ktime_ns);
}

/* Looks for others, and begins to observe them. 0 or -errno (logged). */
static int search(struct recording *recording)
{
	struct targets *targets = &recording->targets;
	struct observed *process;
	int r = targets_search(targets, recording->session);

	if (r <= 0)
		return r;
	r = follow_targets(recording);
	for (process = targets->processes.processes; process && r == 0;
	     process = process->hh.next) {
		if (!process->is_found)
			continue;
		log_info("found process %d (%s)", process->pid,
			 process->server ? process->server : process->comm);
		r = announce(recording, process, clock_monotonic_ns());
	}
	return r < 0 ? r : session_register_threads(recording->session);
}

/*
 * The end of a window. end_window() below reads from top to bottom: what each step does is a
 * function over the window's data (window.h), of which this file carries out what is not pure.
 */

/* The kernel's accounts -> rows. Each thread charges to the next window from here on. */
static int drain(struct recording *recording, bool is_last)
{
	struct window *window = &recording->window;

	window->number++;
	window->wall_offset_ns = clock_wall_ns() - clock_monotonic_ns();
	calibrate(recording, window->start_ktime_ns);
	return session_flush(recording->session, is_last, window_add_account, window,
			     &window->end_ktime_ns, &window->epoch);
}

/* The kernel's figures of each process + what was charged to it -> books. */
static int close_books(struct recording *recording)
{
	struct observed *process = recording->targets.processes.processes;
	struct window *window = &recording->window;
	struct process_books now;
	int r = 0;

	for (; process && r == 0; process = process->hh.next)
		if (session_get_books(recording->session, process->pid, &now) == 0)
			r = window_close_process(window, &process->books, &now);
	for (size_t i = 0; i < window->books_count; i++) {
		recording->attributed_ns += window->books[i].balance.attributed_ns;
		recording->exec_ns += window->books[i].balance.exec_ns;
	}
	return r;
}

/* Rows -> records. */
static int put_rows(struct recording *recording)
{
	const struct window *window = &recording->window;
	uint64_t wall_ns = window_wall_ns(window, window->end_ktime_ns);
	struct record_key keys[KEYS_MAX];
	struct cpu_record record;
	int r = 0;

	for (size_t i = 0; i < window->row_count && r == 0; i++) {
		window_row_record(window, &window->rows[i], keys, &record);
		r = output_add(&recording->output, wall_ns, &record);
	}
	recording->cpu_records += window->row_count;
	return r;
}

/* What all this cost -> a record, and the books. */
static int put_cost(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	struct window *window = &recording->window;
	struct self_program programs[SESSION_PROGRAMS_MAX];
	struct sender_status status;
	struct self_record record = {
		.contexts = { .used = context_table_count(recording->contexts),
			      .limit = options->contexts_max ? options->contexts_max
							     : CONTEXTS_MAX },
		.accounts = { .used = window->row_count,
			      .limit = options->accounts_max ? options->accounts_max
							     : ACCOUNTS_MAX },
		.processes = { .used = HASH_COUNT(recording->targets.processes.processes),
			       .limit = PROCESSES_MAX },
	};

	output_fill_delivery(&recording->output, &status, &record.delivery);
	own_cost_measure(&recording->cost, recording->session,
			 window->end_ktime_ns - window->start_ktime_ns, programs, &record);
	window_share(window, record.own_cpu_ns);
	return output_add(&recording->output, window_wall_ns(window, window->end_ktime_ns),
			  &record);
}

/* Books -> records. */
static int put_books(struct recording *recording)
{
	const struct window *window = &recording->window;
	uint64_t wall_ns = window_wall_ns(window, window->end_ktime_ns);
	struct record_key keys[KEYS_MAX];
	struct cpu_record overflow;
	int r = 0;

	for (size_t i = 0; i < window->books_count && r == 0; i++) {
		struct window_books *books = &window->books[i];

		if (window_has_overflow(books)) {
			window_overflow_record(window, books, keys, &overflow);
			r = output_add(&recording->output, wall_ns, &overflow);
			recording->cpu_records++;
		}
		if (r == 0)
			r = output_add(&recording->output, wall_ns, &books->balance);
	}
	return r;
}

/* Those whose last window this was. */
static int end_processes(struct recording *recording)
{
	struct observed_table *table = &recording->targets.processes;
	struct observed *process, *next;
	int r = 0;

	HASH_ITER(hh, table->processes, process, next) {
		if (r < 0 || !(process_on_window(&process->state) & PROCESS_REMOVE))
			continue;
		r = write_process(recording, process, "exit", process->state.exit_ktime_ns);
		session_remove_process(recording->session, process->pid);
		observed_remove(table, process);
	}
	return r;
}

/* Process contexts are published anew at any time: a look at each, once a window. */
static int follow_otel(struct recording *recording)
{
	const char *reason = note_otel(recording);

	observed_check_otel(&recording->targets.processes, recording->window.end_ktime_ns);
	return reason ? write_meta(recording, reason) : 0;
}

static void remove_snapshot(void *user, uint64_t hash)
{
	struct recording *recording = user;
	struct context_snapshot snapshot;

	(void)session_take_context(recording->session, hash, &snapshot);
}

static int end_window(struct recording *recording, bool is_last)
{
	struct window *window = &recording->window;
	int r = drain(recording, is_last);

	if (r == 0)
		r = resolve_rows(window, &recording->targets.processes, recording->contexts,
				 recording->session);
	if (r < 0)
		return r;
	window->has_kernel_split = session_has_kernel_split(recording->session);
	window_charge(window);
	r = close_books(recording);
	if (r == 0)
		r = put_rows(recording);
	if (r == 0)
		r = put_cost(recording);
	if (r == 0)
		r = put_books(recording);
	if (r == 0)
		r = end_processes(recording);
	if (r == 0)
		r = follow_otel(recording);
	if (r == 0)
		r = output_write(&recording->output, window_wall_ns(window, window->end_ktime_ns));
	if (r < 0)
		return r;
	output_publish(&recording->output);
	context_table_end_window(recording->contexts, window->number, remove_snapshot, recording);
	window_next(window);
	return is_last ? 0 : keep_budget(recording);
}

/* From the start to the end. */

static int attach(struct recording *recording)
{
	if (session_attach(recording->session) < 0)
		return EXIT_CODE_UNSUPPORTED;
	if (!recording->options->has_kernel_split)
		return EXIT_CODE_OK;
	if (session_start_calibration(recording->session) < 0)
		return EXIT_CODE_UNSUPPORTED;
	calibrate(recording, 0);
	return EXIT_CODE_OK;
}

static int begin_observing(struct recording *recording)
{
	struct window *window = &recording->window;

	if (follow_targets(recording) < 0 || session_register_threads(recording->session) < 0)
		return EXIT_CODE_FAILURE;
	window->start_ktime_ns = clock_monotonic_ns();
	window->wall_offset_ns = clock_wall_ns() - window->start_ktime_ns;
	own_cost_begin(&recording->cost, recording->session);
	return EXIT_CODE_OK;
}

/* Why the mode is not the one that was asked for; NULL: it is. */
static const char *reason_at_start(struct recording *recording)
{
	if (session_get_mode(recording->session) == SESSION_MODE_EXACT)
		return note_otel(recording);
	if (recording->options->is_lean)
		return NULL;
	return recording->options->keys.ruby_count ? REASON_NO_SITE : REASON_OTEL;
}

static int begin_output(struct recording *recording)
{
	const struct window *window = &recording->window;
	struct observed *process = recording->targets.processes.processes;
	int code = output_open(&recording->output, window_wall_ns(window, window->start_ktime_ns));
	int r;

	if (code != EXIT_CODE_OK)
		return code;
	r = write_meta(recording, reason_at_start(recording));
	for (; process && r == 0; process = process->hh.next)
		r = announce(recording, process, window->start_ktime_ns);
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* One line that says that everything is in place: scripts may wait for it. */
static void say_ready(const struct recording *recording)
{
	const struct targets *targets = &recording->targets;
	const struct observed *process = targets->processes.processes;
	unsigned int count = HASH_COUNT(targets->processes.processes), incomplete = 0;
	const char *output = recording->output.name;

	for (const struct observed *each = process; each; each = each->hh.next)
		incomplete += each->state.look_ns != 0;
	if (targets->child.pid)
		log_info("starting %s, writing to %s", recording->options->command[0], output);
	else if (!process)
		log_info("observing no process yet, writing to %s; Ctrl-C to stop", output);
	else
		log_info("observing %u process%s of %d (%s), writing to %s; Ctrl-C to stop", count,
			 count == 1 ? "" : "es", process->pid,
			 process->server ? process->server : process->comm, output);
	if (incomplete && !targets->child.pid)
		log_info("waiting for a key or a context in %u of them: normal before the first "
			 "request",
			 incomplete);
}

/* What can be refused before anything is attached. */
static int prepare(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	int code;

	recording->contexts = context_table_new();
	if (!recording->contexts || window_init(&recording->window, &options->keys) < 0)
		return EXIT_CODE_FAILURE;
	if (namespaces_check_own_proc() < 0)
		return EXIT_CODE_UNSUPPORTED;
	code = output_prepare(&recording->output, options);
	if (code == EXIT_CODE_OK)
		code = targets_prepare(&recording->targets, options);
	if (code != EXIT_CODE_OK)
		return code;
	recording->signal_fd = signals_catch();
	return recording->signal_fd < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

int recording_start(const struct recording_options *options, struct recording **ret_recording)
{
	_cleanup_(recording_freep) struct recording *recording = calloc(1, sizeof(*recording));
	struct session_options session_options = {
		.is_lean = options->is_lean || !options->keys.ruby_count,
		.watches_otel = options->keys.otel_count > 0,
		.has_kernel_split = options->has_kernel_split,
		.follow_forks = options->follow_forks,
		.measures_programs = options->measures_programs || options->budget_percent > 0,
		.contexts_max = options->contexts_max,
		.accounts_max = options->accounts_max,
		.ring_bytes = options->ring_bytes,
	};
	int code;

	if (!recording)
		return EXIT_CODE_FAILURE;
	recording->options = options;
	recording->signal_fd = -1;
	code = prepare(recording);
	if (code != EXIT_CODE_OK)
		return code;
	if (session_open(&session_options, &recording->session) < 0)
		return EXIT_CODE_UNSUPPORTED;
	code = attach(recording);
	if (code == EXIT_CODE_OK)
		code = targets_observe(&recording->targets, recording->session);
	if (code == EXIT_CODE_OK)
		code = begin_observing(recording);
	if (code == EXIT_CODE_OK)
		code = begin_output(recording);
	if (code == EXIT_CODE_OK && targets_release(&recording->targets) < 0)
		code = EXIT_CODE_FAILURE;
	if (code != EXIT_CODE_OK)
		return code;
	say_ready(recording);
	*ret_recording = TAKE_PTR(recording);
	return EXIT_CODE_OK;
}

void recording_free(struct recording *recording)
{
	if (!recording)
		return;
	session_free(recording->session);
	window_deinit(&recording->window);
	context_table_free(recording->contexts);
	output_deinit(&recording->output);
	targets_deinit(&recording->targets);
	if (recording->signal_fd >= 0)
		(void)close(recording->signal_fd);
	free(recording);
}

static bool read_signal(struct recording *recording)
{
	int number = signals_read(recording->signal_fd);

	recording->is_interrupted |= number == SIGINT;
	return number != 0;
}

/* Waits until then at most, and handles what came. True: it is time to end. */
static bool wait_for_work(struct recording *recording, uint64_t deadline_ns)
{
	struct pollfd fds[] = {
		{ .fd = recording->signal_fd, .events = POLLIN },
		{ .fd = session_events_fd(recording->session), .events = POLLIN },
	};
	uint64_t now_ns = clock_monotonic_ns();
	struct timespec timeout = clock_timespec(deadline_ns > now_ns ? deadline_ns - now_ns : 0);

	(void)ppoll(fds, sizeof(fds) / sizeof(fds[0]), &timeout, NULL);
	(void)session_read_events(recording->session, on_event, recording);
	return (fds[0].revents & POLLIN) && read_signal(recording);
}

static int finish(struct recording *recording, int r)
{
	const struct targets *targets = &recording->targets;

	(void)session_read_events(recording->session, on_event, recording);
	if (r == 0)
		r = end_window(recording, true);
	if (r == 0)
		r = output_close(&recording->output);
	/* The reader of our pipe has seen enough. */
	if (r == -EPIPE)
		return EXIT_CODE_OK;
	if (r < 0)
		return EXIT_CODE_FAILURE;
	if (targets->must_publish && !targets->has_published) {
		(void)log_error(ENOENT, "no context was published: is the gem `correlator` (or "
					"`ruby-profiler`) in the application?");
		return EXIT_CODE_NO_TARGET;
	}
	if (recording->is_interrupted && !recording->cpu_records)
		return EXIT_CODE_INTERRUPTED;
	log_info("wrote %" PRIu64 " records of %.3f s CPU to %s, %.1f %% of it in a context%s",
		 recording->output.identity.record_number, (double)recording->exec_ns / 1e9,
		 recording->output.name,
		 recording->exec_ns
			 ? 100.0 * (double)recording->attributed_ns / (double)recording->exec_ns
			 : 0.0,
		 targets->processes.processes ? "" : "; the target has ended");
	return EXIT_CODE_OK;
}

static uint64_t earliest(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

int recording_run(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	struct targets *targets = &recording->targets;
	uint64_t start_ns = recording->window.start_ktime_ns;
	uint64_t flush_ns = start_ns + options->interval_ns;
	uint64_t end_ns = options->duration_ns ? start_ns + options->duration_ns : UINT64_MAX;
	int r = 0;

	while (r == 0) {
		uint64_t look_ns = observed_next_look(&targets->processes);
		bool is_over =
			wait_for_work(recording, earliest(flush_ns, earliest(end_ns, look_ns)));
		uint64_t now_ns = clock_monotonic_ns();

		look_at_due(recording, now_ns);
		if (now_ns >= flush_ns) {
			targets_find_lost_exits(targets);
			observed_check_publishers(&targets->processes, now_ns);
		}
		if (is_over || now_ns >= end_ns ||
		    (targets_have_exited(targets) && !targets->discovery))
			break;
		if (now_ns < flush_ns)
			continue;
		r = end_window(recording, false);
		if (r == 0)
			r = search(recording);
		/* After a pause of ours, one window, not one for each that was missed. */
		while (flush_ns <= now_ns)
			flush_ns += options->interval_ns;
	}
	return finish(recording, r);
}
