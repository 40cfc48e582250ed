/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The agent's side (agent.h). The agent was forked from a process with threads: itself it uses
 * system calls alone. Request and answer are in a room that both share. File descriptors travel
 * both ways over a socket (unix(7), SCM_RIGHTS); those that leave the agent are O_PATH ones. The
 * agent closes its descriptors before it answers: a file may delay its close, too, and that must
 * count against this file, not against the next one.
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
	AGENT_PIECES_MAX = 256, /* per request (IOV_MAX is 1024) */
	AGENT_BYTES_MAX = 256 * 1024,
};

enum agent_task {
	AGENT_READ_MEMORY,
	AGENT_OPEN_FILE,
	AGENT_STAT_FILE,
	AGENT_READ_FILE,
	AGENT_IDENTIFY_FILE,
	AGENT_CALL,
};

struct agent_room {
	enum agent_task task;
	ssize_t result; /* bytes, or 0; or -errno */
	/* AGENT_READ_MEMORY */
	pid_t pid;
	uint32_t count;
	struct iovec pieces[AGENT_PIECES_MAX];
	/* For the tasks on files. */
	struct agent_file_names names;
	struct stat status; /* of the file that was opened, or given to stat(2) */
	uint64_t offset; /* to read from */
	uint64_t identity;
	/* AGENT_CALL: the function is at the same address on both sides. */
	int (*function)(int fd, const void *input, void *ret_output);
	uint64_t input[AGENT_DATA_BYTES / sizeof(uint64_t)];
	uint64_t output[AGENT_DATA_BYTES / sizeof(uint64_t)];
	/* The data read. */
	size_t used_bytes;
	uint8_t bytes[AGENT_BYTES_MAX];
};

/*
 * One end of the connection between the agent and us: fast pipes for turns, a socket for
 * descriptors.
 */
struct agent_line {
	int in;
	int out;
	int fds; /* the socket */
};

/* Runs the agent until the other end is closed. identify: agent.h; NULL = none. */
_Noreturn void agent_work(struct agent_room *room, const struct agent_line *line,
			  agent_identify_fn identify, int identifier);

/* Ends our turn and begins the peer's: fd is passed, -1 = none. 0 or -errno. */
int agent_send_turn(const struct agent_line *line, int fd);
/* *ret_fd: the receiver's to close; -1 = none came. 0; -EPIPE: the peer has ended; -EMFILE. */
int agent_receive_turn(const struct agent_line *line, int *ret_fd);

/* Reads the pieces in the room; works without an agent. As process_vm_readv(2), or -errno. */
ssize_t agent_read_pieces(struct agent_room *room);
