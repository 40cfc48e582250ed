/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asks for one page over and over on persistent connections and says how fast the answers were:
 *
 *   bench_load PORT PATH SECONDS CONNECTIONS   prints: requests per second, p50 and p99 in µs
 *
 * Each request has an X-Request-Id of its own. It is in C so that it takes little of the machine.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"

enum {
	CONNECTIONS_MAX = 64,
	LATENCIES_MAX = 1000000,
	ANSWER_BYTES_MAX = 4096,
	REQUEST_BYTES_MAX = 512
};

struct connection {
	pthread_t thread;
	int number;
	uint16_t port;
	const char *path;
	uint64_t end_ns;
	uint64_t *latencies_ns;
	size_t count;
	int result;
};

static uint64_t clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int connect_to(uint16_t port)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	_cleanup_fd_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int yes = 1;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, sizeof(address)) ||
	    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof(yes)))
		return -errno;
	return TAKE_FD(fd);
}

/* The answer's end: its head tells the length of the rest. 1: complete, 0: not yet, -EPROTO. */
static int is_complete(const char *answer, size_t length)
{
	const char *end = strstr(answer, "\r\n\r\n");
	const char *field;

	if (!end)
		return 0;
	field = strcasestr(answer, "\r\ncontent-length:");
	if (!strstr(answer, " 200 ") || !field || field > end)
		return -EPROTO;
	return (size_t)(end + 4 - answer) + strtoul(field + 17, NULL, 10) <= length;
}

static int ask(int fd, const char *request, size_t length)
{
	char answer[ANSWER_BYTES_MAX];
	size_t got = 0;
	int complete = 0;

	if (send(fd, request, length, MSG_NOSIGNAL) != (ssize_t)length)
		return -errno;
	while (!complete && got + 1 < sizeof(answer)) {
		ssize_t received = recv(fd, answer + got, sizeof(answer) - 1 - got, 0);

		if (received <= 0)
			return received ? -errno : -ECONNRESET;
		got += (size_t)received;
		answer[got] = '\0';
		complete = is_complete(answer, got);
	}
	return complete == 1 ? 0 : -EPROTO;
}

static int run(struct connection *connection)
{
	_cleanup_fd_ int fd = connect_to(connection->port);
	uint64_t start_ns = clock_ns();
	int result = fd < 0 ? fd : 0;

	while (!result && start_ns < connection->end_ns && connection->count < LATENCIES_MAX) {
		char request[REQUEST_BYTES_MAX];
		uint64_t end_ns;
		int length = snprintf(request, sizeof(request),
				      "GET %s HTTP/1.1\r\nHost: localhost\r\n"
				      "X-Request-Id: %08x-0000-4000-8000-%012zx\r\n\r\n",
				      connection->path, (unsigned int)connection->number,
				      connection->count);

		result = ask(fd, request, (size_t)length);
		end_ns = clock_ns();
		connection->latencies_ns[connection->count++] = end_ns - start_ns;
		start_ns = end_ns;
	}
	return result;
}

static void *run_thread(void *argument)
{
	struct connection *connection = argument;

	connection->result = run(connection);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* All of one connection after the other, in place. */
static int gather(struct connection *connections, int count, uint64_t *latencies_ns,
		  size_t *ret_count)
{
	size_t total = 0;

	for (int i = 0; i < count; i++) {
		(void)pthread_join(connections[i].thread, NULL);
		if (connections[i].result)
			return log_error_errno(connections[i].result, "connection %d", i);
		memmove(latencies_ns + total, connections[i].latencies_ns,
			connections[i].count * sizeof(*latencies_ns));
		total += connections[i].count;
	}
	qsort(latencies_ns, total, sizeof(*latencies_ns), compare);
	*ret_count = total;
	return 0;
}

int main(int argc, char **argv)
{
	struct connection connections[CONNECTIONS_MAX] = { 0 };
	_cleanup_free_ uint64_t *latencies_ns = NULL;
	uint64_t start_ns = clock_ns();
	double seconds;
	size_t total = 0;
	int count = argc == 5 ? atoi(argv[4]) : 0;

	if (count < 1 || count > CONNECTIONS_MAX) {
		(void)log_error(EINVAL, "usage: bench_load PORT PATH SECONDS CONNECTIONS");
		return 2;
	}
	seconds = strtod(argv[3], NULL);
	latencies_ns = calloc((size_t)count * LATENCIES_MAX, sizeof(*latencies_ns));
	if (!latencies_ns)
		return 1;
	for (int i = 0; i < count; i++) {
		connections[i] = (struct connection){
			.number = i,
			.port = (uint16_t)atoi(argv[1]),
			.path = argv[2],
			.end_ns = start_ns + (uint64_t)(seconds * 1e9),
			.latencies_ns = latencies_ns + (size_t)i * LATENCIES_MAX,
		};
		if (pthread_create(&connections[i].thread, NULL, run_thread, &connections[i]))
			return 1;
	}
	if (gather(connections, count, latencies_ns, &total) || !total)
		return 1;
	seconds = (double)(clock_ns() - start_ns) / 1e9;
	(void)printf("%.1f %.1f %.1f\n", (double)total / seconds,
		     (double)latencies_ns[total / 2] / 1e3,
		     (double)latencies_ns[total * 99 / 100] / 1e3);
	return 0;
}
