/* The loop of a recording: events, looks at what is missing, windows, and the end. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

#include <correlator/events.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "observe/recording_internal.h"
#include "target/proc/process.h"

static void on_fork(struct recording *recording, const struct event *event)
{
	struct observed *parent = observed_find(&recording->processes, (pid_t)event->parent_tgid);
	struct observed *child = observed_find(&recording->processes, (pid_t)event->tgid);

	if (!child)
		child = observed_add(&recording->processes, (pid_t)event->tgid,
				     (pid_t)event->parent_tgid, event->comm);
	if (!child || child->is_announced)
		return;
	child->is_announced = true;
	child->ns_pid = event->ns_tgid;
	child->server = parent ? parent->server : NULL;
	child->start_wall_ns = event->ktime_ns + recording->wall_offset_ns;
	child->is_fork = true;
	process_on_forked(&child->state, parent ? &parent->state : NULL,
			  parent && parent->target && parent->keys->otel_count,
			  clock_monotonic_ns());
	(void)recording_write_process(recording, child, "fork", event->ktime_ns);
}

static void on_exec(struct recording *recording, const struct event *event)
{
	struct observed *process = observed_find(&recording->processes, (pid_t)event->tgid);

	if (!process)
		return;
	(void)snprintf(process->comm, sizeof(process->comm), "%.*s", COMM_BYTES - 1, event->comm);
	observed_execute(process, clock_monotonic_ns());
	(void)recording_write_process(recording, process, "exec", event->ktime_ns);
}

static void on_event(void *user, const struct event *event)
{
	struct recording *recording = user;
	struct observed *process;

	switch (event->kind) {
	case EVENT_KIND_FORK:
		on_fork(recording, event);
		break;
	case EVENT_KIND_EXEC:
		on_exec(recording, event);
		break;
	case EVENT_KIND_LOAD:
		process = observed_find(&recording->processes, (pid_t)event->tgid);
		if (process)
			process_on_loading(&process->state, event->ktime_ns, clock_monotonic_ns());
		break;
	case EVENT_KIND_ASK:
		process = observed_find(&recording->processes, (pid_t)event->tgid);
		if (process)
			observed_ask(process, event->address, clock_monotonic_ns());
		break;
	case EVENT_KIND_OTEL_KEYS:
		process = observed_find(&recording->processes, (pid_t)event->tgid);
		if (process)
			process_on_news(&process->state, clock_monotonic_ns());
		break;
	case EVENT_KIND_EXIT:
		process = observed_find(&recording->processes, (pid_t)event->tgid);
		if (process)
			process_on_exited(&process->state, event->ktime_ns);
		break;
	default:
		break;
	}
}

/* A process whose exit event was lost would be waited for for ever. */
static void find_lost_exits(struct recording *recording)
{
	struct observed *process = recording->processes.processes;

	for (; process; process = process->hh.next) {
		if (process->state.stage != PROCESS_EXITED && kill(process->pid, 0) < 0 &&
		    errno == ESRCH)
			process_on_exited(&process->state, clock_monotonic_ns());
	}
}

static bool all_have_exited(const struct recording *recording)
{
	const struct observed *process = recording->processes.processes;

	for (; process; process = process->hh.next)
		if (process->state.stage != PROCESS_EXITED)
			return false;
	return true;
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
	(void)recording_write_process(recording, process, "load", clock_monotonic_ns());
	recording->has_published = true;
}

/* What a look decided that is for the whole recording to do. */
static void carry_out(struct recording *recording, struct observed *process, unsigned int decisions)
{
	if (decisions & PROCESS_STEP_DOWN)
		recording->wants_lean = true;
	(void)recording_follow_mode(recording);
	if (decisions & PROCESS_SAY_READ)
		say_read(recording, process);
	if (decisions & PROCESS_SAY_UNREAD) {
		log_warning("process %d (%s) unloaded what publishes its contexts: none is read "
			    "from now on",
			    process->pid, process->comm);
		(void)recording_write_process(recording, process, "unload", clock_monotonic_ns());
	}
	if (decisions & PROCESS_SAY_COMPLETE)
		log_info("process %d (%s): context found, all keys known", process->pid,
			 process->comm);
}

