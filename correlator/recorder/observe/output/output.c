/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/output/output.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "base/output_file.h"
#include "base/rights.h"
#include "record/check.h"
#include "record/entry_scan.h"

/* Time to send pending records at the end; less if collectors no longer take them. */
#define DRAIN_NS (5 * NS_PER_S)
enum {
	GAPS_MAX = 64 /* gap records per window: they take up space, too */
};
/* Pause between two log lines about lost records. */
#define DROPS_PAUSE_NS (60 * NS_PER_S)

static bool forwards(const struct output *output)
{
	return output->options->forward && output->options->forward->url_count;
}

const char *output_file_name(const struct output_options *options)
{
	const char *path = options->file;

	return path && output_file_is_standard(path) ? "standard output" : path;
}

static void name_output(struct output *output)
{
	const char *file = output_file_name(output->options);

	(void)snprintf(output->name, sizeof(output->name), "%s%s%s", file ? file : "",
		       file && forwards(output) ? " and " : "",
		       forwards(output) ? forwarding_names(output->forwarding) : "");
}

static const void *give_heads(void *user, size_t *ret_size_bytes)
{
	struct output *output = user;

	return heads_bytes(output->heads, ret_size_bytes);
}

static struct sink_file file_of(struct output *output)
{
	return (struct sink_file){
		.path = output->options->file,
		.overwrites = output->options->overwrites,
		.bytes_max = output->options->bytes_max,
		.head = give_heads,
		.user = output,
	};
}

int output_prepare(struct output *output, const struct output_options *options)
{
	RIGHTS_OF_CALLER;
	struct sink_file file;

	output->options = options;
	output->encoder = record_encoder_new();
	if (!output->encoder || identity_read(&output->identity) < 0)
		return EXIT_CODE_FAILURE;
	if (forwards(output) && forwarding_new(options->forward, &output->forwarding) < 0)
		return EXIT_CODE_FAILURE;
	name_output(output);
	output->heads = options->bytes_max ? heads_new() : NULL;
	if (options->bytes_max && !output->heads)
		return EXIT_CODE_FAILURE;
	file = file_of(output);
	if (options->file && sink_check(&file) < 0)
		return EXIT_CODE_FAILURE;
	return EXIT_CODE_OK;
}

static int open_backlog(struct output *output)
{
	struct chunk_source source;
	int r = backlog_new(&output->options->backlog, &output->backlog);

	if (r < 0)
		return r;
	source = backlog_source(output->backlog);
	return forwarding_start(output->forwarding, &source, 0, &output->sender);
}

static int open_metrics(struct output *output, uint64_t start_wall_ns)
{
	const struct output_options *options = output->options;

	metrics_init(&output->metrics, CORRELATOR_VERSION, start_wall_ns);
	if (!options->metrics)
		return 0;
	if (options->metrics_by) {
		int r = request_metrics_new(options->metrics_by, options->metrics_series,
					    &output->request_metrics);

		if (r < 0)
			return log_error_errno(r, "cannot serve metrics");
		output->metrics.requests = request_metrics_figures(output->request_metrics);
	}
	return metrics_server_new(options->metrics, &output->metrics, &output->metrics_server);
}

/* Opens the file last: an earlier failure neither changes nor creates it. */
int output_open(struct output *output, uint64_t start_wall_ns)
{
	const struct output_options *options = output->options;
	RIGHTS_OF_CALLER;
	struct sink_file file = file_of(output);
	int r;

	if (open_metrics(output, start_wall_ns) < 0)
		return EXIT_CODE_FAILURE;
	if (forwards(output) && open_backlog(output) < 0)
		return EXIT_CODE_FAILURE;
	r = options->file ? sink_open(&file, &output->sink) : 0;
	if (r == -EINTR)
		return EXIT_CODE_INTERRUPTED;
	if (r < 0)
		return r == -ENOTTY ? EXIT_CODE_USAGE : EXIT_CODE_FAILURE;
	output->is_open = true;
	return EXIT_CODE_OK;
}

static void publish(struct output *output)
{
	metrics_set_pages(&output->metrics, metrics_server_pages(output->metrics_server));
	metrics_tell(&output->metrics);
	metrics_server_publish(output->metrics_server, &output->metrics);
}

