/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Gives metrics to those who ask, from a thread of its own: what a scraper does, or a disk, never
 * reaches the thread that measures. At most a few scrapers at a time; each has a few seconds. Logs.
 */
#pragma once

#include "base/cleanup.h"
#include "metrics/metrics.h"

struct metrics_server;

/*
 * address: unix:PATH (mode 0600), tcp://127.0.0.1:PORT or tcp://[::1]:PORT (port 0: any; HTTP, no
 * authentication, so no other address), or file:PATH.prom (rewritten at each publication, for
 * node_exporter's textfile collector). metrics: what is given out at first, copied. 0; -EINVAL:
 * none of these; -errno. Logged.
 */
int metrics_server_new(const char *address, const struct metrics *metrics,
		       struct metrics_server **ret_server);
/* Removes the socket; the file stays. */
void metrics_server_free(struct metrics_server *server);
DEFINE_CLEANUP(struct metrics_server *, metrics_server_free);

/* What is given out from now on: copied. It has requests if those that were first given had some,
 * in the same room. */
void metrics_server_publish(struct metrics_server *server, const struct metrics *metrics);
