/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/alert_program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/file_rights.h"
#include "base/log.h"
#include "base/open_files.h"
#include "base/rights.h"

void alert_program_init(struct alert_program *program, const char *path)
{
	*program = (struct alert_program){ .path = path, .pid_fd = -1 };
}

static void free_run(struct alert_run *run)
{
	for (size_t i = 0; run->variables[i]; i++)
		free(run->variables[i]);
	*run = (struct alert_run){ 0 };
}

void alert_program_deinit(struct alert_program *program)
{
	if (program->count || program->dropped)
		log_warning("--on-alert %s: not run for the last %" PRIu64 " changes",
			    program->path, program->count + program->dropped);
	for (; program->count; program->count--) {
		free_run(&program->runs[program->first]);
		program->first = (program->first + 1) % ALERT_RUNS_MAX;
	}
	if (program->pid)
		cleanup_fd(&program->pid_fd);
	program->pid = 0;
}

int alert_program_check(const char *path)
{
	struct stat status;

	bool is_there = stat(path, &status) == 0;

	if (is_there && !S_ISREG(status.st_mode))
		errno = EACCES;
	else if (is_there && access(path, X_OK) == 0) {
		file_rights_warn(path, &status, "choose what is run");
		return 0;
	}
	(void)log_error_errno(errno, "--on-alert %s: not the path of a program", path);
	return -EINVAL;
}

/* Appends a variable. False: no memory. */
__attribute__((format(printf, 2, 3))) static bool put(struct alert_run *run, const char *format,
						      ...)
{
	size_t count = 0;
	va_list arguments;
	int length;

	while (run->variables[count])
		count++;
	va_start(arguments, format);
	length = vasprintf(&run->variables[count], format, arguments);
	va_end(arguments);
	if (length < 0)
		run->variables[count] = NULL;
	return length >= 0;
}

static bool put_inherited(struct alert_run *run)
{
	static const char *const names[] = { "PATH", "HOME", "LANG", "TZ" };
	bool is_put = true;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && is_put; i++) {
		const char *value = getenv(names[i]);

		if (value)
			is_put = put(run, "%s=%s", names[i], value);
	}
	return is_put;
}

#define VARIABLE "CORRELATOR_ALERT_"

static bool put_change(struct alert_run *run, const struct alert_change *change)
{
	const struct alert_expression *expression = change->expression;
	bool has_key = change->value_of_key != NULL;

	return put(run, VARIABLE "EXPRESSION=%s", expression->text) &&
	       put(run, VARIABLE "STATE=%s", change->is_firing ? "firing" : "resolved") &&
	       put(run, VARIABLE "KEY=%s", expression->key) &&
	       put(run, VARIABLE "GROUP=%s", has_key ? change->value_of_key : "") &&
	       (change->has_value ? put(run, VARIABLE "VALUE=%" PRId64, change->value)
				  : put(run, VARIABLE "VALUE=")) &&
	       put(run, VARIABLE "THRESHOLD=%" PRId64, expression->limit) &&
	       put(run, VARIABLE "UNIT=%s", alert_unit_name(expression->unit)) &&
	       put(run, VARIABLE "SINCE_NS=%" PRIu64, change->since_ns) &&
	       put(run, VARIABLE "TIME_NS=%" PRIu64, change->wall_ns);
}

/* Our standard output may carry records. */
static int set_files(posix_spawn_file_actions_t *actions)
{
	int r = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

	if (r == 0)
		r = posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
	return r == 0 ? posix_spawn_file_actions_addclosefrom_np(actions, STDERR_FILENO + 1) : r;
}

/* Signals as a program expects them, and a session of its own. */
static int set_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, ignored;
	int r;

	(void)sigemptyset(&none);
	(void)sigemptyset(&ignored);
	(void)sigaddset(&ignored, SIGPIPE);
	(void)sigaddset(&ignored, SIGXFSZ);
	r = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
							 POSIX_SPAWN_SETSIGDEF);
	if (r == 0)
		r = posix_spawnattr_setsigmask(attributes, &none);
	return r == 0 ? posix_spawnattr_setsigdefault(attributes, &ignored) : r;
}

