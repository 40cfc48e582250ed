/* SPDX-License-Identifier: GPL-2.0-only */
#include "observe/targets.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/otel_record.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "target/proc/process.h"

static int explain_look_failure(pid_t pid, int r)
{
	if (r == -ESRCH)
		(void)log_error(r, "there is no process %d", pid);
	else if (r == -EPERM || r == -EACCES) {
		(void)log_error(r,
				"not allowed to read process %d: run as its user, as root, or with "
				"CAP_SYS_PTRACE",
				pid);
		return EXIT_CODE_UNSUPPORTED;
	} else
		(void)log_error_errno(r, "cannot look at process %d", pid);
	return r == -ESRCH ? EXIT_CODE_NO_TARGET : EXIT_CODE_FAILURE;
}

/* Keys of OpenTelemetry alone: the process need not be Ruby. */
static int check_otel_target(const struct observed *process)
{
	const struct otel_target *otel = &process->target->otel;

	if (otel_target_publisher(otel) && !process->state.is_readable) {
		(void)log_error(EPROTONOSUPPORT,
				"process %d (%s) publishes contexts of OpenTelemetry of a version "
				"that is not known: there is nothing to record",
				process->pid, process->comm);
		return EXIT_CODE_NO_TARGET;
	}
	if (!process->state.is_readable)
		log_warning("process %d (%s) publishes no context of OpenTelemetry yet: waiting "
			    "for it to load an object that defines " OTEL_RECORD_SYMBOL
			    " (OTEP 4947)",
			    process->pid, process->comm);
	return EXIT_CODE_OK;
}

/* Of one that was named: it is to publish, now or later. Exit code. */
static int check_target(const struct observed *process)
{
	const struct target *target = process->target;

	if (!process->keys->ruby_count)
		return check_otel_target(process);
	if (!target->ruby.is_ruby) {
		(void)log_error(ENOEXEC,
				"process %d (%s) is not Ruby: no loaded object of it "
				"defines ruby_version",
				process->pid, process->comm);
		return EXIT_CODE_NO_TARGET;
	}
	if (!process->state.is_readable)
		log_warning("process %d (%s, Ruby %s) publishes no context yet: waiting for it to "
			    "load the gem; if it never does, add the gem `correlator` (or "
			    "`ruby-profiler`) to the application and restart it",
			    process->pid, process->comm, target->ruby.version);
	if (target->walk.unreadable_count && !process->state.is_readable)
		log_warning("%zu of its files could not be opened, among them %s: if replaced "
			    "since they were loaded, only root, or CAP_CHECKPOINT_RESTORE, can",
			    target->walk.unreadable_count, target->walk.unreadable_path);
	return EXIT_CODE_OK;
}

int targets_look(struct targets *targets, struct observed *process, struct session *session,
		 uint64_t now_ns, unsigned int *ret_decisions)
{
	int r = observed_look(&targets->processes, process, session, now_ns, ret_decisions);

	targets->wants_lean |= (*ret_decisions & PROCESS_STEP_DOWN) != 0;
	return r;
}

/* The first time: what is to be said of it is in the record that it was found. */
static int look(struct targets *targets, struct observed *process, struct session *session)
{
	unsigned int decisions;

	return targets_look(targets, process, session, clock_monotonic_ns(), &decisions);
}

static int observe_descendants(struct targets *targets, struct session *session, pid_t root)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t count = 0;
	int r = process_find_descendants(root, &pids, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct observed *process;

		if (observed_find(&targets->processes, pids[i]))
			continue;
		process = observed_add(&targets->processes, pids[i], root, "");
		if (!process)
			return -ENOMEM;
		r = look(targets, process, session);
		/* A child may end at any moment, and need not be Ruby. */
		if (r == -ESRCH || r == -EPERM || r == -EACCES) {
			observed_remove(&targets->processes, process);
			r = 0;
		}
	}
	return r;
}

static int observe_root(struct targets *targets, struct session *session, pid_t pid,
			bool must_publish)
{
	struct observed *process = observed_find(&targets->processes, pid);
	int r;

	if (process)
		return EXIT_CODE_OK;
	process = observed_add(&targets->processes, pid, 0, "");
	if (!process)
		return explain_look_failure(pid, -ENOMEM);
	r = look(targets, process, session);
	if (r < 0)
		return explain_look_failure(pid, r);
	if (must_publish) {
		int code = check_target(process);

		if (code != EXIT_CODE_OK)
			return code;
		targets->must_publish = true;
		targets->has_published |= process->state.is_readable;
	}
	if (!targets->options->follow_forks)
		return EXIT_CODE_OK;
	r = observe_descendants(targets, session, pid);
	return r < 0 ? explain_look_failure(pid, r) : EXIT_CODE_OK;
}

