/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The output of records: stamps and encodes each, adds it to the totals, and hands batches to a
 * file or pipe, to collectors, or to both. Owns what it opens; single thread, apart from the
 * sender's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "alert/alert_set.h"
#include "record/record_encode.h"
#include "recorder/forward/forwarding.h"
#include "recorder/forward/sender.h"
#include "recorder/metrics/metrics.h"
#include "recorder/metrics/metrics_server.h"
#include "recorder/observe/output/heads.h"
#include "recorder/observe/output/identity.h"
#include "recorder/queue/backlog.h"
#include "recorder/queue/sink.h"

enum {
	OUTPUT_NAME_BYTES = 1024
};

struct output_options {
	const char *file; /* path, or "-"; NULL = collectors only */
	bool overwrites; /* a file that is not empty */
	uint64_t bytes_max; /* limit on the file, which cannot be a pipe then; 0 = none */
	const char *metrics; /* address to serve them at (metrics_server.h); NULL = not served */
	const char *metrics_by; /* also serve them per value of this key; NULL = do not */
	size_t metrics_series; /* maximum number of such values */
	struct alert_set *alerts; /* borrowed, get all records; NULL = none */
	const struct forwarding_options *forward; /* NULL or no URLs = no collectors */
	struct backlog_options backlog; /* for records that wait for collectors */
};

struct output {
	const struct output_options *options;
	char name[OUTPUT_NAME_BYTES]; /* all outputs, for messages */
	bool is_open;
	struct identity identity;
	struct record_encoder *encoder;
	struct metrics metrics; /* the sums of the records */
	struct metrics_server *metrics_server; /* NULL = not served */
	struct request_metrics *request_metrics; /* sums per value of a key; NULL = none */
	struct sink *sink; /* NULL = no file */
	struct heads *heads; /* beginning of each new file; NULL = there is only one file */
	unsigned int files; /* begun as of the last output_begins_anew() */
	struct forwarding *forwarding; /* NULL = no collectors, and so are the next two */
	struct backlog *backlog;
	struct sender *sender;
	bool has_begun; /* something was given to the file or pipe */
	uint64_t written_records; /* set once the file or pipe is closed */
	bool has_lost_reader; /* logged that the reader of a pipe is gone */
	uint64_t wall_ns; /* as of the last output_write() */
	uint64_t drops_said_ns; /* CLOCK_MONOTONIC; 0 = dropped records were never logged */
};

/* The name of the file, for messages; NULL = no file. */
const char *output_file_name(const struct output_options *options);

/*
 * Initializes zeroed memory, and checks what can fail before anything is attached or started.
 * Borrows options. Exit code.
 */
int output_prepare(struct output *output, const struct output_options *options);
/* Exit code. A file is not touched before all else is open. */
int output_open(struct output *output, uint64_t start_wall_ns);

/*
 * Takes a record (record.h); the caller sets at most pid and ns_pid of its common. 0, or -errno
 * (logged).
 */
#define output_add(output, wall_ns, record) \
	output_add_kind(output, wall_ns, RECORD_KIND_OF(*(record)), record)
int output_add_kind(struct output *output, uint64_t wall_ns, enum record_kind kind, void *record);

/*
 * Hands over the records taken since the last call. An output that fails is logged once and
 * retried, and does not delay the others. 0; -EPIPE: the reader of the pipe is gone, and there are
 * neither collectors nor served metrics. wall_ns: time of the gap records.
 */
int output_write(struct output *output, uint64_t wall_ns);
/*
 * True if the next records go to a file that was begun since the last call. It has only the records
 * of heads.h; nothing else that the previous file holds.
 */
bool output_begins_anew(struct output *output);
/* Marks the records taken so far. */
size_t output_mark(const struct output *output);
/* Drops the records taken since mark; call it before they are handed over. */
void output_forget(struct output *output, size_t mark);
/*
 * When to call output_continue(): once this fd is writable (-1 = none), or at this time
 * (CLOCK_MONOTONIC; UINT64_MAX = none).
 */
int output_fd(const struct output *output);
uint64_t output_due_ns(const struct output *output);
/* Writes pending records as far as possible. Returns as output_write(). */
int output_continue(struct output *output);
/* Publishes the totals, at the end of a window. */
void output_publish(struct output *output);
/* Our CPU time so far for serving the totals. */
uint64_t output_asked_cpu_ns(const struct output *output);

/*
 * Fills in the state of sending, for a record and for the totals. ret_delivery points into status,
 * which is the caller's. Does nothing without collectors.
 */
void output_fill_delivery(struct output *output, struct sender_status *status,
			  struct delivery_figures *ret_delivery);

/* Fills in the state of the file or pipe. */
void output_fill_writing(struct output *output, struct self_record *record);

/* Waits until fd is writable; true: it is time to end. */
typedef bool (*output_end_fn)(void *user, int fd);
/*
 * Flushes: to collectors for a limited time, to a pipe until ends() is true. Logs the outcome. 0,
 * or -errno (logged): records are missing.
 */
int output_close(struct output *output, output_end_fn ends, void *user);
void output_deinit(struct output *output);
