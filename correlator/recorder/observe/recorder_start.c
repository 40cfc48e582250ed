/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/recorder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/signals.h"
#include "recorder/observe/process_changes.h"
#include "recorder/observe/recorder_state.h"
#include "recorder/observe/watching.h"
#include "recorder/observe/windows.h"
#include "recorder/probe/features.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/namespaces.h"

#define REASON_UPROBES "uprobes need CAP_SYS_ADMIN on this kernel"

/* Slice buffer per window, in multiples of the ring size. */
enum {
	WINDOW_RINGS = 4
};

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
	const struct window_stacks_places places = {
		.session = recorder->session,
		.processes = &recorder->targets.processes,
		.window = &recorder->window,
		.output = &recorder->output,
		.hz = recorder->options->stacks_hz,
		.has_native = recorder->options->has_native,
		.has_callers = recorder->options->has_callers,
	};

	if (!places.hz)
		return EXIT_CODE_OK;
	recorder->stacks = window_stacks_new(&places);
	if (!recorder->stacks)
		return EXIT_CODE_FAILURE;
	window_stacks_prepare(recorder->stacks);
	window_stacks_look(recorder->stacks, clock_monotonic_ns());
	return EXIT_CODE_OK;
}

static int begin_syscalls(struct recorder *recorder)
{
	const struct window_syscalls_places places = {
		.session = recorder->session,
		.processes = &recorder->targets.processes,
		.window = &recorder->window,
		.output = &recorder->output,
	};

	if (!recorder->options->counts_syscalls)
		return EXIT_CODE_OK;
	recorder->syscalls = window_syscalls_new(&places);
	return recorder->syscalls ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

static int begin_io(struct recorder *recorder)
{
	const struct window_io_places places = {
		.session = recorder->session,
		.processes = &recorder->targets.processes,
		.window = &recorder->window,
		.output = &recorder->output,
	};

	if (!recorder->options->counts_io)
		return EXIT_CODE_OK;
	recorder->io = window_io_new(&places);
	return recorder->io ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

static int begin_stalls(struct recorder *recorder)
{
	const struct window_stalls_places places = {
		.session = recorder->session,
		.processes = &recorder->targets.processes,
		.contexts = recorder->contexts,
		.stacks = recorder->stacks,
		.percentile = recorder->options->stall_percentile,
		.window = &recorder->window,
		.output = &recorder->output,
	};

	if (!recorder->options->stall_least_ns)
		return EXIT_CODE_OK;
	recorder->stalls = window_stalls_new(&places);
	return recorder->stalls ? EXIT_CODE_OK : EXIT_CODE_FAILURE;
}

static int begin_observing(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	uint64_t first_ns = recorder_first_window_ns(options);
	uint64_t start_ns;

	if (options->duration_ns)
		first_ns = clock_earliest(first_ns, options->duration_ns);

	if (session_register_threads(recorder->session) < 0)
		return EXIT_CODE_FAILURE;
	ways_follow(&recorder->ways, recorder->session, &recorder->targets.processes);
	windows_begin(recorder);
	start_ns = recorder->window.start_ktime_ns;
	own_cost_begin(&recorder->cost, recorder->session,
		       options->measures_programs || options->budget_percent > 0, start_ns,
		       start_ns + first_ns);
	return EXIT_CODE_OK;
}

/* Why the mode differs from the requested one; NULL: it does not. */
static const char *reason_at_start(struct recorder *recorder)
{
	struct observed *process = recorder->targets.processes.processes;

	if (session_is_lean(recorder->session) && recorder->options->is_lean)
		return NULL;
	if (session_is_lean(recorder->session))
		return recorder->may_probe ? WATCHING_REASON_OTEL : REASON_UPROBES;
	watching_note_otel(recorder);
	for (; process; process = process->hh.next)
		if (process->is_mode_new)
			watching_say(recorder, process);
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
	r = watching_tell(recorder, reason_at_start(recorder));
	for (; process && r == 0; process = process->hh.next)
		r = process_changes_announce(recorder, process, window->start_ktime_ns);
	return r < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* Names the first named_max processes. */
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

/* Logs one line once everything is in place: scripts may wait for it. */
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
		log_info("starting %s, writing to %s", recorder->options->targets.command[0],
			 output);
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

/* All that can fail before anything is attached. */
static int prepare(struct recorder *recorder)
{
	const struct recorder_options *options = recorder->options;
	int code;

	recorder->contexts = context_table_new();
	if (!recorder->contexts || window_init(&recorder->window, &options->targets.keys) < 0)
		return EXIT_CODE_FAILURE;
	if (options->has_timeline) {
		uint64_t ring_bytes =
			options->timeline_bytes ? options->timeline_bytes : SLICE_RING_BYTES;

		recorder->timeline = window_slices_new(WINDOW_RINGS * ring_bytes);
		if (!recorder->timeline)
			return EXIT_CODE_FAILURE;
	}
	if (namespaces_check_own_proc() < 0)
		return EXIT_CODE_UNSUPPORTED;
	code = output_prepare(&recorder->output, &options->output);
	if (code == EXIT_CODE_OK)
		code = targets_prepare(&recorder->targets, &options->targets);
	if (code != EXIT_CODE_OK)
		return code;
	recorder->signal_fd =
		options->targets.command ? signals_catch_for_command() : signals_catch();
	return recorder->signal_fd < 0 ? EXIT_CODE_FAILURE : EXIT_CODE_OK;
}

/* Where uprobes are not allowed, the recording is lean, and a warning says so. */
static bool must_be_lean(struct recorder *recorder, const struct kernel_offers *kernel)
{
	const struct recorder_options *options = recorder->options;

	recorder->may_probe = features_may_probe(kernel);
	if (options->is_lean || !options->targets.keys.ruby_count)
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
		.watches_otel = options->targets.keys.otel_count > 0,
		.late_keys = options->targets.keys.late,
		.request_key = options->targets.keys.request,
		.has_kernel_split = options->has_kernel_split,
		.follow_forks = options->targets.follow_forks,
		.has_children = options->targets.follow_forks && options->has_children,
		.strangers = !options->targets.searches ? STRANGERS_NONE
			     : options->targets.comm	? STRANGERS_BY_NAME
							: STRANGERS_ANY,
		.contexts_max = options->contexts_max,
		.accounts_max = options->accounts_max,
		.ring_bytes = options->ring_bytes,
		.has_timeline = options->has_timeline,
		.stint_ring_bytes = options->timeline_bytes,
		.stacks_hz = options->stacks_hz,
		.has_native = options->has_native,
		.has_callers = options->has_callers,
		.has_wait_stacks = options->has_wait_stacks,
		.counts_syscalls = options->counts_syscalls,
		.counts_io = options->counts_io,
		.stall_least_ns = options->stall_least_ns,
	};
	int code;

	if (!recorder)
		return EXIT_CODE_FAILURE;
	recorder->options = options;
	alerting_init(&recorder->alerting, options->output.alerts, options->on_alert);
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
		code = targets_observe(&recorder->targets, recorder->session,
				       options->output.file &&
					       output_file_is_standard(options->output.file));
	if (code == EXIT_CODE_OK)
		code = begin_stacks(recorder);
	if (code == EXIT_CODE_OK)
		code = begin_syscalls(recorder);
	if (code == EXIT_CODE_OK)
		code = begin_io(recorder);
	if (code == EXIT_CODE_OK)
		code = begin_stalls(recorder);
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
	/* The agent must not hold on to what is freed next. */
	agent_set_identifier(NULL, -1);
	session_free(recorder->session);
	window_deinit(&recorder->window);
	window_slices_free(recorder->timeline);
	window_stacks_free(recorder->stacks);
	window_syscalls_free(recorder->syscalls);
	window_io_free(recorder->io);
	window_stalls_free(recorder->stalls);
	context_table_free(recorder->contexts);
	output_deinit(&recorder->output);
	alerting_deinit(&recorder->alerting);
	targets_deinit(&recorder->targets);
	if (recorder->signal_fd >= 0)
		(void)close(recorder->signal_fd);
	free(recorder);
}
