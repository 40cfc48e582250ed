/* SPDX-License-Identifier: GPL-2.0-only */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>

#include "unit_test.h"

#include "base/clock.h"
#include "failing_memory.h"
#include "recorder/net/name_server.h"
#include "recorder/net/resolver.h"
#include "recorder/net/stopper.h"

UNIT_TEST_ALONE;

#define SHORT_NS (20 * NS_PER_MS)

/* The name server of these tests. */
static struct {
	atomic_int lookups; /* of names */
	sem_t may_answer; /* each answer takes one */
	unsigned int answers; /* that may be given so far: so many threads end */
	sem_t ended; /* each of them gives one */
	pthread_key_t key; /* what a thread has when it ends */
	int result; /* of getaddrinfo; 0 = the addresses of 127.0.0.1 */
	int error; /* errno then */
} server;

static int answer_name(const char *port, const struct addrinfo *hints,
		       struct addrinfo **ret_addresses)
{
	server.lookups++;
	(void)pthread_setspecific(server.key, &server);
	while (sem_wait(&server.may_answer) < 0)
		continue;
	errno = server.error;
	return server.result ? server.result
			     : read_address("127.0.0.1", port, hints, ret_addresses);
}

static void answer(int result, int error)
{
	server.result = result;
	server.error = error;
	server.answers++;
	assert_int_equal(sem_post(&server.may_answer), 0);
}

static bool has_threads;
static pthread_t last_thread;

/* Instead of ours: a machine may have no room for one more thread. */
int thread_start(pthread_t *ret_thread, void *(*run)(void *user), void *user)
{
	int error = has_threads ? pthread_create(ret_thread, NULL, run, user) : EAGAIN;

	if (!error)
		last_thread = *ret_thread;
	return -error;
}

static struct waiter waiter;

static void say_ended(void *unused)
{
	(void)unused;
	(void)sem_post(&server.ended);
}

static int setup(void **state)
{
	(void)state;
	has_threads = true;
	server.lookups = 0;
	server.answers = 0;
	if (sem_init(&server.may_answer, 0, 0) < 0 || sem_init(&server.ended, 0, 0) < 0 ||
	    pthread_key_create(&server.key, say_ended) != 0)
		return -1;
	return waiter_init(&waiter);
}

/* Each lookup is answered, and so its thread ends: after the last that it does. */
static int teardown(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < server.answers; i++)
		while (sem_wait(&server.ended) < 0)
			continue;
	(void)pthread_key_delete(server.key);
	(void)sem_destroy(&server.ended);
	(void)sem_destroy(&server.may_answer);
	waiter_deinit(&waiter);
	return 0;
}

static int look_up(struct resolver *resolver, uint64_t deadline_ns, const char **ret_reason)
{
	_cleanup_(freeaddrinfop) struct addrinfo *addresses = NULL;
	int r = resolver_lookup(resolver, &waiter, deadline_ns, &addresses, ret_reason);

	assert_true((r == 0) == (addresses != NULL));
	for (struct addrinfo *each = addresses; each; each = each->ai_next) {
		const struct sockaddr_in *v4 = (const struct sockaddr_in *)each->ai_addr;

		assert_int_equal(each->ai_socktype, SOCK_STREAM);
		/* At the same place with IPv6. */
		assert_int_equal(ntohs(v4->sin_port), 24224);
	}
	return r;
}

#define FIXTURE_TEST(test) TEST_WITH(test, setup, teardown)

FIXTURE_TEST(resolver_parses_address_without_name_server)
{
	static const char *const hosts[] = { "127.0.0.1", "::1", "192.0.2.7" };
	const char *reason;

	for (size_t i = 0; i < 3; i++) {
		_cleanup_(resolver_freep) struct resolver *resolver =
			resolver_new(hosts[i], "24224");

		assert_int_equal(look_up(resolver, UINT64_MAX, &reason), 0);
	}
	assert_int_equal(server.lookups, 0);
}

FIXTURE_TEST(resolver_looks_up_name_each_time)
{
	_cleanup_(resolver_freep) struct resolver *resolver = resolver_new("collector", "24224");
	const char *reason;

	for (int i = 1; i <= 3; i++) {
		answer(0, 0);
		assert_int_equal(look_up(resolver, UINT64_MAX, &reason), 0);
		assert_int_equal(server.lookups, i);
	}
}

