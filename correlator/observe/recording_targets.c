/* Whom a recording observes: the processes that were named, their children, and those it finds. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/otel_record.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "observe/recording_internal.h"
#include "target/proc/process.h"

static int explain_look_failure(pid_t pid, int result)
{
	if (result == -ESRCH)
		(void)log_error(result, "there is no process %d", pid);
	else if (result == -EPERM || result == -EACCES) {
		(void)log_error(result,
				"not allowed to read process %d: run as its user, as root, or with "
				"CAP_SYS_PTRACE",
				pid);
		return EXIT_CODE_UNSUPPORTED;
	} else
		(void)log_error_errno(result, "cannot look at process %d", pid);
	return result == -ESRCH ? EXIT_CODE_NO_TARGET : EXIT_CODE_FAILURE;
}

/* Keys of OpenTelemetry alone: the process need not be Ruby. */
static int check_otel_target(struct recording *recording, const struct observed *process)
{
	const struct otel_target *otel = &process->target->otel;

	if (otel_target_publisher(otel) && !process->state.is_readable) {
		(void)log_error(EPROTONOSUPPORT,
				"process %d (%s) publishes contexts of OpenTelemetry of a version "
				"that is not known: there is nothing to record",
				process->pid, process->comm);
		return EXIT_CODE_NO_TARGET;
	}
	recording->must_publish = true;
	if (process->state.is_readable)
		recording->has_published = true;
	else
		log_warning("process %d (%s) publishes no context of OpenTelemetry yet: waiting "
			    "for it to load an object that defines " OTEL_RECORD_SYMBOL
			    " (OTEP 4947)",
			    process->pid, process->comm);
	return EXIT_CODE_OK;
}

static int check_target(struct recording *recording, const struct observed *process)
{
	const struct target *target = process->target;

	if (!process->keys->ruby_count)
		return check_otel_target(recording, process);
	if (!target->ruby.is_ruby) {
		(void)log_error(ENOEXEC,
				"process %d (%s) is not Ruby: no loaded object of it "
				"defines ruby_version",
				process->pid, process->comm);
		return EXIT_CODE_NO_TARGET;
	}
	recording->must_publish = true;
	if (process->state.is_readable)
		recording->has_published = true;
	else
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

/* The first look: what else it decides is said by the records of those that are found. */
static int look(struct recording *recording, struct observed *process)
{
	unsigned int decisions;
	int r = observed_look(&recording->processes, process, recording->session,
			      clock_monotonic_ns(), &decisions);

	recording->wants_lean |= (decisions & PROCESS_STEP_DOWN) != 0;
	return r;
}

static int observe_descendants(struct recording *recording, pid_t root)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t count = 0;
	int result = process_find_descendants(root, &pids, &count);

	for (size_t i = 0; !result && i < count; i++) {
		struct observed *process;

		if (observed_find(&recording->processes, pids[i]))
			continue;
		process = observed_add(&recording->processes, pids[i], root, "");
		if (!process)
			return -ENOMEM;
		result = look(recording, process);
		/* A child may end at any moment, and need not be Ruby. */
		if (result == -ESRCH || result == -EPERM || result == -EACCES) {
			observed_remove(&recording->processes, process);
			result = 0;
		}
	}
	return result;
}

static int observe_root(struct recording *recording, pid_t pid, bool must_publish)
{
	struct observed *process = observed_find(&recording->processes, pid);
	int result;

	if (process)
		return EXIT_CODE_OK;
	process = observed_add(&recording->processes, pid, 0, "");
	if (!process)
		return explain_look_failure(pid, -ENOMEM);
	result = look(recording, process);
	if (result)
		return explain_look_failure(pid, result);
	if (must_publish) {
		result = check_target(recording, process);
		if (result)
			return result;
	}
	if (!recording->options->follow_forks)
		return EXIT_CODE_OK;
	result = observe_descendants(recording, pid);
	return result ? explain_look_failure(pid, result) : EXIT_CODE_OK;
}

static int on_found(void *user, struct target *found)
{
	_cleanup_(target_freep) struct target *target = found;
	struct recording *recording = user;
	pid_t pid = target->info.pid;
	struct observed *process = observed_find(&recording->processes, pid);
	int result;

	if (process)
		return 0;
	process = observed_add(&recording->processes, pid, 0, "");
	if (!process)
		return -ENOMEM;
	process->target = TAKE_PTR(target);
	result = look(recording, process);
	if (result) {
		observed_remove(&recording->processes, process);
		return result == -ENOMEM ? result : 0;
	}
	recording->has_found = true;
	/* Those found before are announced and registered with the ones that were named. */
	if (!recording->is_open)
		return 0;
	process->is_announced = true;
	log_info("found process %d (%s)", pid, process->server ? process->server : process->comm);
	return recording_write_process(recording, process, "found", clock_monotonic_ns());
}

int recording_search(struct recording *recording)
{
	int result;

	if (!recording->discovery)
		return 0;
	recording->has_found = false;
	result = discovery_look(recording->discovery, clock_monotonic_ns(), on_found, recording);
	if (!result && recording->has_found && recording->is_open) {
		(void)recording_follow_mode(recording);
		result = session_register_threads(recording->session);
	}
	if (result)
		return log_error_errno(result, "cannot search the machine's processes");
	return 0;
}

static int begin_search(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	struct target_keys keys = key_options_target(&options->keys);

	if (!options->searches)
		return EXIT_CODE_OK;
	if (discovery_new(options->comm, options->cgroup, &keys, &recording->discovery) < 0)
		return EXIT_CODE_FAILURE;
	if (recording_search(recording))
		return EXIT_CODE_FAILURE;
	if (!recording->processes.processes)
		log_info("no Ruby process that publishes contexts yet: waiting for one");
	return EXIT_CODE_OK;
}

int recording_observe_targets(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	int code = begin_search(recording);

	for (size_t i = 0; !code && i < options->pid_count; i++)
		code = observe_root(recording, options->pids[i], true);
	if (!code && options->command) {
		if (child_command_start(options->command,
					options->output && !strcmp(options->output, "-"),
					&recording->child))
			return EXIT_CODE_FAILURE;
		code = observe_root(recording, recording->child.pid, false);
		/* Not the program that it will be: looked at anew after its exec. */
		if (!code)
			observed_execute(observed_find(&recording->processes, recording->child.pid),
					 clock_monotonic_ns());
	}
	if (!code && recording_follow_mode(recording) < 0)
		return EXIT_CODE_FAILURE;
	return code;
}

int recording_check_pids(const struct recording_options *options)
{
	struct process_info info;

	for (size_t i = 0; i < options->pid_count; i++) {
		int result = process_read_info(options->pids[i], &info);

		if (result)
			return explain_look_failure(options->pids[i], result);
	}
	return EXIT_CODE_OK;
}
