/* SPDX-License-Identifier: GPL-2.0-only */
/* Whom the server waits for, and how long; and the file that it writes instead. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "unit_test.h"

#include "base/clock.h"
#include "ears.h"
#include "failing_memory.h"
#include "inheritable.h"
#include "recorder/metrics/metrics_server.h"

UNIT_TEST_ALONE;

enum {
	CLIENTS_MAX = 8,
	CLIENT_MS = 5000,
	DAWDLE_MS = 100,
	RETRY_MS = 5000,
	READS_MAX = 64,
	REQUEST_BYTES_MAX = 4096,
	PIECE = 100,
	DEADLINE_MS = 10000,
	NO_TIMEOUT = -2,
};

static char folder[] = "/tmp/test_metrics_server.XXXXXX";

static _Atomic uint64_t now_ns; /* CLOCK_MONOTONIC */
static _Atomic uint64_t thread_cpu_ns; /* of the server's */
static atomic_int timeout_ms; /* of the server's last poll(2) */
static atomic_uint polls;
static atomic_bool is_idle; /* it waits, and nothing is there for it */
static atomic_bool watches_input; /* standard input, which is not its own */
static atomic_uint sends, receipts;
static atomic_bool is_slow; /* its socket takes and gives little, and is often not ready */
static atomic_bool is_stuck; /* it takes nothing */

/* Instead of libc's, the four below. The test itself waits by others. */
int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	if (clock != CLOCK_MONOTONIC && clock != CLOCK_THREAD_CPUTIME_ID)
		return (int)syscall(SYS_clock_gettime, clock, ret_time);
	*ret_time = clock_timespec(clock == CLOCK_MONOTONIC ? now_ns : thread_cpu_ns);
	return 0;
}

int poll(struct pollfd *fds, nfds_t count, int wait_ms)
{
	int ready = ppoll(fds, count, &(struct timespec){ 0 }, NULL);

	for (nfds_t i = 0; i < count; i++)
		watches_input |= fds[i].fd == STDIN_FILENO;
	timeout_ms = wait_ms;
	polls++;
	if (ready || wait_ms == 0)
		return ready;
	is_idle = true;
	return ppoll(fds, count, NULL, NULL);
}

static bool is_disturbed(atomic_uint *calls)
{
	static const int errors[] = { EINTR, EAGAIN, 0 };
	unsigned int call = is_slow ? (*calls)++ : 2;

	/* What succeeds leaves there what was. */
	errno = errors[call % 3] ? errors[call % 3] : EAGAIN;
	return errors[call % 3] != 0;
}

ssize_t send(int fd, const void *bytes, size_t size_bytes, int flags)
{
	if (is_stuck)
		errno = EAGAIN;
	if (is_stuck || is_disturbed(&sends))
		return -1;
	if (is_slow && size_bytes > PIECE)
		size_bytes = PIECE;
	return syscall(SYS_sendto, fd, bytes, size_bytes, flags, NULL, 0);
}

ssize_t recv(int fd, void *ret_bytes, size_t size_bytes, int flags)
{
	if (is_disturbed(&receipts))
		return -1;
	if (is_slow && size_bytes > 1)
		size_bytes = 1;
	return syscall(SYS_recvfrom, fd, ret_bytes, size_bytes, flags, NULL, NULL);
}

/* Instead of libc's: the memory of what is given out may have run out. */
static atomic_bool has_text = true;
static atomic_uint texts;

FILE *open_memstream(char **ret_text, size_t *ret_size_bytes)
{
	FILE *(*real)(char **, size_t *) =
		(FILE * (*)(char **, size_t *)) dlsym(RTLD_NEXT, "open_memstream");

	errno = ENOMEM;
	texts++;
	return has_text ? real(ret_text, ret_size_bytes) : NULL;
}

static int make_folder(void **state)
{
	(void)state;
	now_ns = 1000 * NS_PER_S;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return rmdir(folder);
}

static struct metrics_server *serve(const char *scheme, const char *name, char ret_path[static 64])
{
	struct metrics_server *server = NULL;
	struct metrics metrics;
	char address[80];

