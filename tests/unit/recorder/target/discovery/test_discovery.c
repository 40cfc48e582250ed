/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/discovery/discovery.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "unit_test.h"

#include "command/stand_in.h"

UNIT_TEST_ALONE;

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
	size_t candidate_count;
	size_t dropped_count;
	pid_t candidate; /* the last one */
	int candidate_answer;
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

static int note_candidate(void *user, const struct target *target)
{
	struct bench *bench = user;

	assert_true(target->ruby.is_ruby);
	assert_null(target_publisher(target));
	bench->candidate_count++;
	bench->candidate = target->info.pid;
	return bench->candidate_answer;
}

static void note_dropped(void *user, pid_t pid)
{
	struct bench *bench = user;

	assert_int_equal(pid, bench->candidate);
	bench->dropped_count++;
}

static int look(struct bench *bench)
{
	const struct discovery_owner owner = { note, note_candidate, note_dropped, bench };

	return discovery_look(bench->discovery, bench->now_ns, &owner);
}

/* Looks as a recording does that has waited for pause_ms. Returns the number of news. */
static size_t look_after(struct bench *bench, unsigned int pause_ms)
{
	bench->found_count = 0;
	bench->now_ns += pause_ms * NS_PER_MS;
	assert_int_equal(look(bench), bench->answer);
	return bench->found_count;
}

/* The same, of one that was told of. */
static size_t look_at_expected(struct bench *bench, pid_t pid)
{
	discovery_expect(bench->discovery, pid, bench->now_ns);
	assert_true(discovery_next_look(bench->discovery) <= bench->now_ns + 50 * NS_PER_MS);
	return look_after(bench, 50);
}

static int set_up(void **state)
{
	struct bench *bench = calloc(1, sizeof(*bench));

	assert_non_null(bench);
	stand_in_make(&bench->files);
	bench->now_ns = 1;
	assert_int_equal(
		discovery_new(bench->files.name, NULL, &ruby_contexts, NULL, &bench->discovery), 0);
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

/* Its loader may still be at work at first, and tells so. Only a hang takes the ten seconds. */
static void assert_found_soon(struct bench *bench, pid_t pid)
{
	for (int i = 0; i < 10000; i++) {
		discovery_expect(bench->discovery, pid, bench->now_ns);
		if (look_after(bench, 100))
			break;
		(void)usleep(1000);
	}
	assert_int_equal(bench->found_count, 1);
	assert_int_equal(bench->found[0], pid);
}

#define LIVE(test) TEST_WITH(test, set_up, tear_down)

LIVE(discovery_reports_publishing_ruby_once)
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

LIVE(discovery_finds_new_process_on_notification)
{
	struct bench *bench = *state;
	pid_t first = start_ruby(bench, 0);
	pid_t second;

	assert_int_equal(look_after(bench, 0), 1);
	second = start_ruby(bench, 0);
	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(look_at_expected(bench, second), 1);
	assert_int_equal(bench->found[0], second);
	assert_int_equal(look_at_expected(bench, second), 0);
	stop(first);
	stop(second);
}

/* Returns after how many looks, each when it is due. */
static size_t look_until_found(struct bench *bench)
{
	for (size_t looks = 1;; looks++) {
		uint64_t next_ns = discovery_next_look(bench->discovery);

		bench->now_ns = next_ns > bench->now_ns ? next_ns : bench->now_ns;
		assert_true(looks < 10000);
		if (look_after(bench, 0))
			return looks;
	}
}

LIVE(discovery_finds_unannounced_process_in_next_pass)
{
	struct bench *bench = *state;
	uint64_t start_ns;
	pid_t pid;

	assert_int_equal(look_after(bench, 0), 0);
	start_ns = bench->now_ns;
	pid = start_ruby(bench, 0);
	(void)look_until_found(bench);
	assert_int_equal(bench->found[0], pid);
	assert_in_range((bench->now_ns - start_ns) / NS_PER_MS, 59000, 61000 + 50 * 1000);
	stop(pid);
}

LIVE(discovery_scans_all_processes_after_lost_event)
{
	struct bench *bench = *state;
	uint64_t start_ns;
	pid_t pid;

	assert_int_equal(look_after(bench, 0), 0);
	start_ns = bench->now_ns;
	pid = start_ruby(bench, 0);
	discovery_expect_any(bench->discovery, bench->now_ns);
	(void)look_until_found(bench);
	assert_int_equal(bench->found[0], pid);
	/* 64 processes each 50 ms: of less than 60,000. */
	assert_true(bench->now_ns - start_ns < 50000 * NS_PER_MS);
	stop(pid);
}

static pid_t start_candidate(struct bench *bench)
{
	char *argv[] = { bench->files.name, STAND_IN_SLEEP, NULL };
	pid_t pid = stand_in_start(0, bench->files.plain, argv, -1);

	assert_int_equal(look_after(bench, 0), 0);
	assert_int_equal(bench->candidate, pid);
	return pid;
}

LIVE(discovery_leaves_watched_candidate_alone)
{
	struct bench *bench = *state;
	pid_t pid = start_candidate(bench);

	while (discovery_next_look(bench->discovery) < bench->now_ns + 50000 * NS_PER_MS)
		assert_int_equal(look_after(bench, 500), 0);
	assert_int_equal(bench->candidate_count, 1);
	bench->now_ns += 1000 * NS_PER_MS;
	/* Its loader is at work, which is not worth more than a look each 50 ms. */
	discovery_expect(bench->discovery, pid, bench->now_ns);
	assert_true(discovery_next_look(bench->discovery) <= bench->now_ns + NS_PER_MS);
	assert_int_equal(look_after(bench, 1), 0);
	discovery_expect(bench->discovery, pid, bench->now_ns);
	assert_true(discovery_next_look(bench->discovery) > bench->now_ns + 40 * NS_PER_MS);
	stop(pid);
	assert_int_equal(look_after(bench, 50), 0);
	assert_int_equal(bench->dropped_count, 1);
}

LIVE(discovery_looks_again_at_unwatched_candidate)
{
	struct bench *bench = *state;
	pid_t pid;

	bench->candidate_answer = -ENOSPC;
	pid = start_candidate(bench);
	for (int i = 0; i < 10; i++)
		assert_int_equal(look_after(bench, 2000), 0);
	assert_true(discovery_next_look(bench->discovery) <= bench->now_ns + 2000 * NS_PER_MS);
	assert_true(bench->candidate_count >= 10);
	assert_int_equal(bench->dropped_count, 0);
	stop(pid);
}

LIVE(discovery_forgets_process_that_exited)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	assert_int_equal(look_after(bench, 0), 1);
	stop(pid);
	assert_int_equal(look_at_expected(bench, pid), 0);
	if (start_ruby(bench, pid) == pid) {
		assert_int_equal(look_at_expected(bench, pid), 1);
		stop(pid);
	}
}