static void count(struct output *output, enum record_kind kind, const void *record)
{
	struct metrics *metrics = &output->metrics;

	/* Without memory the record is missing in the alerts only. */
	if (output->options->alerts)
		(void)alert_set_add_record(output->options->alerts, kind, record);
	switch (kind) {
	case RECORD_KIND_PROCESS:
		if (output->metrics_server)
			metrics_set_pages(metrics, metrics_server_pages(output->metrics_server));
		metrics_add_process(metrics, record);
		break;
	case RECORD_KIND_CPU:
		metrics_add_cpu(metrics, record);
		/* Without memory the record is still in the other sums, and in the file. */
		if (output->request_metrics)
			(void)request_metrics_add_cpu(output->request_metrics, record);
		break;
	case RECORD_KIND_STALL:
		if (output->request_metrics)
			request_metrics_add_stall(output->request_metrics, record);
		break;
	case RECORD_KIND_IO:
		if (output->request_metrics)
			request_metrics_add_io(output->request_metrics, record);
		break;
	case RECORD_KIND_BALANCE:
		metrics_add_balance(metrics, record);
		break;
	case RECORD_KIND_GAP:
		metrics_add_gap(metrics, record);
		break;
	case RECORD_KIND_SELF:
		metrics_add_self(metrics, record);
		break;
	default:
		break;
	}
}

