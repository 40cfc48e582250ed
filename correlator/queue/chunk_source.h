/*
 * Where the sender gets chunks from: the backlog of a recording, or recorded files. All calls come
 * from the sender's thread.
 */
#pragma once

#include <stddef.h>

#include "queue/backlog.h"

struct chunk_source {
	void *user;
	/* The chunk to send now, the same one until it is done or deferred. 0; -EAGAIN: none yet,
	 * event_fd tells; -ENODATA: that was all; another -errno, logged: no more can be had. */
	int (*next)(void *user, struct chunk *ret_chunk);
	/* It was acked. */
	void (*done)(void *user);
	/* One entry of it that no collector takes: it is to be set aside. */
	void (*reject)(void *user, const void *entry, size_t entry_bytes);
	/* Puts it behind the others for a while: 0; -ENOENT: there are no others. NULL = cannot. */
	int (*defer)(void *user);
	int event_fd; /* readable when next is worth a try; -1 = always */
};
