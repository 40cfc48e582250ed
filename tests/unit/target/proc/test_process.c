#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "target/proc/process.h"

static void wait_for_end_of_pipe(int fd)
{
	char byte;

	while (read(fd, &byte, 1) > 0)
		;
	_exit(0);
}

/* A child with a child, both named, that live until the pipe's writing end is closed. */
struct family {
	pid_t child;
	pid_t grandchild;
	int life;
};

static struct family family_start(void)
{
	struct family family = { 0 };
	int life[2];
	int birth[2];

	assert_int_equal(pipe(life), 0);
	assert_int_equal(pipe(birth), 0);
	family.child = fork();
	assert_true(family.child >= 0);
	if (family.child == 0) {
		pid_t grandchild;

		(void)close(life[1]);
		(void)prctl(PR_SET_NAME, "a) b (c");
		grandchild = fork();
		if (grandchild == 0)
			wait_for_end_of_pipe(life[0]);
		if (write(birth[1], &grandchild, sizeof(grandchild)) != sizeof(grandchild))
			_exit(1);
		wait_for_end_of_pipe(life[0]);
	}
	assert_int_equal(read(birth[0], &family.grandchild, sizeof(pid_t)), sizeof(pid_t));
	(void)close(birth[0]);
	(void)close(birth[1]);
	(void)close(life[0]);
	family.life = life[1];
	return family;
}

static void family_end(const struct family *family)
{
	(void)close(family->life);
	assert_int_equal(waitpid(family->child, NULL, 0), family->child);
}

static void this_process_is_described(void **state)
{
	struct process_info info;
	struct process_info again;

	(void)state;
	assert_int_equal(prctl(PR_SET_NAME, "0123456789abcdef"), 0);
	assert_int_equal(process_read_info(getpid(), &info), 0);
	assert_int_equal(info.pid, getpid());
	assert_int_equal(info.parent_pid, getppid());
	assert_int_equal(info.uid, getuid());
	assert_int_equal(info.ns_pid, getpid());
	assert_string_equal(info.comm, "0123456789abcde");
	assert_true(info.start_ticks > 0);
	assert_int_equal(process_read_info(getpid(), &again), 0);
	assert_int_equal(again.start_ticks, info.start_ticks);
}

static void exec_time_grows_with_the_cpu_time_used(void **state)
{
	struct process_info before;
	struct process_info after;
	struct timespec start;
	struct timespec now;
	uint64_t used_ns;

	(void)state;
	assert_int_equal(process_read_info(getpid(), &before), 0);
	if (!before.has_exec_ns)
		skip();
	assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start), 0);
	do {
		assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now), 0);
		used_ns = (uint64_t)(now.tv_sec - start.tv_sec) * 1000000000 +
			  (uint64_t)(now.tv_nsec - start.tv_nsec);
	} while (used_ns < 50000000);
	assert_int_equal(process_read_info(getpid(), &after), 0);
	/* Of a running thread it is as of the last tick. */
	assert_in_range(after.exec_ns - before.exec_ns, used_ns - 12000000, used_ns + 1000000000);
}

static void a_name_with_parentheses_does_not_shift_the_fields(void **state)
{
	struct family family = family_start();
	struct process_info info;

	(void)state;
	assert_int_equal(process_read_info(family.child, &info), 0);
	assert_string_equal(info.comm, "a) b (c");
	assert_int_equal(info.parent_pid, getpid());
	family_end(&family);
}