	(void)snprintf(ret_path, 64, "%s/%s", folder, name);
	(void)snprintf(address, sizeof(address), "%s:%s", scheme, ret_path);
	metrics_init(&metrics, "1.2", 0);
	thread_cpu_ns = 0;
	timeout_ms = NO_TIMEOUT;
	assert_int_equal(metrics_server_new(address, &metrics, &server), 0);
	return server;
}

static int connect_to(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void say(int fd, const char *words)
{
	assert_int_equal(write(fd, words, strlen(words)), strlen(words));
}

/* Until the server closes: all that it answers. */
static const char *hear(int fd)
{
	static char answer[65536];
	size_t size = 0;
	ssize_t got;

	while ((got = read(fd, answer + size, sizeof(answer) - 1 - size)) > 0)
		size += (size_t)got;
	answer[size] = '\0';
	assert_int_equal(close(fd), 0);
	return answer;
}

static const char *ask(const char *path, const char *request)
{
	int fd = connect_to(path);

	say(fd, request);
	return hear(fd);
}

static void expect_status(const char *answer, const char *status)
{
	assert_memory_equal(answer, "HTTP/1.0 ", 9);
	assert_memory_equal(answer + 9, status, strlen(status));
}

/* Its body is as long as it says. */
static size_t content_bytes(const char *answer)
{
	const char *length = strstr(answer, "\r\nContent-Length: ");

	assert_non_null(length);
	return strtoul(length + 18, NULL, 10);
}

static void expect_body(const char *answer, size_t size_bytes)
{
	const char *body = strstr(answer, "\r\n\r\n");

	assert_non_null(body);
	assert_int_equal(strlen(body + 4), size_bytes);
}

static int recv_now(int fd)
{
	char byte;

	return syscall(SYS_recvfrom, fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK, NULL, NULL) < 0 ? -errno
											    : 1;
}

TEST(metrics_server_sends_whole_answer_over_slow_socket)
{
	char path[64], quick[65536];
	struct metrics_server *server = serve("unix", "socket", path);
	const char *answer = ask(path, "GET /metrics HTTP/1.0\r\n\r\n");

	expect_status(answer, "200");
	expect_body(answer, content_bytes(answer));
	assert_true(content_bytes(answer) > 10 * PIECE);
	(void)strcpy(quick, answer);
	is_slow = true;
	assert_string_equal(ask(path, "GET /metrics HTTP/1.0\n\n"), quick);
	is_slow = false;
	answer = ask(path, "HEAD / HTTP/1.0\r\n\r\n");
	expect_status(answer, "200");
	assert_int_equal(content_bytes(answer), content_bytes(quick));
	expect_body(answer, 0);
	answer = ask(path, "DELETE / HTTP/1.0\r\n\r\n");
	expect_status(answer, "405");
	expect_body(answer, content_bytes(answer));
	expect_status(ask(path, "GET /metrics?x HTTP/1.0\r\n\r\n"), "200");
	expect_status(ask(path, "GET /metric HTTP/1.0\r\n\r\n"), "404");
	expect_status(ask(path, "GET x HTTP/1.0\r\n\r\n"), "404");
	metrics_server_free(server);
}

/* The last byte that there is room for may end it. */
TEST(metrics_server_limits_request_to_4_kib)
{
	char path[64], request[REQUEST_BYTES_MAX + 1];
	struct metrics_server *server = serve("unix", "socket", path);

	memset(request, 'x', REQUEST_BYTES_MAX);
	request[REQUEST_BYTES_MAX] = '\0';
	memcpy(request, "GET / HTTP/1.0\r\nX: ", 19);
	expect_status(ask(path, request), "431");
	memcpy(request + REQUEST_BYTES_MAX - 4, "\r\n\r\n", 4);
	expect_status(ask(path, request), "200");
	metrics_server_free(server);
}

static void publish(struct metrics_server *server, const char *version)
{
	struct metrics metrics;

	metrics_init(&metrics, version, 0);
	metrics_server_publish(server, &metrics);
}

static void wake(struct metrics_server *server)
{
	publish(server, "1.2");
}

/* Until the server has seen all that was done before: it waits, or has gone round again, since some
 * socket is always ready. */
static void settle(struct metrics_server *server)
{
	unsigned int before = polls;

	is_idle = false;
	wake(server);
	for (int ms = 0; !is_idle && polls - before < 3; ms++) {
		assert_true(ms < DEADLINE_MS);
		(void)usleep(1000);
	}
}

static void await_timeout(int expected_ms)
{
	for (int ms = 0; timeout_ms != expected_ms; ms++) {
		if (ms > DEADLINE_MS)
			fail_msg("it waits for %d ms, not %d", timeout_ms, expected_ms);
		(void)usleep(1000);
	}
}

TEST(metrics_server_drops_silent_scraper_after_five_seconds)
{
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	int silent;

	await_timeout(-1);
	silent = connect_to(path);
	await_timeout(CLIENT_MS + 1);
	now_ns += CLIENT_MS * NS_PER_MS - 1;
	wake(server);
	await_timeout(1);
	now_ns++;
	wake(server);
	assert_string_equal(hear(silent), "");
	await_timeout(-1);
	metrics_server_free(server);
}

/* Eight have a place. One who comes then has that of the first as soon as it has dawdled. */
static void fill_places(struct metrics_server *server, const char *path, const char *words,
			const char *last_words, int ret_fds[static CLIENTS_MAX])
{
	for (int i = 0; i < CLIENTS_MAX; i++) {
		ret_fds[i] = connect_to(path);
		say(ret_fds[i], i < CLIENTS_MAX - 1 ? words : last_words);
		settle(server);
		await_timeout(i < CLIENTS_MAX - 1 ? CLIENT_MS + 1 - 10 * i
						  : DAWDLE_MS + 1 - 10 * i);
		now_ns += 10 * NS_PER_MS;
		settle(server);
	}
}

static void close_from(const int *fds, size_t first)
{
	for (size_t i = first; i < CLIENTS_MAX; i++)
		assert_int_equal(close(fds[i]), 0);
}

TEST(metrics_server_evicts_slow_scraper_for_waiting_one)
{
	unsigned int before = count_inheritable();
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	int silent[CLIENTS_MAX], more;

	await_timeout(-1);
	fill_places(server, path, "GET ", "GET ", silent);
	assert_int_equal(count_inheritable(), before);
	assert_false(watches_input);
	more = connect_to(path);
	say(more, "GET / HTTP/1.0\r\n\r\n");
	now_ns += DAWDLE_MS * NS_PER_MS - CLIENTS_MAX * 10 * NS_PER_MS - 1;
	wake(server);
	await_timeout(1);
	assert_int_equal(recv_now(more), -EAGAIN);
	now_ns++;
	wake(server);
	assert_string_equal(hear(silent[0]), "");
	expect_status(hear(more), "200");
	/* Where nobody comes they stay. */
	now_ns += NS_PER_S;
	wake(server);
	await_timeout(CLIENT_MS + 1 - (int)NS_PER_S / (int)NS_PER_MS - DAWDLE_MS + 10);
	close_from(silent, 1);
	await_timeout(-1);
	metrics_server_free(server);
}

/* Then one who has not even asked, though it came last. */
TEST(metrics_server_evicts_scraper_without_request_first)
{
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	int fds[CLIENTS_MAX], more;

	await_timeout(-1);
	is_stuck = true;
	fill_places(server, path, "GET / HTTP/1.0\r\n\r\n", "GET ", fds);
	now_ns += DAWDLE_MS * NS_PER_MS;
	more = connect_to(path);
	wake(server);
	assert_string_equal(hear(fds[CLIENTS_MAX - 1]), "");
	is_stuck = false;
	say(more, "GET / HTTP/1.0\r\n\r\n");
	expect_status(hear(more), "200");
	for (int i = 0; i < CLIENTS_MAX - 1; i++)
		expect_status(hear(fds[i]), "200");
	metrics_server_free(server);
}

/* 50 ms of CPU beyond those that may be spent at once make a pause of a second. */
TEST(metrics_server_pauses_when_cpu_budget_is_exceeded)
{
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	int silent, more;

	silent = connect_to(path);
	await_timeout(CLIENT_MS + 1);
	thread_cpu_ns += 300 * NS_PER_MS;
	wake(server);
	await_timeout(1000 + 1);
	more = connect_to(path);
	say(more, "GET / HTTP/1.0\r\n\r\n");
	now_ns += 400 * NS_PER_MS;
	wake(server);
	await_timeout(600 + 1);
	assert_int_equal(recv_now(more), -EAGAIN);
	now_ns += 600 * NS_PER_MS;
	wake(server);
	expect_status(hear(more), "200");
	/* The pause has moved its deadline. */
	await_timeout(CLIENT_MS + 1);
	assert_int_equal(close(silent), 0);
	await_timeout(-1);
	metrics_server_free(server);
}

TEST(metrics_server_renders_page_once_per_format)
{
	static const char newer[] =
		"GET / HTTP/1.0\r\nAccept: application/openmetrics-text\r\n\r\n";
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);

	texts = 0;
	await_timeout(-1);
	assert_int_equal(texts, 0);
	for (int i = 0; i < 3; i++) {
		expect_status(ask(path, "GET / HTTP/1.0\r\n\r\n"), "200");
		expect_status(ask(path, newer), "200");
		expect_status(ask(path, "HEAD / HTTP/1.0\r\n\r\n"), "200");
	}
	assert_int_equal(texts, 2);
	timeout_ms = NO_TIMEOUT;
	publish(server, "1.3");
	await_timeout(-1);
	assert_non_null(strstr(ask(path, "GET / HTTP/1.0\r\n\r\n"), "version=\"1.3\""));
	assert_int_equal(texts, 3);
	metrics_server_free(server);
}

