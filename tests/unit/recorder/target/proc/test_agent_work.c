/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes between the agent and us. */
#include "recorder/target/proc/agent_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

UNIT_TEST_ALONE;

/* A line whose other end is its own. */
static struct agent_line make_line(int *ret_other_fds)
{
	struct agent_line line;
	int pipes[2], fds[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	line = (struct agent_line){ .in = pipes[0], .out = pipes[1], .fds = fds[0] };
	*ret_other_fds = fds[1];
	return line;
}

static void free_line(struct agent_line *line, int other_fds)
{
	(void)close(line->in);
	(void)close(line->out);
	(void)close(line->fds);
	(void)close(other_fds);
}

static int receive(const struct agent_line *line, int other_fds, int *ret_fd)
{
	const struct agent_line other = { .in = line->in, .out = -1, .fds = other_fds };

	return agent_receive_turn(&other, ret_fd);
}

TEST(agent_turn_carries_optional_descriptor_of_any_number)
{
	int other, saved = dup(STDIN_FILENO), file = open("/dev/zero", O_RDONLY | O_CLOEXEC), got;
	struct agent_line line = make_line(&other);

	assert_int_equal(agent_send_turn(&line, -1), 0);
	assert_int_equal(receive(&line, other, &got), 0);
	assert_int_equal(got, -1);
	/* Also the first of all. */
	assert_int_equal(dup2(file, STDIN_FILENO), STDIN_FILENO);
	for (int i = 0; i < 2; i++) {
		char byte = 'x';

		assert_int_equal(agent_send_turn(&line, i ? file : STDIN_FILENO), 0);
		assert_int_equal(receive(&line, other, &got), 0);
		assert_true(got > STDERR_FILENO && got != file);
		assert_true(fcntl(got, F_GETFD) & FD_CLOEXEC);
		assert_int_equal(read(got, &byte, 1), 1);
		assert_int_equal(byte, 0);
		(void)close(got);
	}
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	(void)close(saved);
	(void)close(file);
	free_line(&line, other);
}

TEST(agent_turn_distinguishes_hangup_from_descriptor_limit)
{
	int other, got = 77;
	struct agent_line line = make_line(&other);
	struct rlimit before, few;

	assert_int_equal(agent_send_turn(&line, STDIN_FILENO), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(receive(&line, other, &got), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(got, -1);
	/* A turn that says that one came, and none did. */
	assert_int_equal(write(line.out, "\1", 1), 1);
	assert_int_equal(receive(&line, other, &got), -EPIPE);
	(void)close(line.out);
	assert_int_equal(receive(&line, other, &got), -EPIPE);
	assert_true(agent_send_turn(&line, -1) < 0);
	line.out = -1;
	(void)close(other);
	assert_true(agent_send_turn(&line, STDIN_FILENO) < 0);
	free_line(&line, -1);
}

TEST(agent_reads_memory_pieces_in_order)
{
	static const char first[] = "abc", second[] = "defg";
	struct agent_room *room = calloc(1, sizeof(*room));

	assert_non_null(room);
	room->pid = getpid();
	room->count = 2;
	room->pieces[0] = (struct iovec){ (void *)(uintptr_t)first, 3 };
	room->pieces[1] = (struct iovec){ (void *)(uintptr_t)second, 4 };
	room->used_bytes = 7;
	assert_int_equal(agent_read_pieces(room), 7);
	assert_memory_equal(room->bytes, "abcdefg", 7);
	room->pid = 0x7ffffffe;
	assert_int_equal(agent_read_pieces(room), -ESRCH);
	/* Of nothing it is nothing, whatever went wrong before. */
	room->count = 0;
	room->used_bytes = 0;
	errno = EIO;
	assert_int_equal(agent_read_pieces(room), 0);
	free(room);
}

/* What the reads of a file come to, one after the other; then there is no more. */
static struct {
	ssize_t results[4]; /* or -errno */
	size_t count;
} reads;

ssize_t pread(int fd, void *ret_bytes, size_t size_bytes, off_t offset)
{
	ssize_t result = reads.count < 4 ? reads.results[reads.count++] : -EIO;

	(void)fd;
	assert_true(result <= (ssize_t)size_bytes);
	if (result < 0) {
		errno = (int)-result;
		return -1;
	}
	for (ssize_t i = 0; i < result; i++)
		((uint8_t *)ret_bytes)[i] = (uint8_t)(offset + i);
	return result;
}

/* An agent's answer, in a process of its own: what it has read is in the room. */
static ssize_t ask_for_bytes(struct agent_room *room)
{
	int to[2], from[2], fds[2], got, status;
	pid_t agent;

	assert_true(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds), 0);
	reads.count = 0;
	room->task = AGENT_READ_FILE;
	room->offset = 3;
	room->used_bytes = 5;
	agent = fork();
	assert_true(agent >= 0);
	if (agent == 0) {
		const struct agent_line line = { .in = 0, .out = 1, .fds = 2 };

		/* As it is there: its descriptors have one figure. */
		if (dup2(to[0], 0) < 0 || dup2(from[1], 1) < 0 || dup2(fds[1], 2) < 0 ||
		    close_range(3, ~0U, 0))
			_exit(1);
		agent_work(room, &line, NULL, -1);
	}
	(void)close(to[0]);
	(void)close(from[1]);
	(void)close(fds[1]);
	status = open("/dev/zero", O_PATH | O_CLOEXEC);
	assert_int_equal(
		agent_send_turn(&(struct agent_line){ .in = -1, .out = to[1], .fds = fds[0] },
				status),
		0);
	(void)close(status);
	assert_int_equal(
		agent_receive_turn(&(struct agent_line){ .in = from[0], .out = -1, .fds = fds[0] },
				   &got),
		0);
	assert_int_equal(got, -1);
	(void)close(to[1]);
	(void)close(from[0]);
	(void)close(fds[0]);
	assert_int_equal(waitpid(agent, &status, 0), agent);
	assert_int_equal(status, 0);
	return room->result;
}

/* Its server may be interrupted, and answer in parts. */
TEST(agent_reads_file_to_requested_length_or_its_end)
{
	static const struct {
		ssize_t reads[4], result;
	} cases[] = {
		{ { 5 }, 5 },
		{ { 2, 3 }, 5 },
		{ { -EINTR, 2, -EINTR, 3 }, 5 },
		/* Nor does what was meanwhile matter at the end. */
		{ { -EINTR, 2, 0, 3 }, 2 },
		{ { 2, -EIO }, -EIO },
		{ { 0 }, 0 },
	};
	struct agent_room *room = mmap(NULL, sizeof(*room), PROT_READ | PROT_WRITE,
				       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(room != MAP_FAILED);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memcpy(reads.results, cases[i].reads, sizeof(reads.results));
		assert_int_equal(ask_for_bytes(room), cases[i].result);
		for (ssize_t at = 0; at < cases[i].result; at++)
			assert_int_equal(room->bytes[at], 3 + at);
	}
	(void)munmap(room, sizeof(*room));
}
