/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/sender.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "base/thread.h"
#include "recorder/forward/backoff.h"
#include "recorder/forward/compression.h"
#include "recorder/forward/forward_peer.h"
#include "recorder/forward/poison.h"
#include "recorder/net/waiter.h"

/* At the end, an unreachable collector gets only the time of one try. */
#define DRAIN_FAILING_NS NS_PER_S

enum {
	/* of one chunk in a row: a collector may restart during it, even twice */
	REFUSALS_MAX = 5
};

/* A chunk that was refused, and what was found out about it. */
struct suspect {
	struct suspect *prev, *next;
	char id[CHUNK_ID_BYTES];
	unsigned int refusals; /* of the whole chunk, in a row */
	struct poison_hunt *hunt; /* NULL = not started */
};

struct collector {
	struct forward_url url;
	struct forward_peer *peer;
	struct failure_report report;
};

struct sender {
	struct sender_options options;
	struct chunk_source source;
	struct waiter waiter;
	struct collector collectors[SENDER_URLS_MAX];
	size_t current; /* index of the collector to try first: the last to ack */
	struct compressor *compressor; /* NULL = no compression */
	struct backoff backoff;
	struct suspect *suspects; /* utlist */
	uint64_t last_ack_ns; /* CLOCK_MONOTONIC: last ack, start, or end of an idle wait */
	char last_id[CHUNK_ID_BYTES]; /* of the last chunk tried */
	pthread_t thread;
	bool is_running; /* the thread must be joined */
	int ended_fd;
	pthread_mutex_t mutex; /* guards status */
	struct sender_status status;
};

enum delivery {
	DELIVERY_ACKED = 0,
	DELIVERY_REFUSED = 1, /* a working collector refuses the payload */
	DELIVERY_FAILED = 2, /* no collector could be reached */
};

static void note_failure(struct sender *sender, size_t index, const struct failure *failure)
{
	const char *name = sender->collectors[index].url.name;

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
	if (failure_report_failed(&sender->collectors[index].report, failure->kind,
				  clock_monotonic_ns()))
		log_warning("%s: %s", name, failure->text);
}

