/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/proc/agent_work.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

/* The byte that is sent for a turn. */
enum turn {
	TURN_ALONE,
	TURN_HAS_FD, /* the descriptor is in the socket already */
};

static int send_fd(int fds, int fd)
{
	char byte = 0;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
				  .cmsg_level = SOL_SOCKET,
				  .cmsg_type = SCM_RIGHTS } };
	const struct msghdr message = { .msg_iov = &data,
					.msg_iovlen = 1,
					.msg_control = &control,
					.msg_controllen = sizeof(control.bytes) };

	memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	return sendmsg(fds, &message, MSG_NOSIGNAL) == 1 ? 0 : -errno;
}

static int receive_fd(int fds, int *ret_fd)
{
	char byte;
	struct iovec data = { .iov_base = &byte, .iov_len = 1 };
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = { .msg_iov = &data,
				  .msg_iovlen = 1,
				  .msg_control = &control,
				  .msg_controllen = sizeof(control.bytes) };
	const struct cmsghdr *header;

	if (recvmsg(fds, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -EPIPE;
	header = CMSG_FIRSTHDR(&message);
	/* Absent if our descriptor limit is reached. */
	if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
		return -EMFILE;
	memcpy(ret_fd, CMSG_DATA(header), sizeof(*ret_fd));
	return 0;
}

int agent_send_turn(const struct agent_line *line, int fd)
{
	char turn = fd >= 0 ? TURN_HAS_FD : TURN_ALONE;
	int r = fd >= 0 ? send_fd(line->fds, fd) : 0;

	if (r < 0)
		return r;
	return write(line->out, &turn, 1) == 1 ? 0 : -EPIPE;
}

int agent_receive_turn(const struct agent_line *line, int *ret_fd)
{
	char turn;

	if (read(line->in, &turn, 1) != 1)
		return -EPIPE;
	*ret_fd = -1;
	return turn == TURN_HAS_FD ? receive_fd(line->fds, ret_fd) : 0;
}

ssize_t agent_read_pieces(struct agent_room *room)
{
	struct iovec local = { .iov_base = room->bytes, .iov_len = room->used_bytes };
	ssize_t copied = process_vm_readv(room->pid, &local, 1, room->pieces, room->count, 0);

	return copied < 0 ? -errno : copied;
}

/* The target's file system may return any error: only a real shortage of ours passes as one. */
static int judge(int error)
{
	int fd;

	if (error != -EMFILE && error != -ENFILE && error != -ENOMEM)
		return error;
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error;
	(void)close(fd);
	return -EIO;
}

/* Opens the file of an O_PATH descriptor for reading; does not wait for the holder of a lease. */
static int open_really(int path_fd)
{
	char name[] = "/proc/self/fd/0";
	int fd;

	/* The agent never has more than ten descriptors. */
	if (path_fd < 0 || path_fd > 9)
		return -EBADF;
	name[sizeof(name) - 2] = (char)('0' + path_fd);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? judge(-errno) : fd;
}

/*
 * O_PATH first: opening a FIFO blocks and opening a device has effects; O_PATH and fstat do
 * neither.
 */
static int open_by(const char *name, const uint64_t *inode, struct stat *ret_status)
{
	int fd = open(name, O_PATH | O_CLOEXEC), r = 0;

	if (fd < 0)
		return judge(-errno);
	if (fstat(fd, ret_status))
		r = judge(-errno);
	else if (!S_ISREG(ret_status->st_mode) || (inode && ret_status->st_ino != *inode))
		r = -ESTALE;
	if (r == 0)
		return fd;
	(void)close(fd);
	return r;
}

/* Like open_by, and the file must be readable. */
static int open_readable(const char *name, const uint64_t *inode, struct stat *ret_status)
{
	int fd = open_by(name, inode, ret_status), really;

	if (fd < 0)
		return fd;
	really = open_really(fd);
	if (really >= 0) {
		(void)close(really);
		return fd;
	}
	(void)close(fd);
	return really;
}

/* An O_PATH descriptor, or -errno. */
static int open_file(struct agent_room *room)
{
	const struct agent_file_names *names = &room->names;
	int fd = open_readable(names->by_mapping, NULL, &room->status);

	return fd >= 0 || !names->by_path[0]
		       ? fd
		       : open_readable(names->by_path, names->inode ? &names->inode : NULL,
				       &room->status);
}

static int stat_file(struct agent_room *room)
{
	const struct agent_file_names *names = &room->names;

	if (stat(names->by_mapping, &room->status) == 0)
		return 0;
	if (!names->by_path[0] || stat(names->by_path, &room->status))
		return -errno;
	return room->status.st_ino == names->inode ? 0 : -ESTALE;
}

static ssize_t read_file(struct agent_room *room, int fd)
{
	size_t used = 0;

	while (used < room->used_bytes) {
		ssize_t got = pread(fd, room->bytes + used, room->used_bytes - used,
				    (off_t)(room->offset + used));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		used += (size_t)got;
	}
	return (ssize_t)used;
}

/* The timer's signal ends the agent. */
static int call(struct agent_room *room, int fd)
{
	const struct itimerval limit = { .it_value.tv_usec = AGENT_CALL_CPU_MS * 1000 };
	const struct itimerval none = { 0 };
	int r;

	(void)setitimer(ITIMER_PROF, &limit, NULL);
	r = room->function(fd, room->input, room->output);
	(void)setitimer(ITIMER_PROF, &none, NULL);
	return r;
}

struct identifier {
	agent_identify_fn ask;
	int fd;
};

static ssize_t look_into(struct agent_room *room, int path_fd, const struct identifier *identifier)
{
	int fd = open_really(path_fd);
	ssize_t r = fd;

	if (fd < 0)
		return r;
	if (room->task == AGENT_READ_FILE)
		r = read_file(room, fd);
	else if (room->task == AGENT_CALL)
		r = call(room, fd);
	else
		r = identifier->ask ? identifier->ask(identifier->fd, fd, &room->identity)
				    : -ENOSYS;
	(void)close(fd);
	return r;
}

/* fd: received with the turn; *ret_fd: to be returned with it. */
static ssize_t do_task(struct agent_room *room, int fd, const struct identifier *identifier,
		       int *ret_fd)
{
	switch (room->task) {
	case AGENT_READ_MEMORY:
		return agent_read_pieces(room);
	case AGENT_OPEN_FILE:
		*ret_fd = open_file(room);
		return *ret_fd < 0 ? *ret_fd : 0;
	case AGENT_STAT_FILE:
		return stat_file(room);
	case AGENT_READ_FILE:
	case AGENT_IDENTIFY_FILE:
		return look_into(room, fd, identifier);
	case AGENT_CALL:
		return fd < 0 ? call(room, -1) : look_into(room, fd, identifier);
	default:
		return -ENOSYS;
	}
}

_Noreturn void agent_work(struct agent_room *room, const struct agent_line *line,
			  agent_identify_fn identify, int identifier_fd)
{
	const struct identifier identifier = { identify, identifier_fd };
	int fd;

	while (agent_receive_turn(line, &fd) == 0) {
		int answer_fd = -1;

		room->result = do_task(room, fd, &identifier, &answer_fd);
		if (fd >= 0)
			(void)close(fd);
		if (agent_send_turn(line, answer_fd) < 0)
			break;
		if (answer_fd >= 0)
			(void)close(answer_fd);
	}
	_exit(0);
}
