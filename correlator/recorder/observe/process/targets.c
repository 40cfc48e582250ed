/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/process/targets.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <correlator/otel_record.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/rights.h"
#include "recorder/observe/process/look_failure.h"
#include "recorder/target/proc/agent.h"
#include "recorder/target/proc/process.h"
#include "recorder/target/proc/process_access.h"

/* True (logged) if its memory or files could not be read in time: its kind is unknown. */
static bool is_given_up(const struct observed *process)
{
	if (!agent_has_given_up(process->pid))
		return false;
	log_warning("process %d (%s) cannot be inspected now: retrying; until then its CPU is "
		    "in no request",
		    process->pid, process->comm);
	return true;
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
	return EXIT_CODE_OK;
}

/* A named process, or a child of it, must be able to publish, now or later. Exit code. */
static int check_target(const struct observed *process)
{
	const struct target *target = process->target;

	if (!process->keys->ruby_count)
		return check_otel_target(process);
	if (!target->ruby.is_ruby && is_given_up(process))
		return EXIT_CODE_OK;
	if (!target->ruby.is_ruby) {
		(void)log_error(ENOEXEC,
				"process %d (%s) is not Ruby: no loaded object of it "
				"defines ruby_version",
				process->pid, process->comm);
		return EXIT_CODE_NO_TARGET;
	}
	return EXIT_CODE_OK;
}

/* Warns that neither the named process nor a child of it publishes. */
static void say_silent(const struct observed *process)
{
	const struct target *target = process->target;

	if (!process->keys->ruby_count)
		return log_warning(
			"process %d (%s) publishes no context of OpenTelemetry yet: "
			"waiting for it to load an object that defines " OTEL_RECORD_SYMBOL
			" (OTEP 4947)",
			process->pid, process->comm);
	/* Already logged if the agent has given up on the process. */
	if (!target->ruby.is_ruby)
		return;
	log_warning("process %d (%s, Ruby %s) publishes no context yet: waiting for it to "
		    "load the gem; if it never does, add the gem `correlator` (or "
		    "`ruby-profiler`) to the application and restart it",
		    process->pid, process->comm, target->ruby.version);
	if (target->walk.unreadable_count)
		log_warning(
			"%zu of its files could not be opened, among them %s: what was replaced "
			"since it was loaded, or is in a folder that we may not enter, takes "
			"root or CAP_CHECKPOINT_RESTORE",
			target->walk.unreadable_count, target->walk.unreadable_path);
}

/* The first look. Its decisions need no log: the record of the found process covers them. */
static int look(struct targets *targets, struct observed *process, struct session *session)
{
	unsigned int decisions;

	return observed_look(&targets->processes, process, session, clock_monotonic_ns(),
			     &decisions);
}

/* Removes a process that could not be looked at, in the kernel side, too. */
static void forget(struct targets *targets, struct observed *process, struct session *session)
{
	session_remove_process(session, process->life, process->pid);
	observed_remove(&targets->processes, process);
}

/*
 * Looks up the process that has this pid now. 1: it is new, and *ret_process is added; 0: it was
 * observed already, and *ret_process is NULL if that is not reported yet; -ESRCH; -errno.
 * parent_life: the process whose family it joins; 0 = a family of its own.
 */
static int meet(struct targets *targets, struct session *session, pid_t pid, uint64_t parent_life,
		struct observed **ret_process)
{
	struct observed_table *processes = &targets->processes;
	struct process_info info;
	uint64_t life;
	int r = process_glance(pid, &info);

	if (r < 0)
		return r;
	*ret_process = observed_find_pid(processes, pid, info.start_ticks);
	if (*ret_process)
		return 0;
	r = session_begin_life(session, pid, info.start_ticks, &life);
	if (r < 0)
		return r;
	/* Forked: its fork event is still to come, or else its first account announces it. */
	if (r > 0) {
		*ret_process = observed_find(processes, life);
		if (*ret_process)
			(*ret_process)->start_ticks = info.start_ticks;
		return 0;
	}
	*ret_process = observed_add(processes, life, pid, parent_life, "");
	if (!*ret_process) {
		session_remove_process(session, life, pid);
		return -ENOMEM;
	}
	(*ret_process)->start_ticks = info.start_ticks;
	return 1;
}