static void await_texts(unsigned int count)
{
	for (int ms = 0; texts < count; ms++) {
		assert_true(ms < DEADLINE_MS);
		(void)usleep(1000);
	}
}

/* A page that somebody still reads stays as it was. */
TEST(metrics_server_finishes_sending_page_after_new_one)
{
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	const char *answer;
	int fd, other;

	await_timeout(-1);
	texts = 0;
	is_stuck = true;
	fd = connect_to(path);
	say(fd, "GET / HTTP/1.0\r\n\r\n");
	await_texts(1);
	publish(server, "1.3");
	other = connect_to(path);
	say(other, "GET / HTTP/1.0\r\n\r\n");
	await_texts(2);
	is_stuck = false;
	answer = hear(fd);
	assert_non_null(strstr(answer, "version=\"1.2\""));
	expect_body(answer, content_bytes(answer));
	assert_non_null(strstr(hear(other), "version=\"1.3\""));
	metrics_server_free(server);
}

TEST(metrics_server_limits_request_to_64_reads)
{
	char path[64], request[READS_MAX + 2] = "GET / HTTP/1.0\r\n";
	struct metrics_server *server = serve("unix", "socket", path);

	is_slow = true;
	memset(request + strlen(request), 'x', READS_MAX - strlen(request));
	memcpy(request + READS_MAX - 2, "\n\n", 2);
	expect_status(ask(path, request), "200");
	memcpy(request + READS_MAX - 2, "x\n\n", 3);
	assert_string_equal(ask(path, request), "");
	is_slow = false;
	metrics_server_free(server);
}

