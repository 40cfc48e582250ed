/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What sending costs, measured by itself: records as a recording has them, encoded, queued and
 * sent. bench_forward sink            a receiver that only reads and acks; says its port
 *   bench_forward send URL COUNT  encodes and sends COUNT records as fast as they are taken
 *   bench_forward outage COUNT    the same, with nobody who takes them: what is too much is dropped
 *   bench_forward burst URL BYTES WINDOWS SPOOL   queues a window of BYTES each second;
 * SPOOL may be empty: none sink may have a RATE, in bytes a second: it takes no more than that.
 * send and outage print: records, bytes, wall ns, CPU ns of the process, its largest RSS in bytes;
 * burst: records, those dropped, the longest wait of an append in ns, the most memory of what waits
 * in bytes.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "record/record_encode.h"
#include "recorder/forward/sender.h"
#include "recorder/queue/backlog.h"

enum {
	WINDOW_RECORDS = 1000, /* encoded before each append, as one window of a busy server has */
	BUFFER_BYTES = 4 * 1024 * 1024,
	ID_BYTES = 24,
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void encode(struct record_encoder *encoder, uint64_t number)
{
	char record_id[64], request_id[40];
	const struct record_key keys[] = { { "request_id", request_id },
					   { "endpoint", "GET /orders/:id" } };
	const struct cpu_record record = {
		.common = { .wall_ns = UINT64_C(1700000000000000000) + number,
			    .record_id = record_id,
			    .host_name = "app-17.example.com",
			    .pid = 4242 },
		.tid = 4243,
		.thread_name = "puma srv tp 001",
		.keys = keys,
		.keys_count = 2,
		.window_ns = 1000000000,
		.has_kernel_split = true,
		.cpu_ns = 2345678 + number % 1000,
		.user_ns = 2000000,
		.kernel_ns = 345678 + number % 1000,
		.run_queue_ns = 34567,
		.blocked_ns = 12345678,
		.slices = 12,
		.switches_voluntary = 11,
		.has_syscalls = true,
		.syscalls = 321,
		.first_ns = UINT64_C(1700000000000000000) + number,
		.last_ns = UINT64_C(1700000000100000000) + number,
	};

	(void)snprintf(record_id, sizeof(record_id), "0123abcd:4242:123456789:%" PRIu64, number);
	(void)snprintf(request_id, sizeof(request_id), "%08" PRIx64 "-89ab-4cde-8f01-23456789abcd",
		       number & 0xffffffff);
	if (record_encode(encoder, &record))
		fail("record_encode_cpu");
}

static void append_all(struct backlog *backlog, uint64_t count, bool waits)
{
	struct record_encoder *encoder = record_encoder_new();
	struct backlog_status status;
	const void *bytes;
	size_t size;

	for (uint64_t number = 0; number < count;) {
		record_encoder_reset(encoder);
		for (unsigned int i = 0; i < WINDOW_RECORDS && number < count; i++)
			encode(encoder, number++);
		bytes = record_encoder_bytes(encoder, &size);
		if (backlog_append(backlog, bytes, size))
			fail("backlog_append");
		/* A recording never waits; this one must not drop, or it would measure that. */
		do
			backlog_get_status(backlog, &status);
		while (waits && status.memory_bytes > BACKLOG_MEMORY_BYTES / 2 && !usleep(100));
	}
	backlog_seal(backlog);
	record_encoder_free(encoder);
}

static void print_result(uint64_t records, uint64_t bytes, uint64_t start_ns, uint64_t cpu_ns)
{
	struct rusage usage;

	(void)getrusage(RUSAGE_SELF, &usage);
	(void)printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %ld\n", records, bytes,
		     clock_monotonic_ns() - start_ns, clock_own_cpu_ns() - cpu_ns,
		     usage.ru_maxrss * 1024);
}

static struct sender_options sending_options(void)
{
	return (struct sender_options){ .url_count = 1,
					.client_name = "bench",
					.tag = "correlator.records",
					.ack_timeout_ns = 30000000000,
					.backoff_base_ns = 500000000,
					.backoff_max_ns = 60000000000 };
}

static void run(const char *text, uint64_t count, bool is_outage)
{
	uint64_t start_ns = clock_monotonic_ns(), cpu_ns = clock_own_cpu_ns();
	struct forward_url url;
	const char *problem;
	struct sender_options options = sending_options();
	struct backlog_status left;
	struct sender_status status;
	struct chunk_source source;
	struct backlog *backlog;
	struct sender *sender;

	options.urls = &url;
	if (forward_url_parse(text, &url, &problem) || backlog_new(NULL, &backlog))
		fail(text);
	source = backlog_source(backlog);
	if (sender_start(&options, &source, &sender))
		fail("sender_start");
	append_all(backlog, count, !is_outage);
	while (!is_outage && !backlog_is_empty(backlog))
		(void)usleep(1000);
	sender_get_status(sender, &status);
	backlog_get_status(backlog, &left);
	if (is_outage)
		print_result(count, left.store_bytes, start_ns, cpu_ns);
	else
		print_result(status.acked_records, status.acked_bytes, start_ns, cpu_ns);
	sender_free(sender);
	backlog_free(backlog);
}

struct watch {
	struct backlog *backlog;
	bool is_over;
	uint64_t memory_bytes; /* the most */
};

static void *watch_memory(void *user)
{
	struct watch *watch = user;
	struct backlog_status status;

	while (!__atomic_load_n(&watch->is_over, __ATOMIC_RELAXED)) {
		backlog_get_status(watch->backlog, &status);
		if (status.memory_bytes > watch->memory_bytes)
			watch->memory_bytes = status.memory_bytes;
		(void)usleep(1000);
	}
	return NULL;
}

