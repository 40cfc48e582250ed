/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where records go: each is stamped, encoded and added to the totals, and what has come together is
 * handed to a file or pipe, to collectors, or to both. Owns what it opens; single thread, beside
 * that of the sender.
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
	const char *file; /* path, or "-"; NULL = none, where there are collectors */
	bool overwrites; /* it, if it is a file that is not empty */
	uint64_t bytes_max; /* of it, which is a file then; 0 = no limit */
	const char *metrics; /* where to give them out (metrics_server.h); NULL = nowhere */
	const char *metrics_by; /* and of requests by this key; NULL = not of those */
	size_t metrics_series; /* of at most this many values of it */
	struct alert_set *alerts; /* borrowed, and fed; NULL = none */
	const struct forwarding_options *forward; /* NULL or no URLs = no collectors */
	struct backlog_options backlog; /* of what waits for them */
};

struct output {
	const struct output_options *options;
	char name[OUTPUT_NAME_BYTES]; /* all of them, for messages */
	bool is_open;
	struct identity identity;
	struct record_encoder *encoder;
	struct metrics metrics; /* the sums of the records */
	struct metrics_server *metrics_server; /* NULL = nobody asked for them */
	struct request_metrics *request_metrics; /* the same of requests by a key */
	struct sink *sink; /* NULL = no file */
	struct heads *heads; /* what each new file begins with; NULL = there is but one */
	unsigned int files; /* that were begun, as far as output_begins_anew() said */
	struct forwarding *forwarding; /* NULL = no collectors, and so are the next two */
	struct backlog *backlog;
	struct sender *sender;
	bool has_begun; /* something was given to the file or pipe */
	uint64_t written_records; /* to the file or pipe, once that is closed */
	bool has_lost_reader; /* said that the reader of a pipe is gone */
	uint64_t wall_ns; /* of what was last written */
	uint64_t drops_said_ns; /* CLOCK_MONOTONIC; 0 = that records are dropped was never said */
};

/* The file's, for messages; NULL = there is none. */
const char *output_file_name(const struct output_options *options);

/* Of zeroed memory: what can be wrong before anything is attached or started. options are borrowed.
 * Exit code. */
int output_prepare(struct output *output, const struct output_options *options);
/* Exit code. A file is not touched before all else is open. */
int output_open(struct output *output, uint64_t start_wall_ns);

/* Takes a record (record.h), whose common has at most pid and ns_pid. 0, or -errno (logged). */
#define output_add(output, wall_ns, record) \
	output_add_kind(output, wall_ns, RECORD_KIND_OF(*(record)), record)
int output_add_kind(struct output *output, uint64_t wall_ns, enum record_kind kind, void *record);

/* Hands over what was taken since the last call. An output that fails is said once and tried again,
 * and keeps no other one waiting. 0; -EPIPE: the only one is a pipe, whose reader is gone. wall_ns:
 * of what is to be said about it. */
int output_write(struct output *output, uint64_t wall_ns);
/* Whether what comes next goes to a file that was begun since the last call, and has nothing yet
 * but what heads.h has: what was told in the one before is not there. */
bool output_begins_anew(struct output *output);
/* What was taken up to now, */
size_t output_mark(const struct output *output);
/* and forgets what was taken since, before it is handed over. */
void output_forget(struct output *output, size_t mark);
/* What to wait for before output_continue is worth a try: that this fd is writable (-1 = none), or
 * this time (CLOCK_MONOTONIC; UINT64_MAX = none). */
int output_fd(const struct output *output);
uint64_t output_due_ns(const struct output *output);
/* Writes what waits, as far as it goes. As output_write. */
int output_continue(struct output *output);
/* Gives out the totals, at the end of a window. */
void output_publish(struct output *output);
/* Our CPU time so far for those who ask for them. */
uint64_t output_asked_cpu_ns(const struct output *output);

/* How sending goes, for a record and the totals. status: the caller's, what ret_delivery points
 * into. Does nothing without collectors. */
void output_fill_delivery(struct output *output, struct sender_status *status,
			  struct delivery_figures *ret_delivery);

/* And what becomes of the file or pipe. */
void output_fill_writing(struct output *output, struct self_record *record);

/* Waits until fd is writable; true: it is time to end. */
typedef bool (*output_end_fn)(void *user, int fd);
/* Sends and writes what waits: to collectors for a while, to a pipe until ends says so. Says what
 * became of it. 0 or -errno (logged): records are missing. */
int output_close(struct output *output, output_end_fn ends, void *user);
void output_deinit(struct output *output);