static void descendants_are_listed_breadth_first_without_the_pid_itself(void **state)
{
	struct family family = family_start();
	_cleanup_free_ pid_t *of_self = NULL;
	_cleanup_free_ pid_t *of_child = NULL;
	_cleanup_free_ pid_t *of_grandchild = NULL;
	size_t count;

	(void)state;
	assert_int_equal(process_find_descendants(getpid(), &of_self, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(of_self[0], family.child);
	assert_int_equal(of_self[1], family.grandchild);
	assert_int_equal(process_find_descendants(family.child, &of_child, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(of_child[0], family.grandchild);
	assert_int_equal(process_find_descendants(family.grandchild, &of_grandchild, &count), 0);
	assert_int_equal(count, 0);
	assert_non_null(of_grandchild);
	family_end(&family);
}

static void a_zombie_and_a_free_pid_are_no_process(void **state)
{
	struct process_info info = { .pid = 42 };
	siginfo_t status;
	pid_t child = fork();
	pid_t *tids = NULL;
	size_t count;

	(void)state;
	assert_true(child >= 0);
	if (child == 0)
		_exit(0);
	assert_int_equal(waitid(P_PID, (id_t)child, &status, WEXITED | WNOWAIT), 0);
	assert_int_equal(process_read_info(child, &info), -ESRCH);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(process_read_info(0x7ffffffe, &info), -ESRCH);
	assert_int_equal(process_find_threads(0x7ffffffe, &tids, &count), -ESRCH);
	assert_null(process_server_name(0x7ffffffe));
	assert_int_equal(info.pid, 42);
}

static void *wait_on_barrier(void *barrier)
{
	(void)pthread_barrier_wait(barrier);
	return NULL;
}

static void the_threads_of_a_process_are_listed(void **state)
{
	_cleanup_free_ pid_t *tids = NULL;
	pthread_barrier_t barrier;
	pthread_t thread;
	size_t before = 0;
	size_t count = 0;
	bool has_main = false;

	(void)state;
	assert_int_equal(process_find_threads(getpid(), &tids, &before), 0);
	free(TAKE_PTR(tids));
	assert_int_equal(pthread_barrier_init(&barrier, NULL, 2), 0);
	assert_int_equal(pthread_create(&thread, NULL, wait_on_barrier, &barrier), 0);
	assert_int_equal(process_find_threads(getpid(), &tids, &count), 0);
	(void)pthread_barrier_wait(&barrier);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_barrier_destroy(&barrier), 0);
	assert_int_equal(count, before + 1);
	for (size_t i = 0; i < count; i++)
		has_main |= tids[i] == getpid();
	assert_true(has_main);
}

static void servers_are_known_by_title_or_script(void **state)
{
#define CASE(line, name)                 \
	{                                \
		line, sizeof(line), name \
	}
	static const struct {
		const char *line;
		size_t size_bytes;
		const char *name;
	} cases[] = {
		CASE("puma 6.4.0 (tcp://0.0.0.0:9292) [shop]", "puma"),
		CASE("puma: cluster worker 0: 12 [shop]", "puma"),
		CASE("unicorn master -c config/unicorn.rb", "unicorn"),
		CASE("sidekiq 7.1.2 shop [0 of 5 busy]", "sidekiq"),
		CASE("resque-2.4.0: Waiting for default", "resque"),
		CASE("Passenger RubyApp: /srv/shop (production)", "passenger"),
		CASE("ruby\0/usr/local/bin/puma\0-C\0config/puma.rb", "puma"),
		CASE("/usr/bin/ruby3.1\0-w\0-I\0lib\0bin/rails\0server", "rails"),
		CASE("ruby\0/usr/bin/bundle\0exec\0falcon\0serve", "falcon"),
		CASE("ruby\0bin/unicorn_rails", "unicorn"),
		CASE("ruby\0script.rb\0puma", NULL),
		CASE("ruby\0-e\0puma_like", NULL),
		CASE("pumas", NULL),
		CASE("ruby\0-I", NULL),
		CASE("ruby", NULL),
		CASE("", NULL),
	};
#undef CASE

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *name = process_server_name_of(cases[i].line, cases[i].size_bytes);

		if (!name != !cases[i].name || (name && strcmp(name, cases[i].name) != 0))
			fail_msg("\"%s\": %s", cases[i].line, name ? name : "none");
	}
	assert_null(process_server_name_of(NULL, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_process_is_described),
		cmocka_unit_test(exec_time_grows_with_the_cpu_time_used),
		cmocka_unit_test(a_name_with_parentheses_does_not_shift_the_fields),
		cmocka_unit_test(descendants_are_listed_breadth_first_without_the_pid_itself),
		cmocka_unit_test(a_zombie_and_a_free_pid_are_no_process),
		cmocka_unit_test(the_threads_of_a_process_are_listed),
		cmocka_unit_test(servers_are_known_by_title_or_script),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
