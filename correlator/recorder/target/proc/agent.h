/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a target can let wait: its memory and the files that it maps. A page behind userfaultfd(2),
 * or a file on a file system of its own (FUSE; an overlay over one, in a user namespace; NFS whose
 * server is gone) comes when somebody else likes, and who asks for it waits, deaf to all signals
 * but SIGKILL, at times to that, too. Of a file that is true of opening, stat(2), reading and
 * closing. So a process of ours does that, which holds nothing but the room for what is read, and
 * can be given up. We ourselves have O_PATH descriptors of files: opened there, and their close
 * asks nobody.
 *
 * All files go this way, whatever they are on: what is below an overlay nobody tells. A turn of the
 * agent costs some ten microseconds, and no process of many costs one for a file that is known
 * (object_file.h).
 *
 * A process whose memory or file did not come is left alone for a while. The more of them there
 * were of late, the shorter is the time that the next one has: all together they cost little.
 *
 * One for all of Correlator, begun with the first request; any thread, one at a time. It ends with
 * us; one that was given up as soon as what it waits for comes or is no more, and what it has of
 * ours (the program that tells a file's identity, the file) with it.
 * Facts: userfaultfd(2), "Reading from a process"; handle_userfault() of fs/userfaultfd.c and
 * request_wait_answer() of fs/fuse/dev.c, v6.18.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "recorder/target/proc/memory_reader.h"

enum {
	AGENT_NAME_BYTES = PATH_MAX + 64
};

/* By what a file is opened. */
struct agent_file_names {
	char by_mapping[AGENT_NAME_BYTES]; /* /proc/PID/map_files/..., tried first; "" = none */
	char by_path[AGENT_NAME_BYTES]; /* below its root; "" = none */
	uint64_t inode; /* that it must have there; 0 = any */
};

/*
 * All of these on behalf of process pid, and of a file with its name. -ETIMEDOUT: it did not come
 * in time (logged, once of each process), or did not before; -errno also if there can be no agent.
 */

/* As memory_read_many of a live process, by this thread of it: its leader, or another one. */
int agent_read_memory(pid_t pid, pid_t tid, const struct memory_span *spans, size_t count);
/* An O_PATH descriptor of a regular file that may be read, the caller's; -ESTALE: it is another
 * one. */
int agent_open_file(pid_t pid, const char *name, const struct agent_file_names *names,
		    struct stat *ret_status);
int agent_stat_file(pid_t pid, const char *name, const struct agent_file_names *names,
		    struct stat *ret_status);
/* Exactly size_bytes: 0; -EFAULT: there are not so many. */
int agent_read_file(pid_t pid, const char *name, int path_fd, uint64_t offset, void *buffer,
		    size_t size_bytes);
/* Which one the kernel takes it to be, as the function below says; -ENOSYS: nobody said how. */
int agent_identify_file(pid_t pid, const char *name, int path_fd, uint64_t *ret_identity);

/*
 * By what a file is identified, from now on: called in the agent, with a descriptor of ours and one
 * of the open file; only system calls. 0 or -errno. NULL, -1: by nothing any more.
 */
typedef int (*agent_identify_fn)(int identifier, int fd, uint64_t *ret_identity);
void agent_set_identifier(agent_identify_fn identify, int identifier);

/* It is left alone. */
bool agent_has_given_up(pid_t pid);

/* CPU that agents have used so far. */
uint64_t agent_cpu_ns(void);
