/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which records are exported: each one once, of the span of time, and of what --where wants, as
 * report/ chooses them. A request is chosen as a whole: what does not say is held back until
 * another record of its request does. Bounded. Single thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "record/record_view.h"
#include "report/filter.h"
#include "report/known_records.h"
#include "report/recording.h"
#include "requests/open_requests.h"

enum {
	SELECTION_HELD_MAX = 8192 /* records, of 2 KB or so */
};

/* Takes a record that is wanted. 0, -errno. */
typedef int (*selection_fn)(void *context, const struct record_view *record);

struct selection {
	struct filter filter; /* owned */
	selection_fn take;
	void *context;
	struct recording recording;
	struct known_records known;
	struct open_requests requests;
	struct record_view *scratch; /* a record that was held back */
	uint64_t taken_count; /* of those that the filter chooses: not what tells of processes */
	size_t held_count;
	uint64_t left_out; /* were given up before their request told */
};

/* Takes the filter. 0, -ENOMEM. */
int selection_init(struct selection *selection, struct filter *filter, selection_fn take,
		   void *context);
void selection_deinit(struct selection *selection);

/* 0; -ENOMEM; or what `take` returned. */
int selection_add(struct selection *selection, const struct record_view *record);