/* Each record begins with its common part. */
#define RECORD_BEGINS(KIND, kind, meaning) \
	_Static_assert(offsetof(struct kind##_record, common) == 0, "layout");
RECORD_KINDS(RECORD_BEGINS)

/* Keeps the record that was encoded at mark: a later file may have to begin with it. */
static void keep_head(struct output *output, enum record_kind kind, const void *record, size_t mark)
{
	size_t size_bytes, entry_bytes;
	const uint8_t *bytes = record_encoder_bytes(output->encoder, &size_bytes);

	/* A check may follow it. Without memory it is missing in the heads only. */
	if (entry_scan(bytes + mark, size_bytes - mark, &entry_bytes) == 0)
		(void)heads_add(output->heads, kind, record, bytes + mark, entry_bytes);
}

int output_add_kind(struct output *output, uint64_t wall_ns, enum record_kind kind, void *record)
{
	size_t mark = output_mark(output);
	int r;

	identity_stamp(&output->identity, wall_ns, record);
	count(output, kind, record);
	r = record_encode_kind(output->encoder, kind, record);
	if (r == 0 && output->heads)
		keep_head(output, kind, record, mark);
	return r < 0 ? log_error_errno(r, "cannot encode a record") : 0;
}

/* Records dropped on the way to one output are missing there, not in the others. */
static int encode_gap(struct output *output, const struct gap *gap)
{
	struct gap_record record = {
		.common.pid = gap->pid,
		.process_dropped_records = gap->pid_dropped_records,
		.dropped_records = gap->dropped_records,
		.total_dropped_records = gap->total_dropped_records,
		.dropped_segments = gap->dropped_segments,
		.first_ns = gap->first_ns,
		.last_ns = gap->last_ns,
		.reason = gap->reason,
	};

	return output_add(output, output->wall_ns, &record);
}

static void append(struct output *output)
{
	size_t size;
	const void *bytes = record_encoder_bytes(output->encoder, &size);
	int r = size ? backlog_append(output->backlog, bytes, size) : 0;

	if (r < 0)
		(void)log_error_errno(r, "cannot keep records to be sent");
}

/* The total is logged at the end, too, but that may be months away. */
static void say_dropped(struct output *output, const struct gap *gap)
{
	uint64_t now_ns = clock_monotonic_ns();

	if (output->drops_said_ns && now_ns - output->drops_said_ns < DROPS_PAUSE_NS)
		return;
	output->drops_said_ns = now_ns;
	log_warning("records for %s are lost (%s): %" PRIu64 " so far",
		    forwarding_names(output->forwarding), gap->reason, gap->total_dropped_records);
}

/* Reports at most `most` processes now, the others later. True: records were dropped. */
static bool append_gaps(struct output *output, unsigned int most)
{
	struct gap gap;

	if (!backlog_take_gap(output->backlog, &gap))
		return false;
	say_dropped(output, &gap);
	record_encoder_reset(output->encoder);
	do
		(void)encode_gap(output, &gap);
	while (--most && backlog_take_gap(output->backlog, &gap));
	append(output);
	return true;
}

/* Gives the encoded records to the file or pipe, with their checks (check.h). */
static void write_encoded(struct output *output)
{
	uint8_t first_check[CHECK_BYTES];
	const uint8_t *bytes;
	size_t size;

	record_encoder_add_check(output->encoder);
	bytes = record_encoder_bytes(output->encoder, &size);
	if (size && !output->has_begun) {
		check_write(NULL, 0, bytes, first_check);
		sink_write(output->sink, first_check, CHECK_BYTES, 0);
		output->has_begun = true;
	}
	sink_write(output->sink, bytes, size, record_encoder_count(output->encoder));
}

static void write_gap(struct output *output)
{
	struct gap gap;

	if (!sink_take_gap(output->sink, &gap))
		return;
	record_encoder_reset(output->encoder);
	if (encode_gap(output, &gap) < 0)
		return;
	write_encoded(output);
}

/* -EPIPE: the reader of our pipe is gone, and there are neither collectors nor served metrics. */
static int check_reader(struct output *output)
{
	struct sink_status status;

	sink_get_status(output->sink, &status);
	if (!status.is_over)
		return 0;
	if (!output->backlog && !output->metrics_server)
		return -EPIPE;
	if (!output->has_lost_reader)
		log_warning("the reader of %s is gone: the recording goes on without it",
			    output->options->file);
	output->has_lost_reader = true;
	return 0;
}

int output_write(struct output *output, uint64_t wall_ns)
{
	output->wall_ns = wall_ns;
	if (output->sink)
		write_encoded(output);
	if (output->backlog)
		append(output);
	if (output->backlog)
		(void)append_gaps(output, GAPS_MAX);
	if (output->sink)
		write_gap(output);
	record_encoder_reset(output->encoder);
	return output->sink ? check_reader(output) : 0;
}

bool output_begins_anew(struct output *output)
{
	struct sink_status status;
	unsigned int before = output->files;

	if (!output->sink)
		return false;
	sink_get_status(output->sink, &status);
	output->files = status.files;
	return output->files != before;
}

size_t output_mark(const struct output *output)
{
	size_t size;

	(void)record_encoder_bytes(output->encoder, &size);
	return size;
}

void output_forget(struct output *output, size_t mark)
{
	record_encoder_cut(output->encoder, mark);
}

int output_fd(const struct output *output)
{
	return output->sink ? sink_fd(output->sink) : -1;
}

uint64_t output_due_ns(const struct output *output)
{
	return output->sink ? sink_due_ns(output->sink) : UINT64_MAX;
}

int output_continue(struct output *output)
{
	if (!output->sink)
		return 0;
	sink_flush(output->sink);
	return check_reader(output);
}

void output_publish(struct output *output)
{
	if (output->request_metrics)
		request_metrics_end_window(output->request_metrics,
					   output->wall_ns -
						   (uint64_t)output->identity.clock_set_ns);
	if (output->metrics_server)
		publish(output);
}

uint64_t output_asked_cpu_ns(const struct output *output)
{
	return output->metrics_server ? metrics_server_cpu_ns(output->metrics_server) : 0;
}

void output_fill_writing(struct output *output, struct self_record *record)
{
	struct sink_status status;

	if (!output->sink)
		return;
	sink_get_status(output->sink, &status);
	record->has_output = true;
	record->output_dropped_records = status.dropped_records;
	record->output_waiting_bytes = status.waiting_bytes;
	record->output_failures = status.failures;
}

void output_fill_delivery(struct output *output, struct sender_status *status,
			  struct delivery_figures *ret_delivery)
{
	struct backlog_status queue;

	if (!output->sender)
		return;
	sender_get_status(output->sender, status);
	backlog_get_status(output->backlog, &queue);
	metrics_set_forward(&output->metrics, status, &queue);
	*ret_delivery = (struct delivery_figures){
		.is_there = true,
		.sent_chunks = status->sent_chunks,
		.resent_chunks = status->resent_chunks,
		.acked_records = status->acked_records,
		.rejected_records = status->rejected_records,
		.dropped_records = queue.dropped_records,
		.queued_records = queue.queued_records,
		.queued_bytes = queue.queued_bytes,
		.spool_bytes = queue.store_bytes,
		.last_error = status->last_error[0] ? status->last_error : NULL,
	};
}

/*
 * Keeps the rest in the spool for a later sender, with gap records for what had to be dropped.
 * Keeping those may drop something once more, but then there is room.
 */
static void keep_rest(struct output *output)
{
	const int rounds_max = 3;

	for (int round = 0; round < rounds_max; round++) {
		backlog_seal(output->backlog);
		backlog_settle(output->backlog);
		if (!append_gaps(output, UINT_MAX))
			return;
	}
}

/* Logs where undelivered records are. True: some are lost. */
static bool say_queued(struct output *output, const char *last_error)
{
	const char *spool = output->options->backlog.spool;
	struct backlog_status queue;
	uint64_t kept_records, lost_records;

	backlog_get_status(output->backlog, &queue);
	kept_records = spool ? queue.kept_records : 0;
	lost_records = queue.queued_records - kept_records;
	if (kept_records)
		log_warning("%" PRIu64 " records wait in %s: correlator forward %s --to URL",
			    kept_records, spool, spool);
	if (lost_records)
		log_warning("%" PRIu64 " records were not delivered%s%s%s%s", lost_records,
			    spool ? ", and could not all be kept in " : "", spool ? spool : "",
			    last_error ? ": " : "", last_error ? last_error : "");
	return lost_records > 0;
}

/* Logs the outcome of sending. -EIO: records are lost, and no file has them. */
static int say_delivered(struct output *output)
{
	struct sender_status status;
	struct delivery_figures delivery = { 0 };
	bool is_lost;

	output_fill_delivery(output, &status, &delivery);
	log_info("%s %" PRIu64 " records, %" PRIu64 " of %" PRIu64 " chunks sent again, %" PRIu64
		 " records refused, %" PRIu64 " dropped",
		 output->options->forward->has_no_acks ? "handed over, unacknowledged,"
						       : "delivered",
		 delivery.acked_records, delivery.resent_chunks, delivery.sent_chunks,
		 delivery.rejected_records, delivery.dropped_records);
	is_lost = say_queued(output, delivery.last_error);
	is_lost = is_lost || delivery.dropped_records;
	return is_lost && (!output->options->file || output->has_lost_reader) ? -EIO : 0;
}

/* Writes until the reader of the pipe has everything, or ends() says that it is time to end. */
static void drain_sink(struct output *output, output_end_fn ends, void *user)
{
	int fd = sink_fd(output->sink);

	if (fd >= 0)
		log_info("waiting for the reader of %s", output->options->file);
	while ((fd = sink_fd(output->sink)) >= 0 && !ends(user, fd))
		sink_flush(output->sink);
	write_gap(output);
}

int output_close(struct output *output, output_end_fn ends, void *user)
{
	RIGHTS_OF_CALLER;
	struct sink_status status = { 0 };
	int written, delivered = 0;

	if (output->request_metrics) {
		request_metrics_finish(output->request_metrics);
		publish(output);
	}
	/* With a spool, only what it stores is sent; that goes on while we wait for the pipe. */
	if (output->backlog && output->sender)
		backlog_seal(output->backlog);
	if (output->sink)
		drain_sink(output, ends, user);
	if (output->backlog && output->sender) {
		backlog_settle(output->backlog);
		sender_stop(output->sender, DRAIN_NS);
		keep_rest(output);
		delivered = say_delivered(output);
	}
	written = sink_close(TAKE_PTR(output->sink), &status);
	output->written_records = status.written_records;
	if (written == -EPIPE)
		written = 0;
	return written < 0 ? written : delivered;
}

void output_deinit(struct output *output)
{
	sender_free(TAKE_PTR(output->sender));
	backlog_free(TAKE_PTR(output->backlog));
	forwarding_free(TAKE_PTR(output->forwarding));
	(void)sink_close(TAKE_PTR(output->sink), NULL);
	metrics_server_free(TAKE_PTR(output->metrics_server));
	request_metrics_free(TAKE_PTR(output->request_metrics));
	record_encoder_free(TAKE_PTR(output->encoder));
	heads_free(TAKE_PTR(output->heads));
}
