/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A connection that asks for metrics: its request and our answer, by HTTP/1.0 (RFC 1945; clients of
 * HTTP/1.1 take it). Never waits. Single thread.
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
	bool names_host; /* it came by TCP: the request must name us as its host */
	uint64_t begin_ns; /* CLOCK_MONOTONIC: when it came, */
	uint64_t moved_ns; /* and when it last took 64 KiB of the answer at once */
	char request[SCRAPER_REQUEST_BYTES_MAX + 1]; /* zeros behind what came */
	size_t request_bytes;
	unsigned int reads; /* pieces that it came in */
	char head[SCRAPER_HEAD_BYTES_MAX];
	size_t head_bytes; /* 0 = the request has not come yet */
	struct metrics_page *page; /* held; or NULL */
	const char *body; /* behind the head */
	size_t body_bytes;
	size_t sent_bytes; /* of both */
};

/* A connection that is non-blocking, which it owns from now on. */
void scraper_begin(struct scraper *scraper, int fd, bool names_host, uint64_t now_ns);
void scraper_end(struct scraper *scraper);

/* For poll(2). */
short scraper_events(const struct scraper *scraper);

/* Something came, or went. False: it has all, or is no more. */
bool scraper_go_on(struct scraper *scraper, struct metrics_pages *pages,
		   const struct metrics *metrics, uint64_t now_ns);
