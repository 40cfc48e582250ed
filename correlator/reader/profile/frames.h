/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of a recording, by their ids, each below what called it. Their records are untrusted,
 * and may come late, twice or never: a frame that no record told of is unknown; one that is among
 * its own callers is called by something unknown; a chain has at most FRAMES_DEPTH_MAX frames, and
 * what is below them is cut. Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "record/record_view.h"

enum {
	FRAMES_MAX = 1000000, /* some 200 bytes each, and their texts: each text once */
	/* All names and files of two recordings that are compared, and "[unknown]". */
	FRAMES_TEXTS_MAX = 4 * FRAMES_MAX + 1,
	FRAMES_TEXT_BYTES_MAX = 1024, /* of a name or file, cut */
	FRAMES_TEXT_ESCAPED_BYTES =
		4 * FRAMES_TEXT_BYTES_MAX + 1, /* of one (display.h), and a NUL */
	FRAMES_DEPTH_MAX = 2048, /* of Ruby 1024; native ones and the kernel's come on top */
};

/* Any bytes, NUL-terminated, and once: texts are the same if their addresses are. */
struct frames_text {
	UT_hash_handle hh;
	size_t size_bytes;
	char bytes[];
};

enum frame_kind {
	FRAME_KIND_UNKNOWN = 0, /* also one of a later version */
	FRAME_KIND_RUBY = 1,
	FRAME_KIND_C = 2,
	FRAME_KIND_GC = 3,
	FRAME_KIND_NATIVE = 4,
	FRAME_KIND_KERNEL = 5,
	FRAME_KIND_CUT = 6,
	_FRAME_KIND_MAX,
};

struct frame {
	UT_hash_handle hh;
	struct frame *parent; /* after frames_finish without cycles; NULL: nothing called it */
	const struct frames_text *name; /* never NULL after frames_finish */
	const struct frames_text *file; /* NULL: not known */
	enum frame_kind kind;
	uint32_t line; /* these are 0 when not known */
	uint32_t first_line;
	uint32_t depth; /* after frames_finish: from 1, at most FRAMES_DEPTH_MAX */
	uint32_t number; /* in order of appearance, from 0 */
	bool is_told; /* its record came */
	char id[]; /* not NUL-terminated */
};

struct frames {
	struct frame *table; /* uthash, in order of appearance */
	struct frames_text *texts; /* uthash */
	struct frame *unknown; /* what stands for what is not there, after frames_finish */
	struct frame *cut;
	size_t count;
	size_t number_count; /* after frames_finish: with unknown and cut, which are the last two */
	size_t text_count;
	uint64_t untold_count; /* that no record told of, after frames_finish */
	uint64_t cycle_count; /* that were among their own callers */
	uint64_t left_out; /* that found no room: they are unknown */
	uint64_t seed;
};

void frames_init(struct frames *frames);
void frames_deinit(struct frames *frames);

/* Takes note of a stack record; one that is told twice is as it was told first. One without an id
 * is left out. 0, -ENOMEM. */
int frames_add(struct frames *frames, const struct record_view *record);

/* The innermost frame of a sample record, which may be told of later. NULL: there is no room, or it
 * has no id. 0, -ENOMEM. */
int frames_find_sampled(struct frames *frames, const struct record_view *record,
			struct frame **ret_frame);

/* The one copy of a text. NULL: there is no room. 0, -ENOMEM. */
int frames_text(struct frames *frames, struct record_text text,
		const struct frames_text **ret_text);

/* After the last record. 0, -ENOMEM. */
int frames_finish(struct frames *frames);

/* "ruby", "c", ... */
const char *frame_kind_name(enum frame_kind kind);
