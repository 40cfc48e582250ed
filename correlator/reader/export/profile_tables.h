/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What profiles of stacks refer to by number: texts, functions, and locations, which are lines of
 * functions. Each is put out once, in the order of its number, when it is first asked for: texts
 * after those of the format's own, functions and locations from 1 on, of which the first stand for
 * what was not sampled. Single thread.
 */
#pragma once

#include <stdint.h>

#include "reader/export/numbering.h"
#include "reader/profile/stacks.h"

enum {
	PROFILE_NOT_SAMPLED = 1, /* function and location */
	PROFILE_TEXT_EMPTY = 0, /* of each format the first of its own texts */
};

/* How a format writes them; numbers are texts' unless they say other. Each 0, -ENOMEM. */
struct profile_format {
	int (*put_text)(void *context, const char *text);
	int (*put_function)(void *context, uint64_t function, uint64_t name, uint64_t file,
			    uint32_t first_line);
	int (*put_location)(void *context, uint64_t location, uint64_t function, uint32_t line);
	uint64_t own_text_count;
	uint64_t not_sampled; /* the name of what was not */
};

struct profile_tables {
	const struct profile_format *format; /* borrowed, as its context is */
	void *context;
	struct numbering texts;
	struct numbering functions;
	struct numbering locations;
	uint64_t *location_of; /* by frame; 0: none yet */
};

/* -ENOMEM: nothing has to be undone. */
int profile_tables_init(struct profile_tables *tables, const struct profile_format *format,
			void *context, const struct frames *frames);
void profile_tables_deinit(struct profile_tables *tables);

/* Puts out what stands for what was not sampled: before all others. */
int profile_tables_begin(struct profile_tables *tables);

/* text may be NULL: PROFILE_TEXT_EMPTY. 0, -ENOMEM. */
int profile_tables_text(struct profile_tables *tables, const struct frames_text *text,
			uint64_t *ret_number);
/* 0, -ENOMEM. */
int profile_tables_location(struct profile_tables *tables, const struct frame *frame,
			    uint64_t *ret_number);