/* One may be 0, where standard input is closed. */
TEST(metrics_server_serves_scraper_on_descriptor_0)
{
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	int silent[CLIENTS_MAX], more, saved = dup(STDIN_FILENO);

	for (int i = 0; i < CLIENTS_MAX; i++)
		silent[i] = connect_to(path);
	await_timeout(DAWDLE_MS + 1);
	more = connect_to(path);
	assert_int_equal(close(STDIN_FILENO), 0);
	/* It makes room for the one that waits. */
	assert_int_equal(close(silent[0]), 0);
	while (fcntl(STDIN_FILENO, F_GETFD) < 0)
		(void)usleep(1000);
	/* The next one to come has a place of its own. */
	assert_int_equal(close(silent[1]), 0);
	silent[1] = connect_to(path);
	say(silent[1], "GET / HTTP/1.0\r\n\r\n");
	expect_status(hear(silent[1]), "200");
	say(more, "GET / HTTP/1.0\r\n\r\n");
	expect_status(hear(more), "200");
	for (int i = 2; i < CLIENTS_MAX; i++)
		assert_int_equal(close(silent[i]), 0);
	await_timeout(-1);
	/* And is free again. */
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	metrics_server_free(server);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
}

TEST(metrics_server_frees_slot_of_departed_scraper)
{
	char path[64];
	struct metrics_server *server = serve("unix", "socket", path);
	int fd = connect_to(path);

	await_timeout(CLIENT_MS + 1);
	say(fd, "GET");
	assert_int_equal(close(fd), 0);
	await_timeout(-1);
	metrics_server_free(server);
}

