/*
 * One scraper: its request, and our answer, by HTTP/1.0 (RFC 1945; HTTP/1.1 clients take it). A
 * state machine on a non-blocking socket, of a bounded size. Single thread. Never logs.
 */
#pragma once

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "metrics/metrics.h"

enum {
	METRICS_REQUEST_BYTES_MAX = 4096,
	METRICS_CLIENT_MS = 5000, /* from connecting to the last byte */
};

struct metrics_client {
	int fd; /* -1 = free */
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	char request[METRICS_REQUEST_BYTES_MAX + 1];
	size_t request_bytes;
	char *answer; /* NULL = the request has not come yet */
	size_t answer_bytes;
	size_t sent_bytes;
};

/* fd: taken over. */
void metrics_client_init(struct metrics_client *client, int fd);
void metrics_client_deinit(struct metrics_client *client);
/* What to poll for. */
short metrics_client_events(const struct metrics_client *client);
/* Reads or writes what is possible. False: it is done, or was not worth more. */
bool metrics_client_handle(struct metrics_client *client, const struct metrics *metrics);
