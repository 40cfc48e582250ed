/* The loop of a recording: events, looks at what is missing, windows, and the end. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>

#include <correlator/events.h>

#include "base/duration.h"
#include "base/log.h"
#include "command.h"
#include "recording_internal.h"
#include "target/process.h"

#define NS_PER_MS 1000000U

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
	/* What its parent still lacks, it lacks too. */
	if (!parent || parent->retry_ns)
		child->retry_ns = duration_monotonic_ns();
	(void)recording_write_process(recording, child, "fork", event->ktime_ns);
}

static void on_exec(struct recording *recording, const struct event *event)
{
	struct observed *process = observed_find(&recording->processes, (pid_t)event->tgid);

	if (!process)
		return;
	(void)snprintf(process->comm, sizeof(process->comm), "%.*s", COMM_BYTES - 1, event->comm);
	observed_forget_image(process, duration_monotonic_ns());
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
	case EVENT_KIND_EXIT:
		process = observed_find(&recording->processes, (pid_t)event->tgid);
		if (process) {
			process->has_exited = true;
			process->exit_ktime_ns = event->ktime_ns;
		}
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
		if (process->has_exited || !kill(process->pid, 0) || errno != ESRCH)
			continue;
		process->has_exited = true;
		process->exit_ktime_ns = duration_monotonic_ns();
	}
}

static bool all_have_exited(const struct recording *recording)
{
	const struct observed *process = recording->processes.processes;

	for (; process; process = process->hh.next)
		if (!process->has_exited)
			return false;
	return true;
}

static void look_at_missing(struct recording *recording, uint64_t now_ns)
{
	struct observed *process = recording->processes.processes;

	for (; process; process = process->hh.next) {
		bool was_complete;

		if (!process->retry_ns || process->retry_ns > now_ns || process->has_exited)
			continue;
		was_complete = process->target && ruby_target_is_complete(process->target);
		(void)observed_look(&recording->processes, process, recording->session, now_ns);
		if (!was_complete && process->target && ruby_target_is_complete(process->target))
			log_info("process %d (%s): context found, all keys known", process->pid,
				 process->comm);
	}
}

static bool read_signal(struct recording *recording)
{
	struct signalfd_siginfo info;

	if (read(recording->signal_fd, &info, sizeof(info)) != sizeof(info))
		return false;
	recording->is_interrupted = info.ssi_signo == SIGINT;
	return true;
}

/* Milliseconds until the earliest of the deadlines, rounded up. */
static int poll_timeout(uint64_t now_ns, uint64_t flush_ns, uint64_t end_ns, uint64_t look_ns)
{
	const uint64_t hour_ms = 3600 * 1000;
	uint64_t next_ns = flush_ns;
	uint64_t ms;

	if (end_ns < next_ns)
		next_ns = end_ns;
	if (look_ns < next_ns)
		next_ns = look_ns;
	if (next_ns <= now_ns)
		return 0;
	ms = (next_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return (int)(ms < hour_ms ? ms : hour_ms);
}

/* Waits, and handles what came. True: it is time to end. */
static bool wait_for_work(struct recording *recording, int timeout_ms)
{
	struct pollfd fds[] = {
		{ .fd = recording->signal_fd, .events = POLLIN },
		{ .fd = session_events_fd(recording->session), .events = POLLIN },
	};

	(void)poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
	(void)session_read_events(recording->session, on_event, recording);
	return (fds[0].revents & POLLIN) && read_signal(recording);
}

static int finish(struct recording *recording, int result)
{
	(void)session_read_events(recording->session, on_event, recording);
	if (!result)
		result = recording_flush(recording, true);
	if (!result) {
		result = sink_close(recording->sink);
		recording->sink = NULL;
	}
	/* The reader of our pipe has seen enough. */
	if (result == -EPIPE)
		return EXIT_CODE_OK;
	if (result)
		return EXIT_CODE_FAILURE;
	if (recording->is_interrupted && !recording->cpu_records)
		return EXIT_CODE_INTERRUPTED;
	log_info("wrote %" PRIu64 " records of %.3f s CPU to %s, %.1f %% of it in a context%s",
		 recording->record_number, (double)recording->exec_ns / 1e9,
		 strcmp(recording->options->output, "-") ? recording->options->output : "stdout",
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
		uint64_t now_ns = duration_monotonic_ns();

		is_over = wait_for_work(recording,
					poll_timeout(now_ns, flush_ns, end_ns,
						     observed_next_look(&recording->processes)));
		now_ns = duration_monotonic_ns();
		look_at_missing(recording, now_ns);
		if (now_ns >= flush_ns)
			find_lost_exits(recording);
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