LIVE(discovery_treats_reused_pid_as_another_process)
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
	assert_int_equal(look_at_expected(bench, pid), 1);
	assert_int_equal(bench->found[0], pid);
	stop(pid);
}

/* The shell waits for a line, then becomes the stand-in under the same pid. */
LIVE(discovery_looks_again_after_exec)
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
LIVE(discovery_reports_ruby_after_exec_with_publisher)
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

LIVE(discovery_skips_process_of_other_name)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	discovery_free(bench->discovery);
	bench->discovery = NULL;
	assert_int_equal(discovery_new("no-process-has-this-name", NULL, &ruby_contexts, NULL,
				       &bench->discovery),
			 0);
	assert_int_equal(look_after(bench, 0), 0);
	stop(pid);
}

LIVE(discovery_skips_process_of_other_cgroup)
{
	struct bench *bench = *state;
	pid_t pid = start_ruby(bench, 0);

	discovery_free(bench->discovery);
	bench->discovery = NULL;
	assert_int_equal(discovery_new(bench->files.name, "/no.such.slice", &ruby_contexts, NULL,
				       &bench->discovery),
			 0);
	assert_int_equal(look_after(bench, 0), 0);
	discovery_free(bench->discovery);
	bench->discovery = NULL;
	assert_int_equal(
		discovery_new(bench->files.name, "/", &ruby_contexts, NULL, &bench->discovery), 0);
	assert_int_equal(look_after(bench, 0), 1);
	stop(pid);
}

LIVE(discovery_reports_again_what_callback_refused)
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

LIVE(discovery_skips_its_own_process)
{
	struct bench *bench = *state;
	char *argv[] = { bench->files.name, STAND_IN_LOOK, NULL };
	pid_t pid = stand_in_start(0, bench->files.ruby, argv, -1);
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

LIVE(discovery_finds_unreadable_process_only_if_privileged)
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
		if (setuid(nobody) || look(bench) || look(bench))
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

	if (discovery_new(name, NULL, &ruby_contexts, NULL, &bench.discovery))
		return 100;
	count = look_after(&bench, 0);
	discovery_free(bench.discovery);
	return (int)count;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], STAND_IN_LOOK))
		return look_as_stand_in(argv[0]);
	if (argc > 1)
		return stand_in_main(argc, argv);
	return unit_test_run(NULL);
}
