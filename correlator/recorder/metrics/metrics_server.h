/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives metrics to those who ask, from a thread of its own: what a scraper does, or a disk, never
 * reaches the thread that measures. At most a few scrapers at a time; each has a few seconds, and
 * makes room for another one sooner if it takes its answer slowly. All of them together have no
 * more CPU than cpu_budget.h says: beyond that they wait. Logs.
 */
#pragma once

#include "base/cleanup.h"
#include "recorder/metrics/metrics.h"

struct metrics_server;

/*
 * address: unix:PATH (mode 0600), tcp://127.0.0.1:PORT or tcp://[::1]:PORT (port 0: any; HTTP, no
 * authentication, so no other address, and no other name of it in a request's Host), or
 * file:PATH.prom (rewritten at each publication, for node_exporter's textfile collector). An
 * address where another process listens is tried again until it is free. metrics: what is given out
 * at first, copied. 0; -EINVAL: none of these; -errno. Logged.
 */
int metrics_server_new(const char *address, const struct metrics *metrics,
		       struct metrics_server **ret_server);
/* Removes the socket; the file stays. */
void metrics_server_free(struct metrics_server *server);
DEFINE_CLEANUP(struct metrics_server *, metrics_server_free);

/* What is given out from now on: copied. It has requests if those that were first given had some,
 * in the same room. */
void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics);

/* How many pages it has given out so far, to a file or to whoever asked. Any thread. */
uint64_t metrics_server_pages(const struct metrics_server *server);

/* CPU time that its thread has used: what others have asked for. */
uint64_t metrics_server_cpu_ns(const struct metrics_server *server);