/* Where a search reports to. */
struct search {
	struct targets *targets;
	struct session *session;
	bool has_found;
};

static int on_found(void *user, struct target *found)
{
	_cleanup_(target_freep) struct target *target = found;
	struct search *search = user;
	struct observed_table *processes = &search->targets->processes;
	pid_t pid = target->info.pid;
	struct observed *process = observed_find(processes, pid);
	int r;

	if (process)
		return 0;
	process = observed_add(processes, pid, 0, "");
	if (!process)
		return -ENOMEM;
	process->target = TAKE_PTR(target);
	r = look(search->targets, process, search->session);
	if (r < 0) {
		observed_remove(processes, process);
		return r == -ENOMEM ? r : 0;
	}
	search->has_found = process->is_found = true;
	return 0;
}

int targets_search(struct targets *targets, struct session *session)
{
	struct search search = { .targets = targets, .session = session };
	int r;

	if (!targets->discovery)
		return 0;
	r = discovery_look(targets->discovery, clock_monotonic_ns(), on_found, &search);
	if (r < 0)
		return log_error_errno(r, "cannot search the machine's processes");
	return search.has_found;
}

static int begin_search(struct targets *targets, struct session *session)
{
	const struct recording_options *options = targets->options;
	struct target_keys keys = key_options_target(&options->keys);

	if (!options->searches)
		return EXIT_CODE_OK;
	if (discovery_new(options->comm, options->cgroup, &keys, &targets->discovery) < 0)
		return EXIT_CODE_FAILURE;
	if (targets_search(targets, session) < 0)
		return EXIT_CODE_FAILURE;
	if (!targets->processes.processes)
		log_info("no Ruby process that publishes contexts yet: waiting for one");
	return EXIT_CODE_OK;
}

int targets_observe(struct targets *targets, struct session *session)
{
	const struct recording_options *options = targets->options;
	struct child_command *child = &targets->child;
	int code = begin_search(targets, session);

	for (size_t i = 0; code == EXIT_CODE_OK && i < options->pid_count; i++)
		code = observe_root(targets, session, options->pids[i], true);
	if (code != EXIT_CODE_OK || !options->command)
		return code;
	if (child_command_start(options->command,
				options->output && strcmp(options->output, "-") == 0, child) < 0)
		return EXIT_CODE_FAILURE;
	code = observe_root(targets, session, child->pid, false);
	/* Not the program that it will be: looked at anew after its exec. */
	if (code == EXIT_CODE_OK)
		observed_execute(observed_find(&targets->processes, child->pid),
				 clock_monotonic_ns());
	return code;
}

int targets_release(struct targets *targets)
{
	if (!targets->child.pid)
		return 0;
	return child_command_release(&targets->child, targets->options->command[0]);
}

int targets_prepare(struct targets *targets, const struct recording_options *options)
{
	struct process_info info;

	targets->options = options;
	targets->processes.keys = &options->keys;
	for (size_t i = 0; i < options->pid_count; i++) {
		int r = process_read_info(options->pids[i], &info);

		if (r < 0)
			return explain_look_failure(options->pids[i], r);
	}
	return EXIT_CODE_OK;
}

void targets_deinit(struct targets *targets)
{
	observed_table_deinit(&targets->processes);
	discovery_free(targets->discovery);
	child_command_deinit(&targets->child);
}

bool targets_have_exited(const struct targets *targets)
{
	const struct observed *process = targets->processes.processes;

	for (; process; process = process->hh.next)
		if (process->state.stage != PROCESS_EXITED)
			return false;
	return true;
}

void targets_find_lost_exits(struct targets *targets)
{
	struct observed *process = targets->processes.processes;

	for (; process; process = process->hh.next)
		if (process->state.stage != PROCESS_EXITED && kill(process->pid, 0) < 0 &&
		    errno == ESRCH)
			process_on_exited(&process->state, clock_monotonic_ns());
}
