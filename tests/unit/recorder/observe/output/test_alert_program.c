/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/alert_program.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/cleanup.h"
#include "ears.h"

enum {
	PATIENCE_MS = 20000,
	NOW_NS = 1000,
};

static char folder[] = "/tmp/test_alert_program.XXXXXX";
static char script[64], output[64], go[64];
static struct alert_program program;
static struct ears ears;
static char said[4096];

static struct alert_expression expression;

static int set_up(void **state)
{
	struct alert_error error;

	(void)state;
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(script, sizeof(script), "%s/on alert", folder);
	(void)snprintf(output, sizeof(output), "%s/output", folder);
	(void)snprintf(go, sizeof(go), "%s/go", folder);
	return alert_expression_parse("max(cpu) > 5ns by endpoint", &expression, &error);
}

static int tear_down(void **state)
{
	(void)state;
	(void)unlink(script);
	(void)unlink(output);
	(void)unlink(go);
	return rmdir(folder);
}

static int begin(void **state)
{
	(void)state;
	(void)unlink(output);
	(void)unlink(go);
	alert_program_init(&program, script);
	ears = ears_open();
	return 0;
}

static int end(void **state)
{
	(void)state;
	alert_program_deinit(&program);
	if (ears.heard >= 0)
		ears_close(&ears, said, sizeof(said));
	return 0;
}

/* A program of these lines of a shell's, in the folder. */
static void write_script(const char *lines)
{
	FILE *file = fopen(script, "we");

	assert_non_null(file);
	(void)fprintf(file, "#!/bin/sh\ncd '%s'\n%s\n", folder, lines);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(script, 0755), 0);
}

static char *read_output(void)
{
	static char text[65536];
	FILE *file = fopen(output, "re");
	size_t got;

	if (!file)
		return NULL;
	got = fread(text, 1, sizeof(text) - 1, file);
	text[got] = '\0';
	assert_int_equal(fclose(file), 0);
	return text;
}

/* What scripts may wait for, or until the test is over: WAIT. */
#define WAIT "while [ ! -e go ] && [ -e 'on alert' ]; do sleep 0.01; done\n"

