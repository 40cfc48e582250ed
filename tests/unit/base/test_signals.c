/* SPDX-License-Identifier: GPL-2.0-only */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/signals.h"

/* In a process of its own, whose standard error is read: how it ended, as waitpid(2) says. */
static int run_child(void (*run)(void), char *ret_said, size_t said_bytes)
{
	int fds[2], code;
	ssize_t got;
	pid_t child;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		(void)dup2(fds[1], STDERR_FILENO);
		run();
		_exit(0);
	}
	assert_int_equal(close(fds[1]), 0);
	assert_int_equal(waitpid(child, &code, 0), child);
	got = read(fds[0], ret_said, said_bytes - 1);
	ret_said[got > 0 ? got : 0] = '\0';
	assert_int_equal(close(fds[0]), 0);
	return code;
}

static void interrupt_twice(void)
{
	signals_spare_interrupt("spared\n");
	(void)raise(SIGINT);
	(void)raise(SIGINT);
}

static void interrupt_when_obeyed(void)
{
	signals_spare_interrupt("spared\n");
	signals_obey_interrupt();
	(void)raise(SIGINT);
}

static void interrupt_when_ignored(void)
{
	(void)signal(SIGINT, SIG_IGN);
	signals_spare_interrupt("spared\n");
	(void)raise(SIGINT);
	(void)raise(SIGINT);
	signals_obey_interrupt();
	(void)raise(SIGINT);
}

static void handle(int number)
{
	_exit(number);
}

/* A handler that is not ours stays. */
static void obey_where_another_handles(void)
{
	(void)signal(SIGINT, handle);
	signals_obey_interrupt();
	(void)raise(SIGINT);
}

/* The writer of a pipe is interrupted by the same Ctrl-C: its last words are read. */
TEST(signals_spare_first_interrupt_only_on_request)
{
	char said[64];
	int code;

	code = run_child(interrupt_twice, said, sizeof(said));
	assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGINT);
	assert_string_equal(said, "spared\n");
	code = run_child(interrupt_when_obeyed, said, sizeof(said));
	assert_true(WIFSIGNALED(code) && WTERMSIG(code) == SIGINT);
	assert_string_equal(said, "");
	code = run_child(interrupt_when_ignored, said, sizeof(said));
	assert_true(WIFEXITED(code) && WEXITSTATUS(code) == 0);
	assert_string_equal(said, "");
	code = run_child(obey_where_another_handles, said, sizeof(said));
	assert_true(WIFEXITED(code) && WEXITSTATUS(code) == SIGINT);
}

static void hang_up_and_go_on(void)
{
	bool is_typed;
	int fd;

	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGUSR2, SIG_IGN);
	fd = signals_catch_for_command();
	for (int i = 0; i < 2; i++) {
		(void)raise(SIGHUP);
		(void)raise(SIGUSR2);
		if (signals_read(fd, &is_typed) != 0)
			_exit(1);
		(void)raise(SIGUSR1);
		if (signals_read(fd, &is_typed) != SIGUSR1)
			_exit(2);
	}
	(void)raise(SIGINT);
	if (signals_read(fd, &is_typed) != SIGINT)
		_exit(3);
}

static void tell_each(void)
{
	static const int numbers[] = { SIGUSR1, SIGUSR2, SIGQUIT, SIGWINCH, SIGTTIN, SIGTTOU,
				       SIGALRM, SIGCONT, SIGHUP,  SIGINT,   SIGTERM };
	bool is_typed;
	int fd = signals_catch_for_command();

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		(void)raise(numbers[i]);
		if (signals_read(fd, &is_typed) != numbers[i])
			_exit(numbers[i]);
	}
}

/* As by nohup(1); but a script interrupts what it has put in the background. */
TEST(signals_keep_ignored_signals_except_interrupt)
{
	char said[64];
	int code;

	code = run_child(hang_up_and_go_on, said, sizeof(said));
	assert_true(WIFEXITED(code));
	assert_int_equal(WEXITSTATUS(code), 0);
	code = run_child(tell_each, said, sizeof(said));
	assert_true(WIFEXITED(code));
	assert_int_equal(WEXITSTATUS(code), 0);
}

static int terminal;

static void read_from_terminal(void)
{
	struct pollfd fd = { .events = POLLIN };
	bool is_typed = false;

	fd.fd = signals_catch();
	if (setsid() < 0 || open(ptsname(terminal), O_RDWR | O_CLOEXEC) < 0 || fd.fd < 0)
		_exit(1);
	if (write(terminal, "\x03", 1) != 1 || poll(&fd, 1, 10000) != 1)
		_exit(2);
	if (!signals_are_pending() || signals_read(fd.fd, &is_typed) != SIGINT || !is_typed)
		_exit(3);
	if (signals_are_pending() || raise(SIGTERM) || !signals_are_pending())
		_exit(4);
	is_typed = true;
	if (signals_read(fd.fd, &is_typed) != SIGTERM || is_typed)
		_exit(5);
}

TEST(signals_distinguish_terminal_interrupt_from_raised_signal)
{
	char said[64];
	int code;

	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	assert_true(terminal >= 0);
	assert_int_equal(grantpt(terminal), 0);
	assert_int_equal(unlockpt(terminal), 0);
	code = run_child(read_from_terminal, said, sizeof(said));
	assert_true(WIFEXITED(code));
	assert_int_equal(WEXITSTATUS(code), 0);
	assert_int_equal(close(terminal), 0);
}

TEST(signals_read_termination_signals_without_dying)
{
	static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
	struct pollfd fd = { .events = POLLIN };
	unsigned int seen = 0;
	bool is_typed = true;

	fd.fd = signals_catch();
	assert_true(fd.fd >= 0);
	assert_true(fcntl(fd.fd, F_GETFD) & FD_CLOEXEC);
	assert_int_equal(signals_read(fd.fd, &is_typed), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(raise(ends[i]), 0);
		assert_int_equal(poll(&fd, 1, 0), 1);
		assert_int_equal(signals_read(fd.fd, &is_typed), ends[i]);
		assert_false(is_typed);
		assert_int_equal(signals_read(fd.fd, &is_typed), 0);
	}
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(raise(ends[i]), 0);
	for (size_t i = 0; i < 3; i++)
		seen |= 1U << signals_read(fd.fd, &is_typed);
	assert_int_equal(seen, 1U << SIGHUP | 1U << SIGINT | 1U << SIGTERM);
	assert_int_equal(close(fd.fd), 0);
}
