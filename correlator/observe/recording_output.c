/* Where a recording goes: a file or pipe, collectors, or both. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/exit_code.h"
#include "base/log.h"
#include "observe/recording_internal.h"

/* At the end, for what waits to be sent; no longer than collectors take it. */
#define DRAIN_NS (5 * NS_PER_S)

static bool forwards(const struct recording *recording)
{
	return recording->options->forward && recording->options->forward->url_count;
}

static void name_output(struct recording *recording)
{
	const char *output = recording->options->output;
	const char *file = !output || strcmp(output, "-") ? output : "standard output";

	(void)snprintf(recording->output_name, sizeof(recording->output_name), "%s%s%s",
		       file ? file : "", file && forwards(recording) ? " and " : "",
		       forwards(recording) ? forwarding_names(recording->forwarding) : "");
}

int recording_prepare_output(struct recording *recording)
{
	if (forwards(recording) &&
	    forwarding_new(recording->options->forward, &recording->forwarding) < 0)
		return EXIT_CODE_FAILURE;
	name_output(recording);
	if (recording->options->output &&
	    sink_check(recording->options->output, recording->options->overwrites) < 0)
		return EXIT_CODE_FAILURE;
	return EXIT_CODE_OK;
}

static int open_backlog(struct recording *recording)
{
	struct chunk_source source;
	int r = backlog_new(&recording->options->backlog, &recording->backlog);

	if (r < 0)
		return r;
	source = backlog_source(recording->backlog);
	return forwarding_start(recording->forwarding, &source, 0, &recording->sender);
}

/* The file last: what can fail before it leaves it as it was, and creates none. */
int recording_open_output(struct recording *recording)
{
	const struct recording_options *options = recording->options;
	int r;

	if (forwards(recording) && open_backlog(recording) < 0)
		return EXIT_CODE_FAILURE;
	r = options->output ? sink_open(options->output, options->overwrites, &recording->sink) : 0;
	if (r < 0)
		return r == -ENOTTY ? EXIT_CODE_USAGE : EXIT_CODE_FAILURE;
	recording->is_open = true;
	return EXIT_CODE_OK;
}

static int append(struct recording *recording)
{
	size_t size;
	const void *bytes = record_encoder_bytes(recording->encoder, &size);
	int r = size ? backlog_append(recording->backlog, bytes, size) : 0;

	return r < 0 ? log_error_errno(r, "cannot keep records to be sent") : 0;
}

/* What the backlog had to drop is missing there, and not in the file. 1: something was; 0; -errno
 * (logged). */
static int append_gap(struct recording *recording)
{
	struct backlog_status status;
	struct backlog_gap gap;
	int r;

	if (!backlog_take_gap(recording->backlog, &gap))
		return 0;
	backlog_get_status(recording->backlog, &status);
	r = recording_encode_gap(recording, &gap, status.dropped_records);
	if (r == 0)
		r = append(recording);
	record_encoder_reset(recording->encoder);
	return r < 0 ? r : 1;
}

int recording_write_out(struct recording *recording)
{
	size_t size;
	const void *bytes = record_encoder_bytes(recording->encoder, &size);
	int r = size && recording->sink ? sink_write(recording->sink, bytes, size) : 0;

	if (recording->backlog && r == 0)
		r = append(recording);
	record_encoder_reset(recording->encoder);
	if (recording->backlog && r == 0)
		r = append_gap(recording);
	return r < 0 ? r : 0;
}

void recording_fill_delivery(struct recording *recording, struct sender_status *status,
			     struct delivery_figures *ret_delivery)
{
	struct backlog_status queue;

	if (!recording->sender)
		return;
	sender_get_status(recording->sender, status);
	backlog_get_status(recording->backlog, &queue);
	metrics_set_forward(&recording->metrics, status, &queue);
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

/* What is left is for who sends the spool later, with what it had to drop; to keep that, too, may
 * drop something once more, but then there is room. */
static void keep_rest(struct recording *recording)
{
	const int rounds_max = 3;

	for (int round = 0; round < rounds_max; round++) {
		backlog_seal(recording->backlog);
		backlog_settle(recording->backlog);
		if (append_gap(recording) != 1)
			return;
	}
}

/* The last line on sending. Records that are nowhere are a failure. */
static int say_delivered(struct recording *recording)
{
	const char *spool = recording->options->backlog.spool;
	struct sender_status status;
	struct delivery_figures delivery = { 0 };
	bool is_lost;

	recording_fill_delivery(recording, &status, &delivery);
	is_lost = delivery.dropped_records || (delivery.queued_records && !spool);
	log_info("delivered %" PRIu64 " records, %" PRIu64 " of %" PRIu64
		 " chunks sent again, %" PRIu64 " records refused, %" PRIu64 " dropped",
		 delivery.acked_records, delivery.resent_chunks, delivery.sent_chunks,
		 delivery.rejected_records, delivery.dropped_records);
	if (delivery.queued_records && spool)
		log_warning("%" PRIu64 " records wait in %s: correlator forward %s --to URL",
			    delivery.queued_records, spool, spool);
	else if (delivery.queued_records)
		log_warning("%" PRIu64 " records were not delivered%s%s", delivery.queued_records,
			    delivery.last_error ? ": " : "",
			    delivery.last_error ? delivery.last_error : "");
	return is_lost && !recording->options->output ? -EIO : 0;
}

int recording_close_output(struct recording *recording)
{
	int r = sink_close(TAKE_PTR(recording->sink)), delivered = 0;

	if (recording->backlog && recording->sender) {
		/* From a spool only what is kept there is sent. */
		backlog_seal(recording->backlog);
		backlog_settle(recording->backlog);
		sender_stop(recording->sender, DRAIN_NS);
		keep_rest(recording);
		delivered = say_delivered(recording);
	}
	return r < 0 ? r : delivered;
}

void recording_free_output(struct recording *recording)
{
	sender_free(TAKE_PTR(recording->sender));
	backlog_free(TAKE_PTR(recording->backlog));
	forwarding_free(TAKE_PTR(recording->forwarding));
	(void)sink_close(TAKE_PTR(recording->sink));
}