static void look_at_missing(struct recording *recording, uint64_t now_ns)
{
	struct observed *process = recording->processes.processes;
	unsigned int decisions;

	for (; process; process = process->hh.next) {
		if (process_next_look(&process->state) > now_ns)
			continue;
		(void)observed_look(&recording->processes, process, recording->session, now_ns,
				    &decisions);
		carry_out(recording, process, decisions);
	}
}

static bool read_signal(struct recording *recording)
{
	int number = signals_read(recording->signal_fd);

	recording->is_interrupted |= number == SIGINT;
	return number != 0;
}

/* Until the earliest of the deadlines. */
static struct timespec poll_timeout(uint64_t now_ns, uint64_t flush_ns, uint64_t end_ns,
				    uint64_t look_ns)
{
	uint64_t next_ns = flush_ns;

	if (end_ns < next_ns)
		next_ns = end_ns;
	if (look_ns < next_ns)
		next_ns = look_ns;
	next_ns = next_ns > now_ns ? next_ns - now_ns : 0;
	return clock_timespec(next_ns);
}

/* Waits, and handles what came. True: it is time to end. */
static bool wait_for_work(struct recording *recording, struct timespec timeout)
{
	struct pollfd fds[] = {
		{ .fd = recording->signal_fd, .events = POLLIN },
		{ .fd = session_events_fd(recording->session), .events = POLLIN },
	};

	(void)ppoll(fds, sizeof(fds) / sizeof(fds[0]), &timeout, NULL);
	(void)session_read_events(recording->session, on_event, recording);
	return (fds[0].revents & POLLIN) && read_signal(recording);
}

static int finish(struct recording *recording, int result)
{
	(void)session_read_events(recording->session, on_event, recording);
	if (!result)
		result = recording_flush(recording, true);
	if (!result)
		result = recording_close_output(recording);
	/* The reader of our pipe has seen enough. */
	if (result == -EPIPE)
		return EXIT_CODE_OK;
	if (result)
		return EXIT_CODE_FAILURE;
	if (recording->must_publish && !recording->has_published) {
		(void)log_error(ENOENT, "no context was published: is the gem `correlator` (or "
					"`ruby-profiler`) in the application?");
		return EXIT_CODE_NO_TARGET;
	}
	if (recording->is_interrupted && !recording->cpu_records)
		return EXIT_CODE_INTERRUPTED;
	log_info("wrote %" PRIu64 " records of %.3f s CPU to %s, %.1f %% of it in a context%s",
		 recording->record_number, (double)recording->exec_ns / 1e9, recording->output_name,
		 recording->exec_ns
			 ? 100.0 * (double)recording->attributed_ns / (double)recording->exec_ns
			 : 0.0,
		 recording->processes.processes ? "" : "; the target has ended");
	return EXIT_CODE_OK;
}

int recording_run(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	uint64_t flush_ns = recording->window_mark_ns + options->interval_ns;
	uint64_t end_ns = options->duration_ns ? recording->window_mark_ns + options->duration_ns
					       : UINT64_MAX;
	bool is_over = false;
	int result = 0;

	while (!result && !is_over) {
		uint64_t now_ns = clock_monotonic_ns();

		is_over = wait_for_work(recording,
					poll_timeout(now_ns, flush_ns, end_ns,
						     observed_next_look(&recording->processes)));
		now_ns = clock_monotonic_ns();
		look_at_missing(recording, now_ns);
		if (now_ns >= flush_ns) {
			find_lost_exits(recording);
			observed_check_publishers(&recording->processes, now_ns);
		}
		if (is_over || now_ns >= end_ns ||
		    (all_have_exited(recording) && !recording->discovery))
			break;
		if (now_ns < flush_ns)
			continue;
		result = recording_flush(recording, false);
		if (!result)
			result = recording_search(recording);
		/* After a pause of ours, one window, not one for each that was missed. */
		while (flush_ns <= now_ns)
			flush_ns += options->interval_ns;
	}
	return finish(recording, result);
}