static void let_go(void)
{
	int fd = open(go, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
}

static void change(bool is_firing, const char *value_of_key)
{
	alert_program_add(&program,
			  &(struct alert_change){ .expression = &expression,
						  .is_firing = is_firing,
						  .value_of_key = value_of_key,
						  .has_value = is_firing,
						  .value = 77,
						  .since_ns = 1111,
						  .wall_ns = 2222 },
			  NOW_NS);
}

/* Until the one that runs has ended, and the next one was started. */
static void go_on(void)
{
	struct pollfd fd = { .fd = alert_program_fd(&program), .events = POLLIN };

	assert_true(fd.fd >= 0);
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	alert_program_continue(&program, NOW_NS);
}

static void expect_said(const char *expected)
{
	ears_close(&ears, said, sizeof(said));
	ears.heard = -1;
	if (!strstr(said, expected) || (!expected[0] && said[0]))
		fail_msg("not said: %s, but: %s", expected, said);
}

#define RUN_TEST(test) TEST_WITH(test, begin, end)

RUN_TEST(alert_program_gets_alert_in_environment)
{
	static const char expected[] = "[max(cpu) > 5ns by endpoint][firing][endpoint]"
				       "[`id` $(id) \"'\\x0a;][77][5][ns][1111][2222][0][]\n";

	write_script("exec >output\n"
		     "printf '[%s]' \"$CORRELATOR_ALERT_EXPRESSION\" \"$CORRELATOR_ALERT_STATE\" "
		     "\"$CORRELATOR_ALERT_KEY\" \"$CORRELATOR_ALERT_GROUP\" "
		     "\"$CORRELATOR_ALERT_VALUE\" \"$CORRELATOR_ALERT_THRESHOLD\" "
		     "\"$CORRELATOR_ALERT_UNIT\" \"$CORRELATOR_ALERT_SINCE_NS\" "
		     "\"$CORRELATOR_ALERT_TIME_NS\" \"$#\" \"$SECRET\"; echo");
	assert_int_equal(setenv("SECRET", "s", 1), 0);
	change(true, "`id` $(id) \"'\\x0a;");
	go_on();
	assert_string_equal(read_output(), expected);
	assert_int_equal(alert_program_fd(&program), -1);
	assert_true(alert_program_due_ns(&program) == UINT64_MAX);
	expect_said("");
}

RUN_TEST(alert_program_gets_empty_variables_for_absent_values)
{
	write_script("exec >output\n"
		     "printf '[%s]' \"${CORRELATOR_ALERT_GROUP-unset}\" "
		     "\"${CORRELATOR_ALERT_VALUE-unset}\" \"$CORRELATOR_ALERT_STATE\" \"$PATH\"");
	change(false, NULL);
	go_on();
	{
		char expected[4096];

		(void)snprintf(expected, sizeof(expected), "[][][resolved][%s]", getenv("PATH"));
		assert_string_equal(read_output(), expected);
	}
}

RUN_TEST(alert_program_inherits_no_descriptors_or_signal_mask)
{
	int leak = fcntl(STDERR_FILENO, F_DUPFD, 20);
	const char *ignored;
	sigset_t term;
	char *text;

	assert_true(leak >= 20);
	(void)sigemptyset(&term);
	(void)sigaddset(&term, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &term, NULL), 0);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	write_script(
		"ls -l /proc/self/fd >output\n"
		"grep -E 'Sig(Blk|Ign)|CapAmb' /proc/self/status >>output\n"
		"[ \"$(sed 's/.*) //' /proc/$$/stat | cut -d' ' -f4)\" = $$ ] && echo session >>output\n"
		"echo on both; echo on both >&2");
	change(true, "x");
	go_on();
	(void)sigprocmask(SIG_UNBLOCK, &term, NULL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)signal(SIGXFSZ, SIG_DFL);
	text = read_output();
	assert_non_null(strstr(text, " 0 -> /dev/null\n"));
	assert_non_null(strstr(text, "SigBlk:\t0000000000000000\n"));
	ignored = strstr(text, "SigIgn:\t");
	assert_non_null(ignored);
	assert_false(strtoull(ignored + 8, NULL, 16) &
		     (UINT64_C(1) << (SIGPIPE - 1) | UINT64_C(1) << (SIGXFSZ - 1)));
	assert_non_null(strstr(text, "CapAmb:\t0000000000000000\n"));
	assert_non_null(strstr(text, "session\n"));
	for (int fd = 4; fd < 100; fd++) {
		char name[16];

		(void)snprintf(name, sizeof(name), " %d -> ", fd);
		assert_null(strstr(text, name));
	}
	assert_int_equal(close(leak), 0);
	expect_said("on both\non both\n");
}

RUN_TEST(alert_program_runs_one_at_a_time_in_order)
{
	write_script(WAIT "[ ! -e running ] || echo two at a time >>output\n>running\n"
			  "echo \"$CORRELATOR_ALERT_GROUP\" >>output\nrm running");
	change(true, "a");
	change(true, "b");
	change(true, "c");
	let_go();
	go_on();
	go_on();
	go_on();
	assert_int_equal(alert_program_fd(&program), -1);
	assert_string_equal(read_output(), "a\nb\nc\n");
	expect_said("");
}

RUN_TEST(alert_program_drops_and_logs_changes_over_queue_limit)
{
	write_script(WAIT "echo \"$CORRELATOR_ALERT_GROUP\" >>output");
	for (int i = 0; i < 1 + ALERT_RUNS_MAX + 3; i++) {
		char name[8];

		(void)snprintf(name, sizeof(name), "%d", i);
		change(true, name);
	}
	let_go();
	for (int i = 0; i < 1 + ALERT_RUNS_MAX; i++)
		go_on();
	assert_int_equal(alert_program_fd(&program), -1);
	assert_string_equal(read_output(),
			    "0\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n");
	change(true, "after");
	go_on();
	assert_non_null(strstr(read_output(), "16\nafter\n"));
	expect_said("not run for 3 changes: there were too many at a time");
}