/* What is asked for is what was published last, also in the file. */
static void read_file(const char *path, char *ret_content, size_t content_bytes)
{
	FILE *file = fopen(path, "re");

	ret_content[0] = '\0';
	if (!file)
		return;
	ret_content[fread(ret_content, 1, content_bytes - 1, file)] = '\0';
	(void)fclose(file);
}

static void await_version(const char *path, const char *version)
{
	char content[65536], expected[64];

	(void)snprintf(expected, sizeof(expected), "{version=\"%s\"} 1\n", version);
	for (int ms = 0;; ms++) {
		read_file(path, content, sizeof(content));
		if (strstr(content, expected))
			return;
		assert_true(ms < DEADLINE_MS);
		(void)usleep(1000);
	}
}

TEST(metrics_server_file_is_latest_and_world_readable)
{
	char path[64], said[256];
	struct ears ears = ears_open();
	struct metrics_server *server = serve("file", "x.prom", path);
	struct stat status;

	await_version(path, "1.2");
	publish(server, "1.3");
	await_version(path, "1.3");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0644);
	metrics_server_free(server);
	ears_close(&ears, said, sizeof(said));
	assert_string_equal(said, "");
	assert_int_equal(unlink(path), 0);
}

/* A place that is not there, or a folder's; one that leads elsewhere is taken. It is said once, and
 * tried again. */
TEST(metrics_server_logs_each_write_error_once_and_retries)
{
	char path[64], inner[64], said[1024], expected[512];
	struct metrics_server *server;
	struct ears ears = ears_open();
	struct stat status;

	server = serve("file", "inner/x.prom", path);
	for (int i = 0; i < 10; i++) {
		timeout_ms = NO_TIMEOUT;
		publish(server, "1.3");
		await_timeout(-1);
	}
	(void)snprintf(inner, sizeof(inner), "%s/inner", folder);
	assert_int_equal(mkdir(inner, 0700), 0);
	publish(server, "1.4");
	await_version(path, "1.4");
	(void)snprintf(expected, sizeof(expected), "%s/target", inner);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(expected, path), 0);
	publish(server, "1.5");
	await_version(path, "1.5");
	assert_int_equal(stat(expected, &status), -1);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	publish(server, "1.7");
	metrics_server_free(server);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected),
		       "correlator: error: --metrics: cannot write %s: %s\n"
		       "correlator: error: --metrics: cannot write %s: %s\n",
		       path, strerror(ENOENT), path, strerror(EISDIR));
	assert_string_equal(said, expected);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(rmdir(inner), 0);
}