FIXTURE_TEST(resolver_reports_reason_of_failure)
{
	_cleanup_(resolver_freep) struct resolver *resolver = resolver_new("collector", "24224");
	const char *reason;

	answer(EAI_NONAME, 0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), -EHOSTUNREACH);
	assert_string_equal(reason, gai_strerror(EAI_NONAME));
	answer(EAI_SYSTEM, EMFILE);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), -EHOSTUNREACH);
	assert_string_equal(reason, strerror(EMFILE));
	answer(0, 0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), 0);
}

static unsigned int count_open(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void await_open(unsigned int expected)
{
	for (int ms = 0; count_open() != expected; ms++) {
		assert_true(ms < 10000);
		(void)usleep(1000);
	}
}

/* Nothing is left of it, and the next one is as the first. */
FIXTURE_TEST(resolver_retries_after_failed_thread_start)
{
	struct resolver *resolver = resolver_new("collector.test", "24224");
	unsigned int open_files = count_open();
	const char *reason = NULL;
	pthread_attr_t attributes;
	int detach_state;

	has_threads = false;
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), -EAGAIN);
	assert_int_equal(count_open(), open_files);
	has_threads = true;
	assert_int_equal(look_up(resolver, 1, &reason), -ETIMEDOUT);
	/* It is nobody's to wait for. */
	assert_int_equal(pthread_getattr_np(last_thread, &attributes), 0);
	assert_int_equal(pthread_attr_getdetachstate(&attributes, &detach_state), 0);
	assert_int_equal(detach_state, PTHREAD_CREATE_DETACHED);
	assert_int_equal(pthread_attr_destroy(&attributes), 0);
	answer(0, 0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), 0);
	while (sem_wait(&server.ended) < 0)
		continue;
	assert_int_equal(sem_post(&server.ended), 0);
	await_open(open_files);
	resolver_free(resolver);
}

/* Where a descriptor may be 0, or there is none. */
FIXTURE_TEST(resolver_works_with_stdin_closed)
{
	_cleanup_(resolver_freep) struct resolver *resolver = resolver_new("collector", "24224");
	unsigned int open_files = count_open();
	int saved = dup(STDIN_FILENO);
	const char *reason;
	struct rlimit limit, none;

	assert_true(saved >= 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_max = limit.rlim_max };
	assert_int_equal(close(STDIN_FILENO), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	answer(0, 0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), 0);
	await_open(open_files);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
}

FIXTURE_TEST(resolver_fails_without_memory)
{
	_cleanup_(resolver_freep) struct resolver *resolver = NULL;
	const char *reason;

	memory_fails_once_after(0);
	assert_null(resolver_new("collector", "24224"));
	resolver = resolver_new("collector", "24224");
	memory_fails_once_after(0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), -ENOMEM);
	assert_int_equal(memory_failures(), 1);
	assert_int_equal(server.lookups, 0);
	resolver_free(NULL);
}

/* However often it is tried, one thread waits for a name server that says nothing. */
FIXTURE_TEST(resolver_rejoins_slow_lookup_after_timeout)
{
	_cleanup_(resolver_freep) struct resolver *resolver = resolver_new("collector", "24224");
	uint64_t deadline_ns = clock_monotonic_ns() + SHORT_NS;
	const char *reason;

	assert_int_equal(look_up(resolver, deadline_ns, &reason), -ETIMEDOUT);
	assert_true(clock_monotonic_ns() >= deadline_ns);
	for (int i = 0; i < 10; i++)
		assert_int_equal(look_up(resolver, 1, &reason), -ETIMEDOUT);
	answer(0, 0);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), 0);
	assert_int_equal(server.lookups, 1);
}

FIXTURE_TEST(resolver_lookup_ends_on_stop)
{
	_cleanup_(resolver_freep) struct resolver *resolver = resolver_new("collector", "24224");
	struct stopper stopper;
	const char *reason;

	start_stopper(&stopper, &waiter, 1);
	assert_int_equal(look_up(resolver, UINT64_MAX, &reason), -ECANCELED);
	end_stopper(&stopper);
	answer(0, 0);
}

/* What it holds is freed by whoever is the last to hold it. */
FIXTURE_TEST(resolver_may_be_freed_during_lookup)
{
	struct resolver *resolver = resolver_new("collector", "24224");
	const char *reason;

	assert_int_equal(look_up(resolver, 1, &reason), -ETIMEDOUT);
	resolver_free(resolver);
	answer(0, 0);
}
