/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/watching.h"

#include <errno.h>
#include <stdio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "recorder/observe/process/modes.h"

enum watch_mode watching_mode(const struct recorder *recorder, const struct observed *process)
{
	return session_is_lean(recorder->session) ? WATCH_MODE_LEAN : observed_mode(process);
}

/* Stores the mode and bound of the last record; logs once that the error has no bound. */
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

int watching_tell_process(struct recorder *recorder, struct observed *process,
			  enum process_event event, uint64_t ktime_ns)
{
	uint64_t wall_ns = window_wall_ns(&recorder->window, ktime_ns);
	struct process_record record;

	observed_describe(process, event, &record);
	if (event != PROCESS_EVENT_EXIT) {
		record.mode = watching_mode(recorder, process);
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

enum {
	MODULES_MAX = 8
};

/* Sets the names of all modules that are on. Returns their number. */
static size_t list_modules(const struct recorder_options *options,
			   const char *ret_names[static MODULES_MAX])
{
	const struct {
		bool is_on;
		const char *name;
	} modules[MODULES_MAX] = {
		{ options->has_timeline, "timeline" },
		{ options->counts_syscalls, "syscalls" },
		{ options->counts_io, "io" },
		{ options->stall_least_ns > 0, "stall" },
		{ options->stacks_hz > 0, "stacks" },
		{ options->has_wait_stacks, "off-cpu" },
		{ options->stacks_hz > 0 && options->has_native, "native" },
		{ options->stacks_hz > 0 && options->has_callers, "native callers" },
	};
	size_t count = 0;

	for (size_t i = 0; i < MODULES_MAX; i++)
		if (modules[i].is_on)
			ret_names[count++] = modules[i].name;
	return count;
}

int watching_tell(struct recorder *recorder, const char *reason)
{
	const struct recorder_options *options = recorder->options;
	const struct window *window = &recorder->window;
	const char *modules[MODULES_MAX];
	struct utsname system;
	struct meta_record record = {
		.tool_version = CORRELATOR_VERSION,
		.boot_id = recorder->output.identity.boot_id,
		.mode = recorder->mode = mode_of_all(recorder),
		.kernel_split = session_has_kernel_split(recorder->session),
		.blocked_reasons = true,
		.children = options->targets.follow_forks && options->has_children,
		.cpu_count = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN),
		.reason = reason,
		.stall_ns = options->stall_least_ns,
		.stall_percentile = options->stall_percentile,
		.interval_ns = options->interval_ns,
		.transition_ns = (uint64_t)(window->ways[SESSION_WAY_SHORT].hot_ns + 0.5),
		/* CLOCK_REALTIME behind CLOCK_MONOTONIC: the clock was never set. */
		.clock_offset_ns = window->wall_offset_ns <= INT64_MAX ? window->wall_offset_ns : 0,
		.key_names = options->targets.keys.record_names,
		.key_names_count = options->targets.keys.count,
		.module_names = modules,
		.module_names_count = list_modules(options, modules),
	};

	(void)uname(&system);
	record.kernel_release = system.release;
	record.machine = system.machine;
	recorder->has_told_split = record.kernel_split;
	return output_add(&recorder->output, window_wall_ns(window, window->start_ktime_ns),
			  &record);
}

void watching_say(struct recorder *recorder, struct observed *process)
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

void watching_note_otel(struct recorder *recorder)
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
		       process->pid, process->comm, WATCHING_REASON_OTEL);
	log_info("process %d: %s: its keys are recorded as with --lean, Ruby's exactly; "
		 "ambiguous_ns is no bound of their error",
		 process->pid, WATCHING_REASON_OTEL);
}

int watching_follow(struct recorder *recorder)
{
	struct observed *process = recorder->targets.processes.processes;
	int r = 0;

	/* At the start the first records carry the mode. */
	if (!recorder->output.is_open)
		return 0;
	watching_note_otel(recorder);
	for (; process && r == 0; process = process->hh.next) {
		if (!process->is_mode_new || !process->is_announced)
			continue;
		watching_say(recorder, process);
		r = watching_tell_process(recorder, process, PROCESS_EVENT_MODE,
					  clock_monotonic_ns());
	}
	ways_follow(&recorder->ways, recorder->session, &recorder->targets.processes);
	if (r == 0 && (mode_of_all(recorder) != recorder->mode ||
		       session_has_kernel_split(recorder->session) != recorder->has_told_split))
		r = watching_tell(recorder, recorder->reason);
	return r;
}

/* Makes one process lean at a time, then gives up the split of all. 0 or -errno (logged). */
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

/* Undoes step_down(), the last step first. True: there was a step to undo. */
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

int watching_keep(struct recorder *recorder)
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
	return r == 0 ? watching_follow(recorder) : r;
}
