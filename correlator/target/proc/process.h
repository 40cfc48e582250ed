/*
 * A process as /proc shows it, and its identity: a pid alone may be reused, (pid, start time) not.
 * Called by whoever follows processes; any thread; nothing is kept open. Does not log.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <correlator/limits.h>

struct process_info {
	pid_t pid;
	pid_t parent_pid;
	uint64_t start_ticks; /* field 22 of /proc/PID/stat, clock ticks since boot */
	uint32_t ns_pid; /* innermost NSpid of /proc/PID/status; pid without namespaces */
	uint32_t uid; /* real */
	bool has_exec_ns; /* false: the kernel has no schedstat */
	uint64_t exec_ns; /* sum of field 1 of schedstat over the living threads */
	char comm[COMM_BYTES];
};

/* 0, -ESRCH (no such process, or only a zombie is left of it), -EINVAL (not as proc(5)), -errno. */
int process_read_info(pid_t pid, struct process_info *ret_info);

/*
 * The pid's living descendants, breadth first, from one pass over /proc; without the pid itself.
 * *ret_pids is allocated (free it, never NULL); 0 or -errno. A child born meanwhile may be missed.
 */
int process_find_descendants(pid_t pid, pid_t **ret_pids, size_t *ret_count);

/* The tids of a process: 0, -ESRCH, -errno. *ret_tids is allocated, as above. */
int process_find_threads(pid_t pid, pid_t **ret_tids, size_t *ret_count);

/*
 * A short name for the server that runs in it by its title and arguments: "puma", "falcon",
 * "unicorn", "sidekiq", "resque", "passenger", "rails"; NULL = none known. Static text.
 */
const char *process_server_name(pid_t pid);
/* The same of a command line as /proc/PID/cmdline gives it: words that end in NUL. Pure. */
const char *process_server_name_of(const char *command_line, size_t size_bytes);