/* The one before stays; and who asks is told nothing. */
TEST(metrics_server_keeps_old_file_without_memory_for_new_one)
{
	char path[64], other[64], said[256], expected[256];
	struct ears ears = ears_open();
	struct metrics_server *server = serve("file", "x.prom", path);

	await_version(path, "1.2");
	has_text = false;
	timeout_ms = NO_TIMEOUT;
	publish(server, "1.3");
	await_timeout(-1);
	await_version(path, "1.2");
	metrics_server_free(server);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected),
		       "correlator: error: --metrics: cannot write %s: %s\n", path,
		       strerror(ENOMEM));
	assert_string_equal(said, expected);
	server = serve("unix", "socket", other);
	assert_string_equal(ask(other, "GET /metrics HTTP/1.0\r\n\r\n"), "");
	has_text = true;
	expect_status(ask(other, "GET /metrics HTTP/1.0\r\n\r\n"), "200");
	metrics_server_free(server);
	assert_int_equal(unlink(path), 0);
}

/* Where a descriptor may be 0, and with a name that is too long for the one beside it. */
TEST(metrics_server_writes_file_with_stdin_closed)
{
	char path[64], too_long[PATH_MAX + 8] = "file:", said[256];
	int saved = dup(STDIN_FILENO);
	struct metrics_server *server = serve("file", "x.prom", path);
	struct metrics metrics;
	struct ears ears;

	await_version(path, "1.2");
	assert_int_equal(close(STDIN_FILENO), 0);
	timeout_ms = NO_TIMEOUT;
	publish(server, "1.3");
	await_timeout(-1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
	await_version(path, "1.3");
	metrics_server_free(server);
	assert_int_equal(unlink(path), 0);
	/* What wakes it may have it, too. */
	saved = dup(STDIN_FILENO);
	assert_int_equal(close(STDIN_FILENO), 0);
	server = serve("file", "x.prom", path);
	await_timeout(-1);
	metrics_server_free(server);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
	assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
	assert_int_equal(close(saved), 0);
	assert_int_equal(unlink(path), 0);
	memset(too_long + 5, 'x', PATH_MAX - 4);
	metrics_init(&metrics, "1.2", 0);
	ears = ears_open();
	assert_int_equal(metrics_server_new(too_long, &metrics, &server), 0);
	timeout_ms = NO_TIMEOUT;
	publish(server, "1.3");
	await_timeout(-1);
	metrics_server_free(server);
	ears_close(&ears, said, sizeof(said));
	assert_non_null(strstr(said, "--metrics: cannot write xxx"));
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0);
}

TEST(metrics_server_free_closes_all_descriptors)
{
	int free_fd = dup(STDERR_FILENO);
	struct metrics_server *server;
	char path[64];
	int client;

	assert_int_equal(close(free_fd), 0);
	server = serve("unix", "socket", path);
	client = connect_to(path);
	await_timeout(CLIENT_MS + 1);
	metrics_server_free(server);
	assert_int_equal(close(client), 0);
	assert_int_equal(dup(STDERR_FILENO), free_fd);
	assert_int_equal(close(free_fd), 0);
}

TEST(metrics_server_distinguishes_invalid_from_unusable_address)
{
	static const struct {
		const char *address;
		int result;
		const char *says;
	} cases[] = {
		{ "shop", -EINVAL, "file:PATH" },
		{ "file:", -EINVAL, "file:PATH" },
		{ "unix:/nonexistent/x", -ENOENT, "unix:/nonexistent/x: " },
	};
	struct metrics metrics;

	metrics_init(&metrics, "1.2", 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct metrics_server *server = NULL;
		struct ears ears = ears_open();
		char said[512];

		assert_int_equal(metrics_server_new(cases[i].address, &metrics, &server),
				 cases[i].result);
		ears_close(&ears, said, sizeof(said));
		assert_null(server);
		assert_non_null(strstr(said, cases[i].address));
		assert_non_null(strstr(said, cases[i].says));
		assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	}
}

static int connect_by_tcp(uint16_t port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				       .sin_port = htons(port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static const char *ask_by_tcp(uint16_t port, const char *request)
{
	int fd = connect_by_tcp(port);

	say(fd, request);
	return hear(fd);
}

/* Another process's listener: its port, and in *ret_fd the descriptor. */
static uint16_t take_port(int *ret_fd)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, size), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*ret_fd = fd;
	return ntohs(address.sin_port);
}

