/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A process as /proc shows it, and its identity: a pid alone may be reused, (pid, start time) may
 * not. Called by the code that follows processes; any thread; nothing is kept open. Does not log.
 * Facts: proc(5).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/limits.h>

/* The program that a process runs: an exec randomizes the addresses anew. */
struct process_program {
	uint64_t code_start; /* or enum process_code */
	uint64_t code_end;
	uint64_t stack_start;
};

/* In place of an address, fs/proc/array.c do_task_stat(), v6.18. */
enum process_code {
	PROCESS_CODE_NONE = 0, /* a kernel thread, or an exited leader whose threads run on */
	PROCESS_CODE_HIDDEN = 1, /* we may not read the process (ptrace(2), access mode checking) */
};

struct process_info {
	pid_t pid;
	pid_t parent_pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat, clock ticks since boot */
	char comm[COMM_BYTES];
	struct process_program program;
	uint32_t ns_pid; /* innermost NSpid of /proc/PID/status; pid without namespaces */
	uid_t effective_uid; /* of /proc/PID/status, as our user namespace has it */
};

/*
 * 0; -ESRCH: no such process (pid is a thread's, or only a zombie is left); -EINVAL: not as proc(5)
 * says; -errno.
 */
int process_read_info(pid_t pid, struct process_info *ret_info);
/*
 * Fills in all but ns_pid, which is 0, and effective_uid, which is nobody's (-1), by one read of
 * one small file: cheap enough for every process of the machine.
 */
int process_glance(pid_t pid, struct process_info *ret_info);

/* The process of a thread that is not its leader; 0 = no such thread. */
pid_t process_of_thread(pid_t tid);

bool process_is_same_program(const struct process_program *a, const struct process_program *b);

/*
 * The pid's living descendants, breadth first, from one pass over /proc; excludes the pid itself,
 * the caller and the caller's descendants. *ret_pids is allocated (free it, never NULL); 0 or
 * -errno. A child born during the pass may be missed.
 */
int process_find_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count);

/*
 * Reads the value that an environment variable had when the program was started, if the environment
 * is no larger than 256 KiB. 0, -ENOENT (not set, or the value does not fit in value_bytes),
 * -EFAULT (another program is being loaded), -errno.
 */
int process_read_variable(pid_t pid, const char *name, char *ret_value, size_t value_bytes);

/*
 * A short name for the server that the process runs, by its title and arguments: "puma", "falcon",
 * "unicorn", "sidekiq", "resque", "passenger", "rails"; NULL = none known. Static text.
 */
const char *process_server_name(pid_t pid);
/*
 * process_server_name for a command line in the format of /proc/PID/cmdline: NUL-terminated words.
 * Pure.
 */
const char *process_server_name_of(const char *command_line, size_t size_bytes);
