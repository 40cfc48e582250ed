/* SPDX-License-Identifier: GPL-2.0-only */
#include "target/discovery/discovery.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "command/stand_in.h"

#define NS_PER_MS 1000000ULL

enum {
	FOUND_MAX = 64
};

struct bench {
	struct stand_in files;
	uint64_t now_ns;
	struct discovery *discovery;
	size_t found_count;
	pid_t found[FOUND_MAX];
	int answer;
};

static const struct target_keys ruby_contexts = { .wants_ruby = true };

static int note(void *user, struct target *target)
{
	struct bench *bench = user;

	assert_true(target->ruby.is_ruby);
	assert_non_null(target_publisher(target));
	assert_true(bench->found_count < FOUND_MAX);
	bench->found[bench->found_count++] = target->info.pid;
	target_free(target);
	return bench->answer;
}

/* Looks as a recording does that has waited for pause_ms. Returns the number of news. */
static size_t look_after(struct bench *bench, unsigned int pause_ms)
{
	bench->found_count = 0;
	bench->now_ns += pause_ms * NS_PER_MS;
	assert_int_equal(discovery_look(bench->discovery, bench->now_ns, note, bench),
			 bench->answer);
	return bench->found_count;
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	stand_in_make(&bench->files);
	bench->now_ns = 1;
	assert_int_equal(discovery_new(bench->files.name, NULL, &ruby_contexts, &bench->discovery),
			 0);
	*state = bench;
	return 0;
}

static int tear_down(void **state)
{
	struct bench *bench = *state;

	discovery_free(bench->discovery);
	stand_in_remove(&bench->files);
	free(bench);
	return 0;
}

static pid_t start_ruby(struct bench *bench, pid_t pid)
{
	char *argv[] = { bench->files.name, STAND_IN_SLEEP, NULL };

	return stand_in_start(pid, bench->files.ruby, argv, -1);
}

static void stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* Its loader may still be at work at first. */
static void assert_found_soon(struct bench *bench, pid_t pid)
{
	for (int i = 0; i < 100 && !look_after(bench, 100); i++)
		(void)usleep(1000);
	assert_int_equal(bench->found_count, 1);
	assert_int_equal(bench->found[0], pid);
}

static void a_ruby_that_publishes_is_found_once(void **state)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	assert_int_equal(look_after(bench, 0), 1);
	assert_int_equal(bench->found[0], pid);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(look_after(bench, 60000), 0);
	stop(pid);
	assert_int_equal(look_after(bench, 60000), 0);
}

static void a_new_one_is_found_by_the_next_look(void **state)
{
	struct bench *bench = *state;
	pid_t first = start_ruby(bench, 0);
	pid_t second;

	assert_int_equal(look_after(bench, 0), 1);
	second = start_ruby(bench, 0);
	assert_int_equal(look_after(bench, 0), 1);
	assert_int_equal(bench->found[0], second);
	stop(first);
	stop(second);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	const struct timespec two_ticks = { .tv_nsec = 20 * NS_PER_MS };
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	assert_int_equal(look_after(bench, 0), 1);
	stop(pid);
	(void)nanosleep(&two_ticks, NULL);
	if (start_ruby(bench, pid) != pid) {
		print_message("choosing a pid needs CAP_CHECKPOINT_RESTORE\n");
		skip();
	}
	assert_int_equal(look_after(bench, 0), 1);
	assert_int_equal(bench->found[0], pid);
	stop(pid);
}

/* The shell waits for a line, then becomes the stand-in under the same pid. */
static void an_exec_makes_what_was_not_ruby_worth_a_look(void **state)
{
	struct bench *bench = *state;
	char script[2 * STAND_IN_PATH_BYTES];
	char *argv[] = { bench->files.name, (char[]){ "-c" }, script, NULL };
	int input[2];
	pid_t pid;

	(void)snprintf(script, sizeof(script), "read line; exec '%s' sleep", bench->files.ruby);
	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	pid = stand_in_start(0, bench->files.shell, argv, input[0]);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(look_after(bench, 3000), 0);
	assert_int_equal(look_after(bench, 3000), 0);
	assert_int_equal(write(input[1], "\n", 1), 1);
	stand_in_await(pid, bench->files.ruby);
	assert_found_soon(bench, pid);
	(void)close(input[0]);
	(void)close(input[1]);
	stop(pid);
}

