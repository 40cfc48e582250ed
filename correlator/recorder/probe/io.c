/* SPDX-License-Identifier: GPL-2.0-only */
/* Reads and writes: their two epochs, and the paths of Unix sockets. */
#include <string.h>

#include <bpf/bpf.h>

#include <correlator/io_counts.h>

#include "recorder/probe/open_session.h"

int io_open(struct session *session)
{
	const struct correlator_bpf *skeleton = session->skeleton;

	return session->options.counts_io
		       ? epochs_set(skeleton->maps.io, skeleton->maps.io_a, skeleton->maps.io_b)
		       : 0;
}

/* Receives the entries. */
struct receiver {
	session_io_fn on_io;
	void *context;
};

static int hand_over(void *user, const void *key, const void *sums)
{
	const struct receiver *receiver = user;

	return receiver->on_io(receiver->context, key, sums);
}

int session_drain_io(struct session *session, uint64_t epoch, session_io_fn on_io, void *context)
{
	struct receiver receiver = { on_io, context };
	const struct bpf_map *maps[] = { session->skeleton->maps.io_a,
					 session->skeleton->maps.io_b };
	int r;

	if (!session->options.counts_io)
		return 0;
	r = epochs_drain(session, maps[epoch & 1], hand_over, &receiver);
	/* No program adds to it until the window after the open one. */
	session->skeleton->bss->io_share[epoch & 1] = (struct share_table){ 0 };
	return r;
}

bool session_find_socket_path(const struct session *session, const struct io_object *object,
			      char ret_path[static SOCKET_PATH_BYTES + 1])
{
	struct io_path path;
	uint64_t hash;

	memcpy(&hash, object->end.address, sizeof(hash));
	if (!hash ||
	    bpf_map_lookup_elem(bpf_map__fd(session->skeleton->maps.io_paths), &hash, &path))
		return false;
	memcpy(ret_path, path.text, SOCKET_PATH_BYTES);
	ret_path[SOCKET_PATH_BYTES] = '\0';
	return true;
}
