/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/observe/window/window_io.h"

#include <errno.h>
#include <stdlib.h>

#include <correlator/io_counts.h>

#include "base/array.h"
#include "recorder/observe/window/row_index.h"
#include "recorder/observe/window/socket_text.h"

enum {
	PEER_BYTES = SOCKET_PATH_BYTES + 1
};

_Static_assert((int)PEER_BYTES >= (int)SOCKET_TEXT_BYTES, "has room for both");

struct window_ios {
	struct window_io_places places;
	struct window_io *ios;
	size_t count;
	size_t capacity;
};

struct window_ios *window_io_new(const struct window_io_places *places)
{
	struct window_ios *ios = calloc(1, sizeof(*ios));

	if (ios)
		ios->places = *places;
	return ios;
}

void window_io_free(struct window_ios *ios)
{
	if (ios)
		free(ios->ios);
	free(ios);
}

/* A session_io_fn. */
static int add_io(void *user, const struct io_key *key, const struct io_sums *sums)
{
	struct window_ios *ios = user;

	if (array_reserve(&ios->ios, &ios->capacity, ios->count + 1) < 0)
		return -ENOMEM;
	ios->ios[ios->count++] = (struct window_io){ .owner.key = key->account,
						     .object = key->object,
						     .sums = *sums };
	return 0;
}

/* Finds the rows that the figures were charged with. 0 or -ENOMEM. */
static int find_rows(struct window_ios *ios, const struct window *window)
{
	_cleanup_(row_index_freep) struct row_index *index = row_index_new(window);

	for (size_t i = 0; index && i < ios->count; i++)
		row_index_find_owner(index, ios->places.processes, &ios->ios[i].owner);
	return index ? 0 : -ENOMEM;
}

int window_io_settle(struct window_ios *ios, const struct window *window)
{
	int r;

	if (!ios)
		return 0;
	r = session_drain_io(ios->places.session, window->epoch, add_io, ios);
	return r < 0 ? r : find_rows(ios, window);
}

/* Names what it is on. peer: room for the name, while the record is used. */
static void name_object(const struct window_ios *ios, const struct io_object *object,
			char peer[static PEER_BYTES], struct io_record *record)
{
	static const char *const names[_IO_ON_MAX] = {
#define IO_NAME(NAME, name) [IO_ON_##NAME] = #name,
		IO_ONS(IO_NAME)
#undef IO_NAME
	};

	peer[0] = '\0';
	record->on =
		object->on > 0 && object->on < _IO_ON_MAX ? names[object->on] : names[IO_ON_OTHER];
	if (object->on == IO_ON_UNIX &&
	    !session_find_socket_path(ios->places.session, object, peer))
		peer[0] = '\0';
	if (object->on == IO_ON_TCP || object->on == IO_ON_UDP || object->on == IO_ON_DNS)
		socket_text(&object->end, peer);
	record->peer = peer[0] ? peer : NULL;
	record->is_accepted = record->peer && object->end.is_own;
}

int window_io_put(struct window_ios *ios)
{
	const struct window *window = ios ? ios->places.window : NULL;
	struct record_key keys[KEYS_MAX];
	struct io_record record;
	char peer[PEER_BYTES];
	int r = 0;

	for (size_t i = 0; ios && i < ios->count && r == 0; i++) {
		const struct window_io *io = &ios->ios[i];

		if (!io->owner.process)
			continue;
		window_io_record(window, io, keys, &record);
		name_object(ios, &io->object, peer, &record);
		r = output_add(ios->places.output, window_wall_ns(window, window->end_ktime_ns),
			       &record);
	}
	if (ios)
		ios->count = 0;
	return r;
}

/* A session_io_fn. */
static int pass_over(void *user, const struct io_key *key, const struct io_sums *sums)
{
	(void)user;
	(void)key;
	(void)sums;
	return 0;
}

void window_io_forget(struct window_ios *ios)
{
	if (!ios)
		return;
	ios->count = 0;
	/* Figures that are left there would show up in a later window. */
	(void)session_drain_io(ios->places.session, ios->places.window->epoch, pass_over, NULL);
}
