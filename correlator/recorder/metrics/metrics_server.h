/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Serves metrics from a thread of its own: a slow scraper or disk never affects the thread that
 * measures. At most a few scrapers at a time; each has a few seconds, and is evicted for another
 * one sooner if it reads its answer slowly. All of them together get no more CPU than cpu_budget.h
 * allows: beyond that they wait. Logs.
 */
#pragma once

#include "base/cleanup.h"
#include "recorder/metrics/metrics.h"

struct metrics_server;

/*
 * address: unix:PATH (mode 0600), tcp://127.0.0.1:PORT or tcp://[::1]:PORT (port 0: any; HTTP, no
 * authentication, so no other address, and a request's Host may name no other host), or
 * file:PATH.prom (rewritten at each publication, for node_exporter's textfile collector). An
 * address where another process listens is retried until it is free. metrics: served first, copied.
 * 0; -EINVAL: none of these; -errno. Logged.
 */
int metrics_server_new(const char *address, const struct metrics *metrics,
		       struct metrics_server **ret_server);
/* Removes the socket; the file stays. */
void metrics_server_free(struct metrics_server *server);
DEFINE_CLEANUP(struct metrics_server *, metrics_server_free);

/*
 * Sets the metrics to serve from now on: copied. They have requests if the first ones had, in the
 * same amount of memory.
 */
void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics);

/* Number of pages delivered so far, to the file or to scrapers. Any thread. */
uint64_t metrics_server_pages(const struct metrics_server *server);

/* CPU time of its thread, spent on delivering metrics. */
uint64_t metrics_server_cpu_ns(const struct metrics_server *server);
