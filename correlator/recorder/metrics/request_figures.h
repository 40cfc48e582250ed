/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The costs, long waits and reads and writes of requests, by the value of one key, for a monitoring
 * system: sums of each cost, and the distributions of CPU and wall time, as histograms in fixed
 * buckets. At most series_max values have a series of their own; the rest go to METRICS_OTHER. When
 * all are in use, a process with less than its share of series takes the least recently used one
 * from the process with the most. A series that was not used for METRICS_IDLE_NS is removed.
 * METRICS_OTHER inherits the figures of removed series. Values are untrusted: escaped, truncated,
 * and looked up by a keyed hash. Holds nothing that identifies a request for longer than it runs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <correlator/io_counts.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "record/record.h"
#include "recorder/metrics/cost_counters.h"

#define METRICS_OTHER	"other"
#define METRICS_IDLE_NS (3600 * NS_PER_S)

enum {
	METRICS_SERIES = 100, /* default */
	METRICS_SERIES_MAX = 10000, /* each takes some 1.1 KB here, and 70 lines of text or more */
	METRICS_LABEL_BYTES = 64, /* of the key, with its NUL; longer names are truncated */
	METRICS_VALUE_BYTES = 256, /* of an escaped value, with its NUL; longer: truncated */
	METRICS_BUCKETS = 19, /* the last one has no upper bound */
};

/* Upper bounds, inclusive: in ns, and as text in seconds. The last bucket has 0, "+Inf". */
struct metrics_bucket {
	uint64_t ns;
	const char *seconds;
};
extern const struct metrics_bucket metrics_buckets[METRICS_BUCKETS];

struct metrics_histogram {
	uint64_t counts[METRICS_BUCKETS]; /* per bucket, not cumulative */
	uint64_t count;
	uint64_t sum_ns;
};

/* Long waits, or hogs, of which there are records. */
struct metrics_waits {
	uint64_t count;
	uint64_t sum_ns;
};

/* System calls on one kind of file. */
struct metrics_io {
	uint64_t calls;
	uint64_t in_bytes;
	uint64_t out_bytes;
};

struct request_series {
	char value[METRICS_VALUE_BYTES]; /* printable; "" = the request had no value */
	struct metrics_histogram cpu;
	struct metrics_histogram wall;
	struct cost_counters costs;
	int64_t parked_ns; /* of the requests that wall counts */
	struct metrics_waits stalls;
	struct metrics_waits hogs;
	struct metrics_io io[_IO_ON_MAX];
};

/* Plain data, without pointers: may be copied. */
struct request_figures {
	char label[METRICS_LABEL_BYTES]; /* the key, converted to a Prometheus label name */
	size_t series_max; /* capacity, excluding METRICS_OTHER, which is the first series */
	size_t series_count; /* including METRICS_OTHER */
	bool has_stalls; /* there was a record of one */
	bool has_io;
	struct request_series series[];
};

/* Allocates a copy of from with the same capacity. NULL: out of memory. */
struct request_figures *request_figures_copy(const struct request_figures *from);
/* Copies from; both must have the same capacity. */
void request_figures_assign(struct request_figures *figures, const struct request_figures *from);

/* Accumulates the figures, from records as they are written. Single thread. */
struct request_metrics;

/* series_max: 1 to METRICS_SERIES_MAX. 0 or -ENOMEM. */
int request_metrics_new(const char *key, size_t series_max, struct request_metrics **ret_metrics);
void request_metrics_free(struct request_metrics *metrics);
DEFINE_CLEANUP(struct request_metrics *, request_metrics_free);

/* 0 or -ENOMEM: the record is not counted. */
int request_metrics_add_cpu(struct request_metrics *metrics, const struct cpu_record *record);
/* Count what requests waited for, read and wrote, as it is recorded, under the value that the
 * request has by then. Ignore records of no request. */
void request_metrics_add_stall(struct request_metrics *metrics, const struct stall_record *record);
void request_metrics_add_io(struct request_metrics *metrics, const struct io_record *record);
/*
 * Count the requests that have ended (requests/request_tracker.h), each once: at the end of a
 * window, where end_ns is from a clock that is never set; and at the end of the recording, all of
 * them.
 */
void request_metrics_end_window(struct request_metrics *metrics, uint64_t end_ns);
void request_metrics_finish(struct request_metrics *metrics);

/* The current figures. */
const struct request_figures *request_metrics_figures(const struct request_metrics *metrics);
