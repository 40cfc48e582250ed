/* SPDX-License-Identifier: GPL-2.0-only */
/* The loop of a recording, and its end. */
#include "recorder/observe/recorder.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/signals.h"
#include "recorder/observe/process_changes.h"
#include "recorder/observe/recorder_state.h"
#include "recorder/observe/windows.h"

/* How long the end of a recording waits for the reader of a pipe. */
#define PATIENCE_NS (5 * NS_PER_S)
/* A second signal to end a command within this time ends its recording. */
#define AGAIN_NS NS_PER_S

#define NOTHING_PUBLISHED                                                                \
	"no context was published: is the gem `correlator` (or `ruby-profiler`) in the " \
	"application?"

/* All other signals are only passed on to the command. */
static bool is_end_of_recording(int number)
{
	return number == SIGINT || number == SIGTERM || number == SIGHUP;
}

/*
 * The command gets each signal that we get, and is recorded until it has ended, because its last
 * actions matter, too. A terminal has already sent it a signal that was typed (is_typed). False: no
 * command runs, or it was told to end twice within AGAIN_NS, which is meant for us.
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
			 recorder->options->targets.command[0]);
	recorder->told_signal = number;
	recorder->told_ns = now_ns;
	return true;
}

/* True: a signal ends the recording. */
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

/* Waits until deadline_ns at most, and handles what has arrived. True: it is time to end. */
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
	(void)session_read_events(recorder->session, process_changes_on_event, recorder);
	return (fds[0].revents & POLLIN) && read_signal(recorder);
}

/* Everything is written: logs a summary, and returns the exit code. */
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
	missing_keys_say(&recorder->missing, &options->targets.keys);
	/* output_close() has logged what the collectors took. */
	log_info("%s %" PRIu64 " records of %.3f s CPU%s%s, %.1f %% of it in a context%s",
		 options->output.file ? "wrote" : "made",
		 options->output.file ? recorder->output.written_records
				      : recorder->output.identity.record_number,
		 (double)recorder->exec_ns / 1e9, options->output.file ? " to " : "",
		 options->output.file ? output_file_name(&options->output) : "",
		 recorder->exec_ns
			 ? 100.0 * (double)recorder->attributed_ns / (double)recorder->exec_ns
			 : 0.0,
		 targets->processes.processes || (targets->discovery && !targets->has_found)
			 ? ""
			 : "; the target has ended");
	if (child_command_runs(child))
		log_info("%s (process %d) goes on", recorder->options->targets.command[0],
			 child->pid);
	return has_ended ? child->code : EXIT_CODE_OK;
}

/*
 * At the end, how long to wait for the reader of a pipe: without limit, as elsewhere, until a
 * signal asks to end; from then on no longer than for a collector.
 */
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

	(void)session_read_events(recorder->session, process_changes_on_event, recorder);
	if (r == 0)
		r = windows_end(recorder, true);
	/* Flushes the records taken so far, even after a failure. */
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
	uint64_t flush_ns = start_ns + recorder_first_window_ns(options);
	uint64_t end_ns = options->duration_ns ? start_ns + options->duration_ns : UINT64_MAX;
	int r = 0;

	while (r == 0) {
		uint64_t look_ns = clock_earliest(observed_next_look(&targets->processes),
						  targets_next_search(targets));
		uint64_t write_ns =
			clock_earliest(output_due_ns(&recorder->output),
				       alert_program_due_ns(&recorder->alerting.program));
		uint64_t due_ns =
			clock_earliest(clock_earliest(look_ns, own_cost_due_ns(&recorder->cost)),
				       clock_earliest(flush_ns, write_ns));
		uint64_t read_ns = clock_earliest(window_slices_due_ns(recorder->timeline),
						  window_stalls_due_ns(recorder->stalls));
		bool is_over = wait_for_work(
			recorder, clock_earliest(end_ns, clock_earliest(due_ns, read_ns)));
		uint64_t now_ns = clock_monotonic_ns();

		own_cost_sample(&recorder->cost, now_ns);
		window_slices_read(recorder->timeline, recorder->session, now_ns);
		window_stalls_read(recorder->stalls, now_ns);
		process_changes_look(recorder, now_ns);
		window_stacks_look(recorder->stacks, now_ns);
		if (now_ns >= flush_ns) {
			targets_find_lost_exits(targets);
			observed_check_publishers(&targets->processes, now_ns);
		}
		if (is_over || now_ns >= end_ns || targets_are_over(targets))
			break;
		r = output_continue(&recorder->output);
		if (r == 0)
			r = process_changes_search(recorder, now_ns);
		/* No memory for one record; the next one may fit. */
		if (r == -ENOMEM)
			r = 0;
		if (r < 0 || now_ns < flush_ns)
			continue;
		r = windows_end(recorder, false);
		/* After a stall of ours, end one window, not one for each missed interval. */
		while (flush_ns <= now_ns)
			flush_ns += options->interval_ns;
		own_cost_next_window(&recorder->cost, clock_monotonic_ns(),
				     clock_earliest(flush_ns, end_ns));
	}
	return finish(recorder, r);
}
