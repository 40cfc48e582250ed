/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How the CPU and the wall time of requests are distributed, by the value of one key, for a
 * monitoring system: histograms in fixed buckets. At most so many values have a series of their
 * own; the rest go to METRICS_OTHER. Where there is no more room, a process whose values have less
 * than its share of it takes that of another one with the most of them, which was not used for
 * longest; and a series that was not used for METRICS_IDLE_NS goes. What it had METRICS_OTHER has
 * from then on. Values are somebody else's: escaped, cut, and found by a keyed hash. Never holds
 * what identifies a request for longer than it runs.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "record/record.h"

#define METRICS_OTHER	"other"
#define METRICS_IDLE_NS (3600 * NS_PER_S)

enum {
	METRICS_SERIES = 100, /* default */
	METRICS_SERIES_MAX = 10000, /* each is some 600 bytes here, and 46 lines of text */
	METRICS_LABEL_BYTES = 64, /* of the key, with its NUL: what is longer is cut */
	METRICS_VALUE_BYTES = 256, /* of a value, escaped: the same */
	METRICS_BUCKETS = 19, /* the last one has no upper bound */
};

/* Upper bounds, which are in: ns, and as text in seconds. The last one's is 0, "+Inf". */
struct metrics_bucket {
	uint64_t ns;
	const char *seconds;
};
extern const struct metrics_bucket metrics_buckets[METRICS_BUCKETS];

struct metrics_histogram {
	uint64_t counts[METRICS_BUCKETS]; /* in each bucket alone */
	uint64_t count;
	uint64_t sum_ns;
};

struct request_series {
	char value[METRICS_VALUE_BYTES]; /* printable; "": the request had none */
	struct metrics_histogram cpu;
	struct metrics_histogram wall;
};

/* Plain data, without pointers: may be copied. */
struct request_figures {
	char label[METRICS_LABEL_BYTES]; /* the key, as a name of Prometheus' labels */
	size_t series_max; /* room, beside METRICS_OTHER, which is the first one */
	size_t series_count; /* with it */
	struct request_series series[];
};

/* Room for a copy of from, and one. NULL: no memory. */
struct request_figures *request_figures_copy(const struct request_figures *from);
/* Of one with the same room. */
void request_figures_assign(struct request_figures *figures, const struct request_figures *from);

/* What adds them up, from records as they are written. Single thread. */
struct request_metrics;

/* series_max: 1 to METRICS_SERIES_MAX. 0 or -ENOMEM. */
int request_metrics_new(const char *key, size_t series_max, struct request_metrics **ret_metrics);
void request_metrics_free(struct request_metrics *metrics);
DEFINE_CLEANUP(struct request_metrics *, request_metrics_free);

/* 0 or -ENOMEM: the record is not counted. */
int request_metrics_add_cpu(struct request_metrics *metrics, const struct cpu_record *record);
/* Counts the requests that have ended (requests/request_tracker.h), once: of a window that ended
 * then, by a clock that nobody sets; at the end, all of them. */
void request_metrics_end_window(struct request_metrics *metrics, uint64_t end_ns);
void request_metrics_finish(struct request_metrics *metrics);

/* As they stand. */
const struct request_figures *request_metrics_figures(const struct request_metrics *metrics);
