/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Accesses that a target can delay: to its memory and to the files that it maps. A page behind
 * userfaultfd(2), or a file on a file system that somebody else serves (FUSE; an overlay over FUSE,
 * in a user namespace; NFS whose server is gone), arrives when its server likes. Until then the
 * reader sleeps and ignores all signals but SIGKILL, at times SIGKILL, too. For a file this holds
 * for open, stat(2), read and close. So a child process of ours makes these calls; it holds nothing
 * but the buffer for the data, and can be abandoned. We ourselves hold only O_PATH descriptors of
 * files: the agent opens them, and closing one waits for nobody.
 *
 * All files go through the agent, whatever their file system: nothing shows what lies below an
 * overlay. A turn of the agent costs some ten microseconds; a file that is already known costs none
 * in further processes (object_file.h).
 *
 * A process whose memory or file did not arrive is left alone for a while. The more of them there
 * were recently, the shorter the deadline of the next one: together they cost little.
 *
 * One agent for all of Correlator, forked by the first request; any thread, serialized. It exits
 * with us. An abandoned agent exits as soon as what it waits for arrives or ceases to exist, and
 * until then holds what it has of ours (the program that identifies a file, the file). Facts:
 * userfaultfd(2), "Reading from a process"; handle_userfault() of fs/userfaultfd.c and
 * request_wait_answer() of fs/fuse/dev.c, v6.18.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "recorder/target/proc/memory_reader.h"

enum {
	AGENT_NAME_BYTES = PATH_MAX + 64,
	AGENT_DATA_BYTES = 1024, /* of data given to a function, and of its answer */
	/* Per call of a function; libdw's first one takes 6 ms to be relocated, 0.1 ms when it is.
	 */
	AGENT_CALL_CPU_MS = 50,
};

/* The names to open a file by. */
struct agent_file_names {
	char by_mapping[AGENT_NAME_BYTES]; /* /proc/PID/map_files/..., tried first; "" = none */
	char by_path[AGENT_NAME_BYTES]; /* below the process's root; "" = none */
	uint64_t inode; /* required of the file at by_path; 0 = any */
};

/*
 * All functions below act on behalf of process pid; name is the file's, for the log. -ETIMEDOUT: no
 * answer in time (logged once per process), or none at an earlier request; -errno also if no agent
 * can be started.
 */

/* Like memory_read_many on a live process, through its thread tid: the leader, or another one. */
int agent_read_memory(pid_t pid, pid_t tid, const struct memory_span *spans, size_t count);
/*
 * Returns an O_PATH descriptor of a readable regular file, owned by the caller; -ESTALE: another
 * file.
 */
int agent_open_file(pid_t pid, const char *name, const struct agent_file_names *names,
		    struct stat *ret_status);
int agent_stat_file(pid_t pid, const char *name, const struct agent_file_names *names,
		    struct stat *ret_status);
/* Reads exactly size_bytes: 0; -EFAULT: the file is shorter. */
int agent_read_file(pid_t pid, const char *name, int path_fd, uint64_t offset, void *buffer,
		    size_t size_bytes);
/* The file's identity in the kernel, by the function below; -ENOSYS: none was set. */
int agent_identify_file(pid_t pid, const char *name, int path_fd, uint64_t *ret_identity);

/*
 * Sets how files are identified from now on. The agent calls identify with our descriptor and one
 * of the open file; it may only make system calls. 0 or -errno. NULL, -1: unset.
 */
typedef int (*agent_identify_fn)(int identifier, int fd, uint64_t *ret_identity);
void agent_set_identifier(agent_identify_fn identify, int identifier);

/*
 * Calls a function of ours in the agent, because the target's data may make it crash or keep it
 * from returning: one that uses a library that was not written for hostile input. It may use
 * malloc(3) (which fork(2) leaves usable in the child: __malloc_fork_lock_parent(), malloc/arena.c,
 * glibc 2.36), but no locks and no threads. fd: the file, open for reading; -1 = none. Its answer
 * is copied if it returns 0.
 */
struct agent_call {
	int (*function)(int fd, const void *input, void *ret_output);
	const void *input;
	size_t input_bytes; /* up to AGENT_DATA_BYTES */
	void *output;
	size_t output_bytes; /* up to AGENT_DATA_BYTES, which is the room that the function has */
};

/*
 * path_fd: the file of process pid, called name, that the function is given; -1 = none, and these
 * two are not used. 0; -EPIPE: the function did not return within AGENT_CALL_CPU_MS of CPU time, or
 * crashed; its own error; -ETIMEDOUT: the file does not answer; -errno.
 */
int agent_call(pid_t pid, const char *name, int path_fd, const struct agent_call *call);

/* True while the process is left alone. */
bool agent_has_given_up(pid_t pid);

/* CPU time that all agents have used so far. */
uint64_t agent_cpu_ns(void);