static void note_ack(struct sender *sender, size_t index, const struct chunk *chunk)
{
	bool had_failed = sender->collectors[index].report.has_failed;
	const char *name = sender->collectors[index].url.name;

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
	if (failure_report_acked(&sender->collectors[index].report, sender->last_ack_ns))
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
 * A reused connection may have been closed at the same moment: that proves nothing, and the payload
 * is sent over a new one at once.
 */
static int offer(struct sender *sender, size_t index, const struct chunk *chunk,
		 const struct forward_payload *payload, struct failure *ret_failure)
{
	struct forward_peer *peer = sender->collectors[index].peer;
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

static enum delivery deliver(struct sender *sender, const struct chunk *chunk)
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

static struct suspect *find_suspect(struct sender *sender, const char *id)
{
	struct suspect *suspect;

	DL_FOREACH(sender->suspects, suspect) {
		if (strcmp(suspect->id, id) == 0)
			return suspect;
	}
	return NULL;
}

static void drop_suspect(struct sender *sender, struct suspect *suspect)
{
	DL_DELETE(sender->suspects, suspect);
	poison_hunt_free(suspect->hunt);
	free(suspect);
}

static void forget_suspects(struct sender *sender)
{
	while (sender->suspects)
		drop_suspect(sender, sender->suspects);
}

/* For all other suspects, an ack proves that the collector accepts something. */
static void witness(struct sender *sender, const struct suspect *besides)
{
	struct suspect *suspect;

	DL_FOREACH(sender->suspects, suspect) {
		if (suspect->hunt && suspect != besides)
			poison_hunt_witnessed(suspect->hunt);
	}
}

static void set_aside(struct sender *sender, const struct chunk *part)
{
	const char *outcome =
		sender->source.reject(sender->source.user, part->bytes, part->size_bytes);

	log_warning("the collector refuses a record of %zu bytes, even on its own, and accepts "
		    "others: %s",
		    part->size_bytes, outcome);
	(void)pthread_mutex_lock(&sender->mutex);
	sender->status.rejected_records++;
	(void)pthread_mutex_unlock(&sender->mutex);
}

static void suspect_whole(struct sender *sender, const struct chunk *chunk)
{
	struct suspect *suspect = find_suspect(sender, chunk->id);

	if (!suspect) {
		suspect = calloc(1, sizeof(*suspect));
		if (!suspect)
			return;
		(void)strcpy(suspect->id, chunk->id);
		DL_APPEND(sender->suspects, suspect);
	}
	if (++suspect->refusals < REFUSALS_MAX)
		return;
	suspect->hunt = poison_hunt_new(chunk->bytes, chunk->size_bytes, chunk->entries);
	if (suspect->hunt)
		(void)poison_hunt_refused(suspect->hunt);
}

/* If this chunk cannot be judged further for now, other chunks go first, if there are any. */
static void handle_stuck(struct sender *sender, struct suspect *suspect, const struct chunk *chunk)
{
	struct poison_part range;

	if (!poison_hunt_is_stuck(suspect->hunt))
		return;
	if (sender->source.defer) {
		(void)sender->source.defer(sender->source.user);
		return;
	}
	while (poison_hunt_next(suspect->hunt, &range)) {
		const struct chunk part = { .bytes = (const uint8_t *)chunk->bytes +
						     range.offset_bytes,
					    .size_bytes = range.size_bytes };

		if (poison_hunt_concede(suspect->hunt) != POISON_BAD)
			return;
		set_aside(sender, &part);
	}
}

/* A part is sent as a chunk of its own. */
static enum delivery try_part(struct sender *sender, struct suspect *suspect,
			      const struct chunk *chunk)
{
	struct poison_part range;
	struct chunk part;
	enum delivery delivery;

	poison_hunt_rebind(suspect->hunt, chunk->bytes);
	if (!poison_hunt_next(suspect->hunt, &range))
		return DELIVERY_ACKED;
	part = (struct chunk){ .bytes = (const uint8_t *)chunk->bytes + range.offset_bytes,
			       .size_bytes = range.size_bytes,
			       .entries = range.entries };
	if (chunk_id_draw(part.id) < 0)
		return DELIVERY_FAILED;
	delivery = deliver(sender, &part);
	if (delivery == DELIVERY_ACKED) {
		poison_hunt_acked(suspect->hunt);
		witness(sender, suspect);
	} else if (delivery == DELIVERY_REFUSED) {
		if (poison_hunt_refused(suspect->hunt) == POISON_BAD)
			set_aside(sender, &part);
		else
			handle_stuck(sender, suspect, chunk);
	}
	return delivery;
}

static enum delivery try_chunk(struct sender *sender, const struct chunk *chunk)
{
	struct suspect *suspect = find_suspect(sender, chunk->id);
	struct poison_part rest;
	enum delivery delivery;

	if (suspect && suspect->hunt) {
		delivery = try_part(sender, suspect, chunk);
		if (poison_hunt_next(suspect->hunt, &rest))
			return delivery;
	} else {
		delivery = deliver(sender, chunk);
		if (delivery == DELIVERY_REFUSED)
			suspect_whole(sender, chunk);
		if (delivery != DELIVERY_ACKED)
			return delivery;
		witness(sender, suspect);
	}
	if (suspect)
		drop_suspect(sender, suspect);
	sender->source.done(sender->source.user);
	return delivery;
}

static bool has_given_up(const struct sender *sender, uint64_t now_ns)
{
	return sender->options.give_up_ns &&
	       now_ns - sender->last_ack_ns >= sender->options.give_up_ns;
}

static void pause_before_retry(struct sender *sender)
{
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t end_ns = now_ns + backoff_next(&sender->backoff, random_seed());

	if (sender->options.give_up_ns && end_ns > sender->last_ack_ns + sender->options.give_up_ns)
		end_ns = sender->last_ack_ns + sender->options.give_up_ns;
	waiter_idle(&sender->waiter, NULL, 0, end_ns);
}

/* Waits until there may be a chunk. Notices a collector that closes the connection. */
static void wait_for_chunk(struct sender *sender)
{
	struct forward_peer *peer = sender->collectors[sender->current].peer;
	struct pollfd fds[] = {
		{ .fd = sender->source.event_fd, .events = POLLIN },
		{ .fd = forward_peer_fd(peer), .events = POLLIN },
	};

	waiter_idle(&sender->waiter, fds, sizeof(fds) / sizeof(fds[0]), UINT64_MAX);
	if (fds[1].revents)
		(void)forward_peer_check(peer);
	/* Time without anything to send does not count as silence of the collector. */
	sender->last_ack_ns = clock_monotonic_ns();
}

/* False: the sender ends. */
static bool send_next(struct sender *sender)
{
	struct chunk chunk;
	int r = sender->source.next(sender->source.user, &chunk);

	if (r == -EAGAIN && !waiter_is_stopping(&sender->waiter)) {
		wait_for_chunk(sender);
		return true;
	}
	if (r < 0 && r != -ENOMEM)
		return false;
	if (r == 0 && try_chunk(sender, &chunk) == DELIVERY_ACKED)
		return true;
	/* While stopping, the first failed try ends the sender. */
	if (waiter_is_stopping(&sender->waiter))
		return false;
	if (has_given_up(sender, clock_monotonic_ns()))
		return false;
	pause_before_retry(sender);
	return !has_given_up(sender, clock_monotonic_ns());
}

static void *run(void *user)
{
	struct sender *sender = user;

	while (send_next(sender))
		continue;
	for (size_t i = 0; i < sender->options.url_count; i++)
		forward_peer_close(sender->collectors[i].peer);
	(void)eventfd_write(sender->ended_fd, 1);
	return NULL;
}

static int make_peers(struct sender *sender)
{
	const struct sender_options *options = &sender->options;

	for (size_t i = 0; i < options->url_count; i++) {
		const struct forward_peer_options peer_options = {
			.url = &sender->collectors[i].url,
			.tls = options->tls,
			.credentials = options->credentials,
			.client_name = options->client_name,
			.waiter = &sender->waiter,
			.wants_ack = !options->has_no_acks,
			.ack_timeout_ns = options->ack_timeout_ns,
		};

		sender->collectors[i].url = options->urls[i];
		sender->collectors[i].peer = forward_peer_new(&peer_options);
		if (!sender->collectors[i].peer)
			return -ENOMEM;
	}
	if (options->is_gzip)
		sender->compressor = compressor_new();
	return options->is_gzip && !sender->compressor ? -ENOMEM : 0;
}

static int start_thread(struct sender *sender)
{
	int r = thread_start(&sender->thread, run, sender);

	sender->is_running = r == 0;
	return r;
}

int sender_start(const struct sender_options *options, const struct chunk_source *source,
		 struct sender **ret_sender)
{
	_cleanup_(sender_freep) struct sender *sender = calloc(1, sizeof(*sender));
	int r;

	if (!sender)
		return log_error_errno(ENOMEM, "cannot start sending");
	sender->options = *options;
	sender->source = *source;
	sender->backoff = (struct backoff){ .base_ns = options->backoff_base_ns,
					    .ceiling_max_ns = options->backoff_max_ns };
	sender->last_ack_ns = clock_monotonic_ns();
	(void)pthread_mutex_init(&sender->mutex, NULL);
	sender->ended_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = waiter_init(&sender->waiter);
	if (r == 0)
		r = sender->ended_fd < 0 ? -errno : make_peers(sender);
	if (r == 0)
		r = start_thread(sender);
	if (r < 0)
		return log_error_errno(r, "cannot start sending");
	*ret_sender = TAKE_PTR(sender);
	return 0;
}

int sender_ended_fd(const struct sender *sender)
{
	return sender->ended_fd;
}

void sender_stop(struct sender *sender, uint64_t drain_ns)
{
	struct sender_status status;

	if (!sender->is_running)
		return;
	sender_get_status(sender, &status);
	if (status.failures && !status.is_delivering && drain_ns > DRAIN_FAILING_NS)
		drain_ns = DRAIN_FAILING_NS;
	waiter_stop(&sender->waiter, clock_monotonic_ns() + drain_ns);
	(void)pthread_join(sender->thread, NULL);
	sender->is_running = false;
}

void sender_free(struct sender *sender)
{
	if (!sender)
		return;
	sender_stop(sender, 0);
	for (size_t i = 0; i < sender->options.url_count; i++)
		forward_peer_free(sender->collectors[i].peer);
	forget_suspects(sender);
	compressor_free(sender->compressor);
	waiter_deinit(&sender->waiter);
	cleanup_fd(&sender->ended_fd);
	(void)pthread_mutex_destroy(&sender->mutex);
	free(sender);
}

void sender_get_status(struct sender *sender, struct sender_status *ret_status)
{
	(void)pthread_mutex_lock(&sender->mutex);
	*ret_status = sender->status;
	(void)pthread_mutex_unlock(&sender->mutex);
}
