/* SPDX-License-Identifier: GPL-2.0-only */
/* What goes between the agent and us. */
#include "target/proc/agent_work.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

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

static void a_turn_comes_alone_or_with_a_descriptor_of_whatever_number(void **state)
{
	int other, saved = dup(STDIN_FILENO), file = open("/dev/zero", O_RDONLY | O_CLOEXEC), got;
	struct agent_line line = make_line(&other);

	(void)state;
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

static void who_has_ended_is_told_from_who_may_have_no_more(void **state)
{
	int other, got = 77;
	struct agent_line line = make_line(&other);
	struct rlimit before, few;

	(void)state;
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

static void pieces_are_read_one_behind_the_other(void **state)
{
	static const char first[] = "abc", second[] = "defg";
	struct agent_room *room = calloc(1, sizeof(*room));

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_turn_comes_alone_or_with_a_descriptor_of_whatever_number),
		cmocka_unit_test(who_has_ended_is_told_from_who_may_have_no_more),
		cmocka_unit_test(pieces_are_read_one_behind_the_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