/* Appends a window of window_bytes each second. Returns how long the longest append lasted. */
static uint64_t append_windows(struct backlog *backlog, size_t window_bytes, uint64_t windows,
			       uint64_t *ret_records)
{
	uint64_t start_ns = clock_monotonic_ns(), longest_ns = 0, before_ns, records = 0;
	struct record_encoder *encoder = record_encoder_new();
	const void *bytes;
	size_t size;

	for (uint64_t window = 1; window <= windows; window++) {
		record_encoder_reset(encoder);
		do
			encode(encoder, records++);
		while (record_encoder_bytes(encoder, &size) && size < window_bytes);
		bytes = record_encoder_bytes(encoder, &size);
		before_ns = clock_monotonic_ns();
		if (backlog_append(backlog, bytes, size))
			fail("backlog_append");
		if (clock_monotonic_ns() - before_ns > longest_ns)
			longest_ns = clock_monotonic_ns() - before_ns;
		while (clock_monotonic_ns() < start_ns + window * NS_PER_S)
			(void)usleep(1000);
	}
	record_encoder_free(encoder);
	*ret_records = records;
	return longest_ns;
}

static void burst(const char *text, size_t window_bytes, uint64_t windows, const char *spool)
{
	const struct backlog_options options = { .spool = *spool ? spool : NULL };
	struct sender_options sender_options = sending_options();
	struct forward_url url;
	struct chunk_source source;
	struct backlog_status left;
	struct sender *sender;
	struct watch watch = { 0 };
	uint64_t longest_ns, records;
	pthread_t watcher;
	const char *problem;

	sender_options.urls = &url;
	if (forward_url_parse(text, &url, &problem) || backlog_new(&options, &watch.backlog))
		fail(text);
	source = backlog_source(watch.backlog);
	if (sender_start(&sender_options, &source, &sender) ||
	    pthread_create(&watcher, NULL, watch_memory, &watch))
		fail("burst");
	longest_ns = append_windows(watch.backlog, window_bytes, windows, &records);
	__atomic_store_n(&watch.is_over, true, __ATOMIC_RELAXED);
	(void)pthread_join(watcher, NULL);
	backlog_get_status(watch.backlog, &left);
	(void)printf("%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", records,
		     left.dropped_records, longest_ns, watch.memory_bytes);
	sender_free(sender);
	backlog_free(watch.backlog);
}

/* A bin's length has 1, 2 or 4 bytes (c4, c5, c6), the first the highest. */
static const unsigned char *bin_end(const unsigned char *mark)
{
	size_t size = 0, bytes = (size_t)1 << (*mark - 0xc4);

	if (*mark < 0xc4 || *mark > 0xc6) {
		(void)fprintf(stderr, "sink: no bin\n");
		exit(1);
	}
	for (size_t i = 1; i <= bytes; i++)
		size = size << 8 | mark[i];
	return mark + 1 + bytes + size;
}

/* [tag, bin, {"size": n, "chunk": id}]: as much of it as is needed to find its end. */
static size_t answer(int fd, const unsigned char *bytes, size_t available_bytes)
{
	char ack[] = "\x81\xa3"
		     "ack\xb8"
		     "012345678901234567890123";
	const unsigned char *at = bytes + 1, *end;

	if (available_bytes < 64)
		return 0;
	at += *at == 0xd9 ? 2 + at[1] : 1 + (*at & 0x1f);
	at = bin_end(at);
	/* The id ends the option map, where it ends the message. */
	if (bytes + available_bytes < at + 8 + ID_BYTES)
		return 0;
	end = memmem(at, (size_t)(bytes + available_bytes - at), "chunk\xb8", 6);
	if (!end || bytes + available_bytes < end + 6 + ID_BYTES)
		return 0;
	memcpy(ack + 6, end + 6, ID_BYTES);
	if (send(fd, ack, sizeof(ack) - 1, MSG_NOSIGNAL) < 0)
		fail("send");
	at = end + 6 + ID_BYTES;
	/* What the map may have behind the id. */
	while (at < bytes + available_bytes && *at != 0x93)
		at++;
	return (size_t)(at - bytes);
}

/* With a rate, in bytes a second, it sleeps behind each ack. */
static void serve(int fd, double rate)
{
	static unsigned char buffer[BUFFER_BYTES];
	size_t size = 0, done;
	ssize_t got;

	while ((got = recv(fd, buffer + size, sizeof(buffer) - size, 0)) > 0) {
		size += (size_t)got;
		while (size && (done = answer(fd, buffer, size))) {
			size -= done;
			if (rate > 0)
				(void)usleep((useconds_t)(1e6 * (double)done / rate));
			memmove(buffer, buffer + done, size);
		}
	}
	(void)close(fd);
}

static void sink(double rate)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) || listen(fd, 1) ||
	    getsockname(fd, (struct sockaddr *)&address, &size))
		fail("sink");
	(void)printf("ready %d\n", ntohs(address.sin_port));
	(void)fflush(stdout);
	for (;;)
		serve(accept(fd, NULL, NULL), rate);
}

int main(int argc, char **argv)
{
	log_set_level(LOG_LEVEL_ERROR);
	if (argc >= 2 && !strcmp(argv[1], "sink"))
		sink(argc > 2 ? strtod(argv[2], NULL) : 0);
	if (argc == 4 && !strcmp(argv[1], "send"))
		run(argv[2], strtoull(argv[3], NULL, 10), false);
	else if (argc == 3 && !strcmp(argv[1], "outage"))
		run("tcp://127.0.0.1:1", strtoull(argv[2], NULL, 10), true);
	else if (argc == 6 && !strcmp(argv[1], "burst"))
		burst(argv[2], strtoull(argv[3], NULL, 10), strtoull(argv[4], NULL, 10), argv[5]);
	else
		return 2;
	return 0;
}