RUN_TEST(alert_program_is_killed_with_its_children_on_timeout)
{
	struct pollfd fd;

	write_script("sleep 1000 & echo $! >output\nwait");
	change(true, "a");
	assert_true(alert_program_due_ns(&program) == NOW_NS + 10000000000);
	for (int i = 0; i < PATIENCE_MS && (!read_output() || !strchr(read_output(), '\n')); i++)
		(void)usleep(1000);
	fd = (struct pollfd){ .fd = alert_program_fd(&program), .events = POLLIN };
	alert_program_continue(&program, NOW_NS + 9999999999);
	assert_int_equal(poll(&fd, 1, 0), 0);
	alert_program_continue(&program, NOW_NS + 10000000000);
	assert_int_equal(poll(&fd, 1, PATIENCE_MS), 1);
	alert_program_continue(&program, NOW_NS + 10000000001);
	assert_int_equal(alert_program_fd(&program), -1);
	for (int i = 0; i < PATIENCE_MS; i++) {
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%d/fd/0", atoi(read_output()));
		if (access(path, F_OK) < 0)
			break;
		(void)usleep(1000);
		assert_true(i < PATIENCE_MS - 1);
	}
	expect_said("on alert: goes on for more than 10 s\n");
	assert_non_null(strstr(said, "killed by signal 9"));
}

RUN_TEST(alert_program_logs_exit_status)
{
	write_script("exit 7");
	change(true, "a");
	go_on();
	expect_said("on alert: ended with status 7\n");
}

RUN_TEST(alert_program_logs_failed_start_and_tries_next_change)
{
	write_script("exit 0");
	assert_int_equal(chmod(script, 0644), 0);
	change(true, "a");
	assert_int_equal(alert_program_fd(&program), -1);
	assert_int_equal(chmod(script, 0755), 0);
	change(true, "b");
	go_on();
	expect_said("on alert: cannot start: Permission denied\n");
}

RUN_TEST(alert_program_skips_and_logs_queued_changes_at_end)
{
	write_script(WAIT);
	change(true, "a");
	change(true, "b");
	change(true, "c");
	alert_program_deinit(&program);
	let_go();
	expect_said("not run for the last 2 changes\n");
}

RUN_TEST(alert_program_runs_nothing_if_none_is_set)
{
	alert_program_init(&program, NULL);
	change(true, "a");
	alert_program_continue(&program, NOW_NS);
	assert_int_equal(alert_program_fd(&program), -1);
	expect_said("");
}

RUN_TEST(alert_program_check_accepts_only_executable_path)
{
	char expected[256];

	write_script("exit 0");
	assert_int_equal(alert_program_check(script), 0);
	errno = 0;
	assert_int_equal(alert_program_check(folder), -EINVAL);
	assert_int_equal(alert_program_check("true; id"), -EINVAL);
	assert_int_equal(chmod(script, 0644), 0);
	assert_int_equal(alert_program_check(script), -EINVAL);
	(void)snprintf(expected, sizeof(expected),
		       "--on-alert %s: not the path of a program: Permission denied\n", folder);
	expect_said(expected);
	assert_non_null(strstr(said, "--on-alert true; id: not the path of a program"));
}

RUN_TEST(alert_program_check_warns_about_world_writable_file)
{
	char expected[256];

	write_script("exit 0");
	assert_int_equal(alert_program_check(script), 0);
	assert_int_equal(chmod(script, 0702), 0);
	assert_int_equal(alert_program_check(script), 0);
	(void)snprintf(expected, sizeof(expected),
		       "correlator: warning: everybody can write %s, and so choose what is run: "
		       "chmod o-w helps\n",
		       script);
	expect_said(expected);
	assert_string_equal(said, expected);
}

TEST_GROUP(set_up, tear_down)
