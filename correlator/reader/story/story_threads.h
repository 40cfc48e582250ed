/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hosts and threads of a story: those of the request, those that ran beside it, and those that
 * woke it. Bounded; threads that do not fit are NULL. Their numbers are untrusted: the table is
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
	STORY_NAME_BYTES = 64, /* a thread's name, escaped and cut */
};

struct story_host {
	char name[RECORDING_TEXT_BYTES]; /* escaped */
	bool has_span; /* the request was active on it: */
	int64_t first_ns; /* wall clock of its first and its last activity */
	int64_t last_ns;
};

/* Without padding: it is hashed and compared as bytes. */
struct story_thread_key {
	uint64_t host; /* index */
	int64_t pid;
	int64_t tid; /* 0: of no single thread */
};

struct story_thread {
	struct story_thread_key key;
	struct story_host *host;
	char name[STORY_NAME_BYTES]; /* escaped; the latest one; "" = not known */
	int64_t ns_tid; /* 0 = not known */
	uint64_t named_at; /* number of the record that named it (selection.h) */
	/* The request on this thread: */
	struct costs costs; /* record_count 0: it was not on this thread */
	uint64_t slice_count;
	int64_t fiber; /* that of its last slice with one; 0 = none */
	bool has_several_fibers; /* its slices are of several fibers */
	int64_t state_ns[_SCHED_STATE_MAX]; /* time of its slices, by state */
	UT_hash_handle hh;
};

/* Whether the thread worked for the request. */
static inline bool story_thread_is_of_request(const struct story_thread *thread)
{
	return thread->costs.record_count > 0 || thread->slice_count > 0;
}

struct story_threads {
	struct story_host hosts[STORY_HOSTS_MAX];
	size_t host_count;
	struct story_thread *table; /* uthash, in order of appearance */
	uint64_t seed;
	bool is_full; /* some host or thread did not fit */
};

void story_threads_init(struct story_threads *threads);
void story_threads_deinit(struct story_threads *threads);

/* Finds or adds the thread of a cpu or slice record; its name is that of the record with the
 * highest number (selection.h). NULL: there is no room, or the record has no pid or tid. The thread
 * lives as long as the table. 0, -ENOMEM. */
int story_threads_touch(struct story_threads *threads, const struct record_view *record,
			uint64_t number, struct story_thread **ret_thread);

/* Display order: by host, pid and tid. Returns what a qsort() comparator does. */
int story_thread_compare(const struct story_thread *a, const struct story_thread *b);

/* NULL: no record of this thread was seen. */
const struct story_thread *story_threads_find(const struct story_threads *threads,
					      const struct story_host *host, int64_t pid,
					      int64_t tid);

/* Extends the host's span: the request was active there from start_ns to end_ns. */
void story_host_extend(struct story_host *host, int64_t start_ns, int64_t end_ns);
