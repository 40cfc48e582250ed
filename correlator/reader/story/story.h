/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One request: what each of its threads did and when, and what else ran meanwhile, from the records
 * as they come, in one pass and bounded memory. Its sums are those of `report --by request_id`.
 * Owned by the subcommand; format_story.h prints it. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "reader/aggregate/totals.h"
#include "reader/profile/stacks.h"
#include "reader/query/filter.h"
#include "reader/story/story_beside.h"
#include "reader/story/story_threads.h"
#include "record/record_view.h"
#include "record/slice_view.h"

enum {
	STORY_WINDOWS_MAX = 32768, /* 6 MB: of its threads, together */
	STORY_SLICES_MAX = 262144, /* 16 MB */
	STORY_KEYS_MAX = RECORDING_KEYS_MAX,
	STORY_VALUE_BYTES = 256, /* of a key's value, escaped and cut */
	STORY_HINTS_MAX = 3,
};

/* What one of its threads did in one window: a cpu record. */
struct story_window {
	const struct story_thread *thread;
	int64_t wall_ns; /* when the window ended, */
	int64_t window_ns; /* and how long it was; 0 = not known */
	struct costs costs; /* lacks_span: it is not known when in the window */
};

/* A slice of one of its threads. */
struct story_slice {
	const struct story_thread *thread;
	struct slice_view view;
};

struct story_key {
	char name[RECORDING_TEXT_BYTES]; /* both escaped */
	char value[STORY_VALUE_BYTES]; /* the last one that is not "" */
	bool has_several; /* it had others before */
};

struct story_hint {
	char request_id[RECORDING_TEXT_BYTES]; /* escaped */
	size_t likeness; /* 0: no hint */
};

struct story {
	const char *request_id; /* as it was asked for, borrowed */
	struct totals *totals; /* borrowed: of all records */
	struct totals_listener listener; /* of them */
	bool is_left_out; /* --where does not want all of it */
	struct story_threads threads;
	struct beside beside;
	struct costs costs;
	bool is_inherited; /* some of it may be a leftover (record.h) */
	struct story_key keys[STORY_KEYS_MAX]; /* as the last record of its CPU has them */
	size_t key_count;
	struct story_window *windows; /* story_finish sorts these by when they began */
	size_t window_count;
	size_t window_room;
	struct story_slice *slices;
	size_t slice_count;
	size_t slice_room;
	int64_t first_ns; /* hull of all of them; both 0: it is not known when */
	int64_t last_ns;
	uint64_t windows_left_out; /* had no room; the sums have them */
	uint64_t slices_left_out; /* had no room, or end before they begin */
	struct stacks stacks[_STACKS_MEASURE_MAX]; /* of it alone; nothing is in those not told */
	struct story_hint hints[STORY_HINTS_MAX]; /* ids that are like it, the likest first */
};

/* totals: from totals_init, by endpoint. request_id is borrowed. */
void story_init(struct story *story, struct totals *totals, const char *request_id);
void story_deinit(struct story *story);

/* In totals_add's place: adds a record of any kind to the totals and, where those take it, to the
 * story. Returns what totals_add does. */
int story_add(struct story *story, const struct record_view *record);

/* After totals_finish. 0, -ENOMEM. */
int story_finish(struct story *story);

/* False: no record was of it, or the filter leaves it out. */
bool story_is_there(const struct story *story);
/* True: it is told by slices, to the nanosecond; false: by windows. */
bool story_has_slices(const struct story *story);
/* Its value of a key; NULL: it has none. */
const char *story_value(const struct story *story, const char *key);
/* The name of a thread's process, escaped; "" = not known. */
void story_comm(const struct story *story, const struct story_thread *thread,
		char ret_comm[static STORY_VALUE_BYTES]);
/* The requests of its endpoint, it among them; NULL: it has no endpoint. */
const struct group *story_endpoint(const struct story *story);
/* Slices of all threads that found no room, as the balance records say. */
int64_t story_slices_lost(const struct story *story);
/* Some of what ran meanwhile may be missing: there was too much of it. */
bool story_beside_is_incomplete(const struct story *story);
