/* A chunk on its way, and what is done about one that is refused again and again. */
#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "base/log.h"
#include "forward/sender_internal.h"

enum {
	/* A collector may be restarted under a chunk, also twice. */
	REFUSALS_MAX = 5
};

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

void sender_forget_suspects(struct sender *sender)
{
	while (sender->suspects)
		drop_suspect(sender, sender->suspects);
}

/* An ack proves to all that are being looked into that the collector takes something. */
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
	log_warning(
		"a record of %zu bytes is refused, also alone, while others are taken: set aside",
		part->size_bytes);
	sender->source.reject(sender->source.user, part->bytes, part->size_bytes);
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

/* Nothing more can be known of this one for now: the others go first, if there are any. */
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

/* A part travels as a chunk of its own. */
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
	delivery = sender_deliver(sender, &part);
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

enum delivery sender_try_chunk(struct sender *sender, const struct chunk *chunk)
{
	struct suspect *suspect = find_suspect(sender, chunk->id);
	struct poison_part rest;
	enum delivery delivery;

	if (suspect && suspect->hunt) {
		delivery = try_part(sender, suspect, chunk);
		if (poison_hunt_next(suspect->hunt, &rest))
			return delivery;
	} else {
		delivery = sender_deliver(sender, chunk);
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
