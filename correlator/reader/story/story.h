/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One request: what each of its threads did and when, and what else ran at the same time. Made in
 * one pass over the records, in bounded memory. Its sums are those of `report --by request_id`.
 * Owned by the subcommand; story_view.h prints it. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/stalls.h"
#include "reader/aggregate/totals.h"
#include "reader/profile/stacks.h"
#include "reader/query/filter.h"
#include "reader/story/story_beside.h"
#include "reader/story/story_threads.h"
#include "record/record_view.h"
#include "record/slice_view.h"

enum {
	STORY_WINDOWS_MAX = 32768, /* 6 MB; all threads together */
	STORY_SLICES_MAX = 262144, /* 16 MB */
	STORY_KEYS_MAX = RECORDING_KEYS_MAX,
	STORY_VALUE_BYTES = 256, /* a key's value, escaped and cut */
	STORY_HINTS_MAX = 3,
	STORY_STALLS_MAX = 1000, /* the longest waits */
};

/* One of the request's threads in one window: a cpu record. */
struct story_window {
	const struct story_thread *thread;
	int64_t wall_ns; /* end of the window */
	int64_t window_ns; /* its length; 0 = not known */
	struct costs costs; /* lacks_span: when in the window is not known */
};

/* A slice of one of the request's threads. */
struct story_slice {
	const struct story_thread *thread;
	struct slice_view view;
};

struct story_key {
	char name[RECORDING_TEXT_BYTES]; /* this and value: escaped */
	char value[STORY_VALUE_BYTES]; /* the last one that is not empty */
	bool has_several; /* it had other values before */
};

struct story_hint {
	char request_id[RECORDING_TEXT_BYTES]; /* escaped */
	size_t likeness; /* 0: no hint */
};

struct story {
	const char *request_id; /* as given to story_init, borrowed */
	struct totals *totals; /* borrowed; over all records */
	struct totals_listener listener; /* registered with totals */
	bool is_left_out; /* --where excludes some of its records */
	struct story_threads threads;
	struct beside beside;
	struct costs costs;
	bool is_inherited; /* some of it may be a leftover (record.h) */
	struct story_key keys[STORY_KEYS_MAX]; /* the last value of each in its cpu records */
	size_t key_count;
	struct story_window *windows; /* sorted by start in story_finish */
	size_t window_count;
	size_t window_room;
	struct story_slice *slices;
	size_t slice_count;
	size_t slice_room;
	int64_t first_ns; /* wall clock, from the first start to the last end; both 0 = not known */
	int64_t last_ns;
	uint64_t windows_left_out; /* did not fit; the sums include them */
	uint64_t slices_left_out; /* did not fit, or are invalid (slice_view_read) */
	bool has_frames;
	struct stacks stacks[_STACKS_MEASURE_MAX]; /* of this request only; empty if not recorded */
	/* Its long waits, and the hogs that kept its thread meanwhile; empty if not recorded. */
	struct stalls stalls;
	struct story_hint hints[STORY_HINTS_MAX]; /* similar ids, most similar first */
};

/* totals: after totals_init, grouped by endpoint. Borrows request_id. 0, -ENOMEM; even then call
 * story_deinit. */
int story_init(struct story *story, struct totals *totals, const char *request_id);
void story_deinit(struct story *story);

/* Replaces totals_add: adds a record of any kind to the totals and, if they accept it, to the
 * story. Returns what totals_add does. */
int story_add(struct story *story, const struct record_view *record);

/* After totals_finish. 0, -ENOMEM. */
int story_finish(struct story *story);

/* Whether the filter passed any cpu record of the request. */
bool story_is_there(const struct story *story);
/* True: it consists of slices, to the nanosecond; false: of windows. */
bool story_has_slices(const struct story *story);
/* The request's value of a key, escaped; NULL: it has none. */
const char *story_value(const struct story *story, const char *key);
/* The name of a thread's process, escaped; "" = not known. */
void story_comm(const struct story *story, const struct story_thread *thread,
		char ret_comm[static STORY_VALUE_BYTES]);
/* The group of all requests of its endpoint, including itself; NULL: it has no endpoint. */
const struct group *story_endpoint(const struct story *story);
/* For how long fibers of other requests kept its thread while it was under way; 0 = not known. */
int64_t story_held_ns(const struct story *story);
/* The frames of its code; NULL: none were recorded. */
const struct frames *story_frames(const struct story *story);
/* Lost slices of all threads, from the balance records. */
int64_t story_slices_lost(const struct story *story);
/* Whether some of what ran at the same time may be missing because there was too much of it. */
bool story_beside_is_incomplete(const struct story *story);
