/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent's side (agent.h): what it does when it is its turn, with system calls alone, because
 * it was forked off a process that has threads. What is asked and what is answered lie in a room
 * that both share. Descriptors of files go to and fro as such (unix(7), SCM_RIGHTS); those that
 * leave the agent are O_PATH ones. What has to be closed is closed before the answer: a file may
 * let its close wait, too, and that is its own affair, not that of the next one.
 */
#pragma once

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "recorder/target/proc/agent.h"

enum {
	AGENT_PIECES_MAX = 256, /* of a request; two arrays of them are on the stack (IOV_MAX is
				 * 1024) */
	AGENT_BYTES_MAX = 256 * 1024,
};

enum agent_task {
	AGENT_READ_MEMORY,
	AGENT_OPEN_FILE,
	AGENT_STAT_FILE,
	AGENT_READ_FILE,
	AGENT_IDENTIFY_FILE,
};

struct agent_room {
	enum agent_task task;
	ssize_t result; /* bytes, or 0; or -errno */
	/* AGENT_READ_MEMORY */
	pid_t pid;
	uint32_t count;
	struct iovec pieces[AGENT_PIECES_MAX];
	/* Of a file. */
	struct agent_file_names names;
	struct stat status; /* of one that was opened, or looked at */
	uint64_t offset; /* to read from */
	uint64_t identity;
	/* What is read. */
	size_t used_bytes;
	uint8_t bytes[AGENT_BYTES_MAX];
};

/* One end of what is between the agent and us: turns in pipes, which are fast, and descriptors. */
struct agent_line {
	int in;
	int out;
	int fds; /* a socket */
};

/* The agent, until nobody has a turn for it any more. identify: agent.h; NULL = none. */
_Noreturn void agent_work(struct agent_room *room, const struct agent_line *line,
			  agent_identify_fn identify, int identifier);

/* One turn's end, or its beginning: fd goes with it, -1 = none. 0 or -errno. */
int agent_send_turn(const struct agent_line *line, int fd);
/* *ret_fd: the receiver's to close; -1 = none came. 0; -EPIPE: the other one has ended; -EMFILE. */
int agent_receive_turn(const struct agent_line *line, int *ret_fd);

/* Also without an agent: as process_vm_readv(2), or -errno. */
ssize_t agent_read_pieces(struct agent_room *room);
