/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where records go: each is stamped, encoded and added to the totals, and what has come together is
 * handed to a file or pipe, to collectors, or to both. Owns what it opens; single thread, beside
 * that of the sender.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "forward/forwarding.h"
#include "forward/sender.h"
#include "metrics/metrics.h"
#include "metrics/metrics_server.h"
#include "observe/identity.h"
#include "observe/recording.h"
#include "queue/backlog.h"
#include "queue/sink.h"
#include "record/record_encode.h"

enum {
	OUTPUT_NAME_BYTES = 1024
};

struct output {
	const struct recording_options *options;
	char name[OUTPUT_NAME_BYTES]; /* all of them, for messages */
	bool is_open;
	struct identity identity;
	struct record_encoder *encoder;
	struct metrics metrics; /* the sums of the records */
	struct metrics_server *metrics_server; /* NULL = nobody asked for them */
	struct sink *sink; /* NULL = no file */
	struct forwarding *forwarding; /* NULL = no collectors, and so are the next two */
	struct backlog *backlog;
	struct sender *sender;
	uint64_t wall_ns; /* of what was last written */
};

/* Of zeroed memory: what can be wrong before anything is attached or started. options are borrowed.
 * Exit code. */
int output_prepare(struct output *output, const struct recording_options *options);
/* Exit code. A file is not touched before all else is open. */
int output_open(struct output *output, uint64_t start_wall_ns);

/* Takes a record (record.h), whose common has at most pid and ns_pid. 0, or -errno (logged). */
#define output_add(output, wall_ns, record) \
	output_add_kind(output, wall_ns, RECORD_KIND_OF(*(record)), record)
int output_add_kind(struct output *output, uint64_t wall_ns, enum record_kind kind, void *record);

/* Hands over what was taken since the last call. 0, or -errno (logged, but for -EPIPE, as
 * sink_write). wall_ns: of what is to be said about it. */
int output_write(struct output *output, uint64_t wall_ns);
/* Gives out the totals. */
void output_publish(struct output *output);

/* How sending goes, for a record and the totals. status: the caller's, what ret_delivery points
 * into. Does nothing without collectors. */
void output_fill_delivery(struct output *output, struct sender_status *status,
			  struct delivery_figures *ret_delivery);

/* Sends what waits, for a while, and says what became of it. 0 or -errno (logged). */
int output_close(struct output *output);
void output_deinit(struct output *output);