/* Sets *publishes if a descendant publishes. */
static int observe_descendants(struct targets *targets, struct session *session,
			       const struct observed *root, bool *publishes)
{
	_cleanup_free_ pid_t *pids = NULL;
	size_t count = 0, unreadable = 0;
	int r = process_find_descendants(root->pid, &pids, &count);

	for (size_t i = 0; r == 0 && i < count; i++) {
		struct observed *process;

		r = meet(targets, session, pids[i], root->life, &process);
		if (r > 0) {
			r = look(targets, process, session);
			if (r < 0)
				forget(targets, process, session);
			else
				*publishes |= process->state.is_readable;
		} else if (r == 0 && process) {
			*publishes |= process->state.is_readable;
		}
		if (r == 0)
			continue;
		/* A child may end at any moment, and need not be Ruby. */
		if (r == -ESRCH || r == -EPERM || r == -EACCES) {
			unreadable += r != -ESRCH;
			r = 0;
		}
	}
	if (unreadable)
		log_warning("%zu children of process %d may not be read, and are not observed",
			    unreadable, root->pid);
	if (r != -EDQUOT)
		return r;
	log_warning("process %d has more children than there is room for: some are not observed",
		    root->pid);
	return 0;
}

static int observe_root(struct targets *targets, struct session *session, pid_t pid,
			bool must_publish)
{
	struct observed *process;
	bool publishes;
	int r = meet(targets, session, pid, 0, &process);

	if (r == 0)
		return EXIT_CODE_OK;
	if (r > 0)
		r = look(targets, process, session);
	if (r < 0)
		return look_failure_explain(pid, r);
	if (must_publish) {
		int code = check_target(process);

		if (code != EXIT_CODE_OK)
			return code;
		targets->must_publish = true;
	}
	publishes = process->state.is_readable;
	if (targets->options->follow_forks)
		r = observe_descendants(targets, session, process, &publishes);
	targets->has_published |= publishes;
	if (must_publish && !publishes && r == 0)
		say_silent(process);
	return r < 0 ? look_failure_explain(pid, r) : EXIT_CODE_OK;
}

/* The context of a search's callbacks. */
struct search {
	struct targets *targets;
	struct session *session;
	bool has_found;
};

static int on_found(void *user, struct target *found)
{
	_cleanup_(target_freep) struct target *target = found;
	struct search *search = user;
	pid_t pid = target->info.pid;
	struct observed *process;
	int r = meet(search->targets, search->session, pid, 0, &process);

	if (r <= 0) {
		session_unwatch(search->session, pid);
		return r == -ENOMEM ? r : 0;
	}
	process->target = TAKE_PTR(target);
	r = look(search->targets, process, search->session);
	/* Its own probes are placed: remove those that it had as a candidate. */
	session_unwatch(search->session, pid);
	if (r < 0) {
		forget(search->targets, process, search->session);
		return r == -ENOMEM ? r : 0;
	}
	search->has_found = process->is_found = search->targets->has_found = true;
	search->targets->has_published |= process->state.is_readable;
	return 0;
}

/* Without events from its loader, the candidate is polled. */
static int on_candidate(void *user, const struct target *target)
{
	struct search *search = user;
	pid_t pid = target->info.pid;
	struct session_probe loader = { .kind = SESSION_PROBE_LOADER,
					.identify = observed_identify_file,
					.file = target->loader,
					.file_offsets = &target->loader_offset,
					.count = 1 };

	if (!target->loader)
		return -ENOENT;
	loader.fd = object_file_fd(target->loader);
	return session_watch(search->session, pid, &loader);
}

static void on_dropped(void *user, pid_t pid)
{
	struct search *search = user;

	session_unwatch(search->session, pid);
}

bool targets_search(struct targets *targets, struct session *session, uint64_t now_ns)
{
	struct search search = { .targets = targets, .session = session };
	const struct discovery_owner owner = { on_found, on_candidate, on_dropped, &search };
	int r;

	if (!targets->discovery)
		return false;
	if (session_has_lost_strangers(session))
		discovery_expect_any(targets->discovery, now_ns);
	if (now_ns < discovery_next_look(targets->discovery))
		return false;
	r = discovery_look(targets->discovery, now_ns, &owner);
	if (r < 0 && !targets->has_search_failed)
		(void)log_error_errno(r, "cannot search the machine's processes");
	targets->has_search_failed = r < 0;
	return search.has_found;
}

uint64_t targets_next_search(const struct targets *targets)
{
	return targets->discovery ? discovery_next_look(targets->discovery) : UINT64_MAX;
}

void targets_expect(struct targets *targets, pid_t pid)
{
	if (targets->discovery)
		discovery_expect(targets->discovery, pid, clock_monotonic_ns());
}

