/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hosts and threads that a story knows by name: those of the request, those beside it, those
 * that woke it. Bounded; what finds no room is nobody. The numbers are untrusted: the table is
 * keyed with a random seed. Single thread.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "figures/costs.h"
#include "reader/query/recording.h"
#include "record/record_view.h"
#include "record/sched_state.h"

enum {
	STORY_HOSTS_MAX = 64,
	STORY_THREADS_MAX = 32768, /* about 12 MB */
	STORY_NAME_BYTES = 64, /* of a thread's name, escaped and cut */
};

struct story_host {
	char name[RECORDING_TEXT_BYTES]; /* escaped */
	bool has_span; /* the request was there: */
	int64_t first_ns; /* wall clock of its first and its last activity */
	int64_t last_ns;
};

/* Without padding: it is hashed and compared as bytes. */
struct story_thread_key {
	uint64_t host; /* index */
	int64_t pid;
	int64_t tid; /* 0: of no one thread */
};

struct story_thread {
	struct story_thread_key key;
	struct story_host *host;
	char name[STORY_NAME_BYTES]; /* escaped; the last one; "" = not known */
	int64_t ns_tid; /* 0 = not known */
	uint64_t named_at; /* the number of the record that said so (selection.h) */
	/* Of the request, on this thread: */
	struct costs costs; /* record_count 0: it was not here */
	uint64_t slice_count;
	int64_t fiber; /* of a slice; 0 = of none */
	bool has_several_fibers; /* its slices are of more than that one */
	int64_t state_ns[_SCHED_STATE_MAX]; /* of its slices */
	UT_hash_handle hh;
};

/* It worked for the request. */
static inline bool story_thread_is_of_request(const struct story_thread *thread)
{
	return thread->costs.record_count > 0 || thread->slice_count > 0;
}

struct story_threads {
	struct story_host hosts[STORY_HOSTS_MAX];
	size_t host_count;
	struct story_thread *table; /* uthash, in order of appearance */
	uint64_t seed;
	bool is_full; /* some host or thread found no room */
};

void story_threads_init(struct story_threads *threads);
void story_threads_deinit(struct story_threads *threads);

/* The thread that a cpu or slice record is of, with the name that the record of the highest number
 * (selection.h) has; NULL: there is no room, or the record does not say. It lives as long as the
 * table. 0, -ENOMEM. */
int story_threads_touch(struct story_threads *threads, const struct record_view *record,
			uint64_t number, struct story_thread **ret_thread);

/* The order that they are shown in: by host, process and number. As qsort() has it. */
int story_thread_compare(const struct story_thread *a, const struct story_thread *b);

/* NULL: no record of it was seen. */
const struct story_thread *story_threads_find(const struct story_threads *threads,
					      const struct story_host *host, int64_t pid,
					      int64_t tid);

/* The request was active there, from start to end. */
void story_host_extend(struct story_host *host, int64_t start_ns, int64_t end_ns);
