/* One payload, and the list of collectors. */
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "forward/sender_internal.h"

static void note_failure(struct sender *sender, size_t index, const struct failure *failure)
{
	const char *name = sender->urls[index].name;

	if (failure->kind == FAILURE_CANCELLED)
		return;
	(void)pthread_mutex_lock(&sender->mutex);
	sender->status.failures++;
	sender->status.last_failure = failure->kind;
	sender->status.is_delivering = false;
	sender->status.last_error_wall_ns = clock_wall_ns();
	(void)snprintf(sender->status.last_error, sizeof(sender->status.last_error), "%s: %s", name,
		       failure->text);
	(void)pthread_mutex_unlock(&sender->mutex);
	if (sender_report_failure(&sender->reports[index], failure->kind, clock_monotonic_ns()))
		log_warning("%s: %s", name, failure->text);
}

static void note_ack(struct sender *sender, size_t index, const struct chunk *chunk)
{
	bool had_failed = sender->reports[index].has_failed;
	const char *name = sender->urls[index].name;

	sender->current = index;
	sender->last_ack_ns = clock_monotonic_ns();
	backoff_reset(&sender->backoff);
	(void)pthread_mutex_lock(&sender->mutex);
	sender->status.acked_chunks++;
	sender->status.acked_records += chunk->entries;
	sender->status.acked_bytes += chunk->size_bytes;
	sender->status.last_ack_wall_ns = clock_wall_ns();
	sender->status.is_delivering = true;
	(void)strcpy(sender->status.collector, name);
	(void)pthread_mutex_unlock(&sender->mutex);
	if (sender_report_success(&sender->reports[index], sender->last_ack_ns))
		log_info("%s: %s", name, had_failed ? "delivering again" : "delivering");
}

static void note_try(struct sender *sender, const struct chunk *chunk)
{
	bool is_again = strcmp(sender->last_id, chunk->id) == 0;

	(void)strcpy(sender->last_id, chunk->id);
	(void)pthread_mutex_lock(&sender->mutex);
	sender->status.sent_chunks++;
	sender->status.resent_chunks += is_again;
	(void)pthread_mutex_unlock(&sender->mutex);
}

/*
 * A connection that served before may have been closed in the same moment: that says nothing, and
 * the payload goes over a new one at once.
 */
static int offer(struct sender *sender, size_t index, const struct chunk *chunk,
		 const struct forward_payload *payload, struct failure *ret_failure)
{
	struct forward_peer *peer = sender->peers[index];
	bool is_reused = forward_peer_check(peer);
	struct failure failure = { 0 };
	int r = forward_peer_open(peer, &failure);

	if (r == 0) {
		note_try(sender, chunk);
		r = forward_peer_send(peer, payload, &failure);
	}
	if (r < 0 && is_reused && failure.kind == FAILURE_CLOSED) {
		failure = (struct failure){ 0 };
		r = forward_peer_open(peer, &failure);
		if (r == 0) {
			note_try(sender, chunk);
			r = forward_peer_send(peer, payload, &failure);
		}
	}
	*ret_failure = failure;
	return r;
}

static int fill_payload(struct sender *sender, const struct chunk *chunk,
			struct forward_payload *ret_payload)
{
	*ret_payload = (struct forward_payload){
		.tag = sender->options.tag,
		.chunk_id = sender->options.has_no_acks ? NULL : chunk->id,
		.bytes = chunk->bytes,
		.size_bytes = chunk->size_bytes,
		.entries = chunk->entries,
		.is_gzip = sender->compressor != NULL,
	};
	if (!sender->compressor)
		return 0;
	return compressor_run(sender->compressor, chunk->bytes, chunk->size_bytes,
			      &ret_payload->bytes, &ret_payload->size_bytes);
}

enum delivery sender_deliver(struct sender *sender, const struct chunk *chunk)
{
	enum delivery delivery = DELIVERY_FAILED;
	size_t first = sender->current, count = sender->options.url_count;
	struct forward_payload payload;

	if (fill_payload(sender, chunk, &payload) < 0)
		return DELIVERY_FAILED;
	for (size_t i = 0; i < count; i++) {
		size_t index = (first + i) % count;
		struct failure failure;

		if (offer(sender, index, chunk, &payload, &failure) == 0) {
			note_ack(sender, index, chunk);
			return DELIVERY_ACKED;
		}
		note_failure(sender, index, &failure);
		if (failure.kind == FAILURE_CANCELLED)
			break;
		if (failure_is_refusal(&failure))
			delivery = DELIVERY_REFUSED;
	}
	return delivery;
}
