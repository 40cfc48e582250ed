/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process as /proc shows it, and its identity: a pid alone may be reused, (pid, start time) not.
 * Called by whoever follows processes; any thread; nothing is kept open. Does not log. Facts:
 * proc(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/limits.h>

/* What a process runs: an exec draws the addresses anew. */
struct process_program {
	uint64_t code_start; /* or enum process_code */
	uint64_t code_end;
	uint64_t stack_start;
};

/* In place of an address, fs/proc/array.c do_task_stat(), v6.18. */
enum process_code {
	PROCESS_CODE_NONE = 0, /* a kernel thread, or a leader that its threads outlived */
	PROCESS_CODE_HIDDEN = 1, /* we may not read the process (ptrace(2), access mode checking) */
};

struct process_info {
	pid_t pid;
	pid_t parent_pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat, clock ticks since boot */
	char comm[COMM_BYTES];
	struct process_program program;
	uint32_t ns_pid; /* innermost NSpid of /proc/PID/status; pid without namespaces */
};

/* 0, -ESRCH (no such process, but perhaps a thread, or only a zombie is left of it), -EINVAL (not
 * as proc(5)), -errno. */
int process_read_info(pid_t pid, struct process_info *ret_info);
/*
 * The same but for ns_pid, which is 0, by one read of one small file: cheap enough to be had of
 * every process of the machine.
 */
int process_glance(pid_t pid, struct process_info *ret_info);

/* The process that has this thread, which is not its leader; 0: there is no such thread. */
pid_t process_of_thread(pid_t tid);

bool process_is_same_program(const struct process_program *a, const struct process_program *b);

/*
 * The pid's living descendants, breadth first, from one pass over /proc; without the pid itself,
 * and without the caller and its own. *ret_pids is allocated (free it, never NULL); 0 or -errno. A
 * child born meanwhile may be missed.
 */
int process_find_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count);

/*
 * The value that a variable of the environment had when the program was started, if the environment
 * is no larger than 256 KiB. 0, -ENOENT (there is none, or its value has no room), -EFAULT (another
 * program is being loaded), -errno.
 */
int process_read_variable(pid_t pid, const char *name, char *ret_value, size_t value_bytes);

/*
 * A short name for the server that runs in it by its title and arguments: "puma", "falcon",
 * "unicorn", "sidekiq", "resque", "passenger", "rails"; NULL = none known. Static text.
 */
const char *process_server_name(pid_t pid);
/* The same of a command line as /proc/PID/cmdline gives it: words that end in NUL. Pure. */
const char *process_server_name_of(const char *command_line, size_t size_bytes);