/* Warns about processes that a search skips. */
static void say_unreadable(const struct targets *targets)
{
	size_t count = discovery_unreadable(targets->discovery);

	if (count)
		log_warning("skipping %zu processes that may not be read%s", count,
			    process_access_lacks());
}

/* Refuses to wait for processes that we cannot see. */
static bool refuse_blind_search(const struct targets *targets)
{
	size_t count = discovery_unreadable(targets->discovery);

	if (!count || (process_access_is_general() && rights_reach_others()))
		return false;
	(void)log_error(EPERM,
			"found no Ruby process that publishes contexts, but %zu processes may not "
			"be read%s",
			count, process_access_lacks());
	return true;
}

bool targets_were_hidden(const struct targets *targets)
{
	return targets->discovery && !targets->has_found && refuse_blind_search(targets);
}

static int begin_search(struct targets *targets, struct session *session)
{
	const struct targets_options *options = targets->options;
	struct target_keys keys = key_options_target(&options->keys);

	if (!options->searches)
		return EXIT_CODE_OK;
	if (discovery_new(options->comm, options->cgroup, &keys, targets->files,
			  &targets->discovery) < 0)
		return EXIT_CODE_FAILURE;
	(void)targets_search(targets, session, clock_monotonic_ns());
	if (targets->has_search_failed)
		return EXIT_CODE_FAILURE;
	if (targets->processes.processes || options->pid_count || options->command)
		say_unreadable(targets);
	else if (refuse_blind_search(targets))
		return EXIT_CODE_UNSUPPORTED;
	else
		log_info("no Ruby process that publishes contexts yet: waiting for one");
	return EXIT_CODE_OK;
}

static void await_exec(struct observed_table *processes, pid_t pid)
{
	struct observed *process = observed_find_pid(processes, pid, 0);

	if (process)
		observed_execute(process, process->image, clock_monotonic_ns());
}

int targets_observe(struct targets *targets, struct session *session, bool takes_output)
{
	const struct targets_options *options = targets->options;
	struct child_command *child = &targets->child;
	int code = begin_search(targets, session);

	for (size_t i = 0; code == EXIT_CODE_OK && i < options->pid_count; i++)
		code = observe_root(targets, session, options->pids[i], true);
	if (code != EXIT_CODE_OK || !options->command)
		return code;
	if (child_command_start(options->command, takes_output, child) < 0)
		return EXIT_CODE_FAILURE;
	code = observe_root(targets, session, child->pid, false);
	/* The child does not run its program yet: looked at again after its exec. */
	if (code == EXIT_CODE_OK)
		await_exec(&targets->processes, child->pid);
	return code;
}

enum exit_code targets_release(struct targets *targets)
{
	if (!targets->child.pid)
		return EXIT_CODE_OK;
	return child_command_release(&targets->child, targets->options->command[0]);
}

int targets_prepare(struct targets *targets, const struct targets_options *options)
{
	struct process_info info;

	targets->options = options;
	targets->files = object_files_new();
	if (!targets->files)
		return EXIT_CODE_FAILURE;
	targets->processes.keys = &options->keys;
	targets->processes.files = targets->files;
	for (size_t i = 0; i < options->pid_count; i++) {
		int r = process_read_info(options->pids[i], &info);

		if (r < 0)
			return look_failure_explain(options->pids[i], r);
	}
	return EXIT_CODE_OK;
}

void targets_deinit(struct targets *targets)
{
	observed_table_deinit(&targets->processes);
	discovery_free(targets->discovery);
	object_files_free(targets->files);
	child_command_deinit(&targets->child);
}

static bool have_exited(const struct targets *targets)
{
	const struct observed *process = targets->processes.processes;

	for (; process; process = process->hh.next)
		if (process->state.stage != PROCESS_EXITED)
			return false;
	return true;
}

bool targets_are_over(const struct targets *targets)
{
	const struct targets_options *options = targets->options;

	if (child_command_runs(&targets->child))
		return false;
	/* With other targets, the command determines the duration. */
	if (targets->child.pid && (options->pid_count || options->searches))
		return true;
	return have_exited(targets) && !targets->discovery;
}

/* Its pid is free, or another process's. A zombie keeps its pid. */
static bool has_gone(const struct observed *process)
{
	if (kill(process->pid, 0) < 0)
		return errno == ESRCH;
	return !process->has_threads && !observed_has_pid(process);
}

void targets_find_lost_exits(struct targets *targets)
{
	struct observed *process = targets->processes.processes;

	for (; process; process = process->hh.next)
		if (process->state.stage != PROCESS_EXITED && has_gone(process))
			process_on_exited(&process->state, clock_monotonic_ns());
}