/* As `bundle exec` does it: Ruby becomes Ruby, with the gem this time. */
static void a_ruby_without_the_variable_is_reported_once_it_publishes(void **state)
{
	struct bench *bench = *state;
	char *argv[] = { bench->files.name, STAND_IN_EXEC, bench->files.ruby, NULL };
	int input[2];
	pid_t pid;

	assert_int_equal(pipe2(input, O_CLOEXEC), 0);
	pid = stand_in_start(0, bench->files.plain, argv, input[0]);
	for (int i = 0; i < 10; i++)
		assert_int_equal(look_after(bench, 1000), 0);
	(void)close(input[0]);
	(void)close(input[1]);
	stand_in_await(pid, bench->files.ruby);
	assert_found_soon(bench, pid);
	stop(pid);
}

static void another_name_is_not_reported(void **state)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	discovery_free(bench->discovery);
	bench->discovery = NULL;
	assert_int_equal(
		discovery_new("no-process-has-this-name", NULL, &ruby_contexts, &bench->discovery),
		0);
	assert_int_equal(look_after(bench, 0), 0);
	stop(pid);
}

static void another_cgroup_is_not_reported(void **state)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	discovery_free(bench->discovery);
	bench->discovery = NULL;
	assert_int_equal(discovery_new(bench->files.name, "/no.such.slice", &ruby_contexts,
				       &bench->discovery),
			 0);
	assert_int_equal(look_after(bench, 0), 0);
	discovery_free(bench->discovery);
	bench->discovery = NULL;
	assert_int_equal(discovery_new(bench->files.name, "/", &ruby_contexts, &bench->discovery),
			 0);
	assert_int_equal(look_after(bench, 0), 1);
	stop(pid);
}

static void what_the_caller_refuses_is_reported_again(void **state)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	bench->answer = -ECANCELED;
	assert_int_equal(look_after(bench, 0), 1);
	assert_int_equal(look_after(bench, 0), 1);
	bench->answer = 0;
	assert_int_equal(look_after(bench, 0), 1);
	assert_int_equal(look_after(bench, 0), 0);
	stop(pid);
}

static void the_own_process_is_not_reported(void **state)
{
	struct bench *bench = *state;
	char *argv[] = { bench->files.name, STAND_IN_LOOK, NULL };
	pid_t pid = stand_in_start(0, bench->files.ruby, argv, -1);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void what_may_not_be_read_is_found_by_who_may(void **state)
{
	const unsigned int nobody = 65534;
	struct bench *bench = *state;
	pid_t pid, child;
	int status;

	if (getuid()) {
		print_message("changing the user needs root\n");
		skip();
	}
	pid = start_ruby(bench, 0);
	child = fork();
	if (child == 0) {
		if (setuid(nobody) || discovery_look(bench->discovery, 1, note, bench) ||
		    discovery_look(bench->discovery, 1, note, bench))
			_exit(100);
		_exit((int)bench->found_count);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_int_equal(look_after(bench, 0), 1);
	stop(pid);
}

/* As the stand-in: looks for its own name and counts. */
static int look_as_stand_in(const char *name)
{
	struct bench bench = { .now_ns = 1 };
	size_t count;

	if (discovery_new(name, NULL, &ruby_contexts, &bench.discovery))
		return 100;
	count = look_after(&bench, 0);
	discovery_free(bench.discovery);
	return (int)count;
}

int main(int argc, char **argv)
{
#define LIVE(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		LIVE(a_ruby_that_publishes_is_found_once),
		LIVE(a_new_one_is_found_by_the_next_look),
		LIVE(a_pid_that_is_used_again_is_another_process),
		LIVE(an_exec_makes_what_was_not_ruby_worth_a_look),
		LIVE(a_ruby_without_the_variable_is_reported_once_it_publishes),
		LIVE(another_name_is_not_reported),
		LIVE(another_cgroup_is_not_reported),
		LIVE(what_the_caller_refuses_is_reported_again),
		LIVE(the_own_process_is_not_reported),
		LIVE(what_may_not_be_read_is_found_by_who_may),
	};

	if (argc == 2 && !strcmp(argv[1], STAND_IN_LOOK))
		return look_as_stand_in(argv[0]);
	if (argc > 1)
		return stand_in_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
