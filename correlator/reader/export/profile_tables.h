/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The tables to which profiles of stacks refer by number: texts, functions, and locations, which
 * are lines of functions. Each entry is written once, in the order of its number, when it is first
 * used. Texts are numbered after the format's own texts; functions and locations from 1, which
 * stands for what was not sampled. Single thread.
 */
#pragma once

#include <stdint.h>

#include "reader/export/numbering.h"
#include "reader/profile/stacks.h"

enum {
	PROFILE_NOT_SAMPLED = 1, /* number of that function and location */
	PROFILE_TEXT_EMPTY = 0, /* the first of each format's own texts */
};

/* How a format writes entries. name and file are numbers of texts. Each returns 0 or -ENOMEM. */
struct profile_format {
	int (*put_text)(void *context, const char *text);
	int (*put_function)(void *context, uint64_t function, uint64_t name, uint64_t file,
			    uint32_t first_line);
	int (*put_location)(void *context, uint64_t location, uint64_t function, uint32_t line);
	uint64_t own_text_count;
	uint64_t not_sampled; /* text with the name for what was not sampled */
};

struct profile_tables {
	const struct profile_format *format; /* borrowed, like context */
	void *context;
	struct numbering texts;
	struct numbering functions;
	struct numbering locations;
	uint64_t *location_of; /* location number by frame; 0: none yet */
};

/* 0; -ENOMEM: nothing has to be undone. */
int profile_tables_init(struct profile_tables *tables, const struct profile_format *format,
			void *context, const struct frames *frames);
void profile_tables_deinit(struct profile_tables *tables);

/* Writes the entries for what was not sampled; called before all others. 0, -ENOMEM. */
int profile_tables_begin(struct profile_tables *tables);

/* Returns the number of a text; NULL is PROFILE_TEXT_EMPTY. 0, -ENOMEM. */
int profile_tables_text(struct profile_tables *tables, const struct frames_text *text,
			uint64_t *ret_number);
/* Returns the number of a frame's location. 0, -ENOMEM. */
int profile_tables_location(struct profile_tables *tables, const struct frame *frame,
			    uint64_t *ret_number);
