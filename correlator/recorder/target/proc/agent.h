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
	AGENT_TEXT_BYTES =
		1024, /* of a text given to a function, and of the answer; with the NUL */
	AGENT_CALL_CPU_MS = 10, /* per call of a function */
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
 * Calls a function of ours in the agent, because the target's text may make it crash or keep it
 * from returning: one of a library that was not written for hostile input. It may use malloc(3)
 * (which fork(2) leaves usable in the child: __malloc_fork_lock_parent(), malloc/arena.c, glibc
 * 2.36), but no locks and no threads. 0, and its answer is in ret_text, cut if it is longer;
 * -EPIPE: it did not return within AGENT_CALL_CPU_MS of CPU time, or crashed; -E2BIG: text is too
 * long; its own error; -errno if no agent can be started.
 */
typedef int (*agent_call_fn)(const char *text, char *ret_text, size_t text_bytes);
int agent_call(agent_call_fn call, const char *text, char *ret_text, size_t text_bytes);

/* True while the process is left alone. */
bool agent_has_given_up(pid_t pid);

/* CPU time that all agents have used so far. */
uint64_t agent_cpu_ns(void);
