/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection that asks for metrics: its request and our answer, by HTTP/1.0 (RFC 1945; HTTP/1.1
 * clients accept it). Never blocks. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/metrics/metrics_pages.h"

enum {
	SCRAPER_REQUEST_BYTES_MAX = 4096,
	SCRAPER_HEAD_BYTES_MAX = 256, /* of our answer */
};

struct scraper {
	int fd; /* -1 = none */
	bool names_host; /* true for TCP: the request must name us as its host */
	uint64_t begin_ns; /* CLOCK_MONOTONIC: time of the connect */
	uint64_t moved_ns; /* time it last took 64 KiB of the answer at once */
	char request[SCRAPER_REQUEST_BYTES_MAX + 1]; /* zeros after request_bytes */
	size_t request_bytes;
	unsigned int reads; /* reads that the request took */
	char head[SCRAPER_HEAD_BYTES_MAX];
	size_t head_bytes; /* 0 = the request is incomplete */
	struct metrics_page *page; /* held; or NULL */
	const char *body; /* sent after the head */
	size_t body_bytes;
	size_t sent_bytes; /* of head and body */
};

/* Begins a connection. fd is non-blocking, and owned by the scraper from now on. */
void scraper_begin(struct scraper *scraper, int fd, bool names_host, uint64_t now_ns);
void scraper_end(struct scraper *scraper);

/* Events for poll(2). */
short scraper_events(const struct scraper *scraper);

/* Call when the socket is ready. False: the answer is complete, or the connection failed. */
bool scraper_go_on(struct scraper *scraper, struct metrics_pages *pages,
		   const struct metrics *metrics, uint64_t now_ns);