/*
 * When posix_spawn() returns, the child has left our memory and descriptors: no child that has yet
 * to begin keeps them open. 0 or -errno.
 */
static int spawn(const char *path, char *const *variables, pid_t *ret_pid)
{
	RIGHTS_OF_CALLER;
	char *const argv[] = { (char *)path, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = posix_spawn_file_actions_init(&actions);

	if (r)
		return -r;
	r = posix_spawnattr_init(&attributes);
	if (r == 0) {
		r = set_files(&actions);
		if (r == 0)
			r = set_attributes(&attributes);
		if (r == 0) {
			open_files_restore();
			r = posix_spawn(ret_pid, path, &actions, &attributes, argv, variables);
			open_files_raise();
		}
		(void)posix_spawnattr_destroy(&attributes);
	}
	(void)posix_spawn_file_actions_destroy(&actions);
	return -r;
}

static void start(struct alert_program *program, const struct alert_run *run, uint64_t now_ns)
{
	int r = spawn(program->path, run->variables, &program->pid);

	if (r < 0) {
		program->pid = 0;
		(void)log_error_errno(r, "--on-alert %s: cannot start", program->path);
		return;
	}
	program->pid_fd = pidfd_open(program->pid, 0);
	program->end_ns = now_ns + ALERT_PROGRAM_NS;
}

static void start_next(struct alert_program *program, uint64_t now_ns)
{
	while (!program->pid && program->count) {
		struct alert_run *run = &program->runs[program->first];

		start(program, run, now_ns);
		free_run(run);
		program->first = (program->first + 1) % ALERT_RUNS_MAX;
		program->count--;
	}
}

static void say_end(const struct alert_program *program, int status)
{
	if (WIFSIGNALED(status))
		log_warning("--on-alert %s: killed by signal %d", program->path, WTERMSIG(status));
	else if (WEXITSTATUS(status))
		log_warning("--on-alert %s: ended with status %d", program->path,
			    WEXITSTATUS(status));
}

static void reap(struct alert_program *program)
{
	int status;

	if (!program->pid || waitpid(program->pid, &status, WNOHANG) == 0)
		return;
	say_end(program, status);
	if (program->pid_fd >= 0)
		(void)close(TAKE_FD(program->pid_fd));
	program->pid = 0;
}

/* Kills all that it has started, too: its session is its own. */
static void end_late(struct alert_program *program, uint64_t now_ns)
{
	if (!program->pid || now_ns < program->end_ns)
		return;
	log_warning("--on-alert %s: goes on for more than %d s", program->path,
		    (int)(ALERT_PROGRAM_NS / NS_PER_S));
	(void)kill(-program->pid, SIGKILL);
	(void)kill(program->pid, SIGKILL);
	/* It is reaped when it has ended. */
	program->end_ns = UINT64_MAX;
}

void alert_program_continue(struct alert_program *program, uint64_t now_ns)
{
	reap(program);
	end_late(program, now_ns);
	start_next(program, now_ns);
	if (program->count || !program->dropped)
		return;
	log_warning("--on-alert %s: not run for %" PRIu64 " changes: there were too many at a time",
		    program->path, program->dropped);
	program->dropped = 0;
}

void alert_program_add(struct alert_program *program, const struct alert_change *change,
		       uint64_t now_ns)
{
	_cleanup_(free_run) struct alert_run run = { 0 };

	if (!program->path)
		return;
	if (program->count == ALERT_RUNS_MAX || !put_inherited(&run) || !put_change(&run, change)) {
		program->dropped++;
		return;
	}
	program->runs[(program->first + program->count++) % ALERT_RUNS_MAX] = run;
	run = (struct alert_run){ 0 };
	alert_program_continue(program, now_ns);
}

int alert_program_fd(const struct alert_program *program)
{
	return program->pid ? program->pid_fd : -1;
}

uint64_t alert_program_due_ns(const struct alert_program *program)
{
	return program->pid ? program->end_ns : UINT64_MAX;
}