TEST(metrics_server_retries_port_in_use)
{
	struct metrics_server *server = NULL;
	struct metrics metrics;
	struct ears ears = ears_open();
	char address[64], said[512], expected[256];
	int other;
	uint16_t port = take_port(&other);

	(void)snprintf(address, sizeof(address), "tcp://127.0.0.1:%d", port);
	metrics_init(&metrics, "1.2", 0);
	timeout_ms = NO_TIMEOUT;
	assert_int_equal(metrics_server_new(address, &metrics, &server), 0);
	await_timeout(RETRY_MS + 1);
	now_ns += RETRY_MS * NS_PER_MS;
	timeout_ms = NO_TIMEOUT;
	wake(server);
	await_timeout(RETRY_MS + 1);
	assert_int_equal(close(other), 0);
	now_ns += RETRY_MS * NS_PER_MS - 1;
	wake(server);
	await_timeout(1);
	now_ns++;
	wake(server);
	await_timeout(-1);
	expect_status(ask_by_tcp(port, "GET / HTTP/1.0\r\n\r\n"), "200");
	metrics_server_free(server);
	ears_close(&ears, said, sizeof(said));
	(void)snprintf(expected, sizeof(expected),
		       "correlator: warning: --metrics: another process listens on %s: it is tried "
		       "again every 5 s\ncorrelator: metrics on port %d\n",
		       address, port);
	assert_string_equal(said, expected);
}

/* The owner of a name may point it here: a browser would let a page of that name read the answer.
 */
TEST(metrics_server_requires_loopback_host_header_over_tcp)
{
	static const struct {
		const char *host, *status;
	} cases[] = {
		{ "", "200" },
		{ "Host: localhost:9394\r\n", "200" },
		{ "hOST:\t LOCALHOST\r\n", "200" },
		{ "X: y\r\nHost: 127.0.0.1\r\n", "200" },
		{ "Host: [::1]:80\r\n", "200" },
		{ "Host: 127.0.0.1.example.com\r\n", "421" },
		{ "Host: example.com:9394\r\n", "421" },
		{ "Host: \r\n", "421" },
		{ "Host:\r\nX: localhost\r\n", "421" },
	};
	struct metrics_server *server = NULL;
	struct metrics metrics;
	struct ears ears = ears_open();
	char said[256], path[64], request[256];
	int port;

	metrics_init(&metrics, "1.2", 0);
	assert_int_equal(metrics_server_new("tcp://127.0.0.1:0", &metrics, &server), 0);
	ears_close(&ears, said, sizeof(said));
	assert_int_equal(sscanf(said, "correlator: metrics on port %d\n", &port), 1);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *answer;

		(void)snprintf(request, sizeof(request), "GET /metrics HTTP/1.1\r\n%s\r\n",
			       cases[i].host);
		answer = ask_by_tcp((uint16_t)port, request);
		expect_status(answer, cases[i].status);
		expect_body(answer, content_bytes(answer));
	}
	metrics_server_free(server);
	server = serve("unix", "socket", path);
	expect_status(ask(path, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n"), "200");
	metrics_server_free(server);
}

TEST(metrics_server_new_fails_without_memory)
{
	struct metrics_server *server = NULL;
	struct metrics metrics;
	char path[64], address[80];

	(void)snprintf(path, sizeof(path), "%s/x.prom", folder);
	(void)snprintf(address, sizeof(address), "file:%s", path);
	metrics_init(&metrics, "1.2", 0);
	for (size_t successes = 0; successes < 2; successes++) {
		memory_fails_once_after(successes);
		assert_int_equal(metrics_server_new(address, &metrics, &server), -ENOMEM);
		assert_int_equal(memory_failures(), 1);
		assert_null(server);
	}
	memory_never_fails();
	assert_int_equal(access(path, F_OK), -1);
	metrics_server_free(NULL);
}

TEST_GROUP(make_folder, remove_folder)
