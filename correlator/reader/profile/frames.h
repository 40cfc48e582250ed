/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The frames of a recording by id, each with its caller. Their records are untrusted, and may come
 * late, twice or never:
 *
 * - A frame without a record is unknown.
 * - A frame among its own callers is called by the unknown frame instead.
 * - A chain has at most FRAMES_DEPTH_MAX frames: the next one is called by the frame "[cut]"
 *   instead.
 *
 * Single thread; nothing here logs.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash_table.h"
#include "record/record_view.h"

enum {
	FRAMES_MAX = 1000000, /* about 200 bytes each, plus texts, each stored once */
	/* All names and files of two compared recordings, and "[unknown]". */
	FRAMES_TEXTS_MAX = 4 * FRAMES_MAX + 1,
	FRAMES_TEXT_BYTES_MAX = 1024, /* longer names and files are cut */
	FRAMES_TEXT_ESCAPED_BYTES =
		4 * FRAMES_TEXT_BYTES_MAX + 1, /* an escaped text (display.h) and a NUL */
	FRAMES_DEPTH_MAX = 2048, /* 1024 of Ruby, plus native and kernel frames */
};

/* Any bytes, NUL-terminated. Each text is stored once: equal texts have equal addresses. */
struct frames_text {
	UT_hash_handle hh;
	size_t size_bytes;
	char bytes[];
};

enum frame_kind {
	FRAME_KIND_UNKNOWN = 0, /* also a kind of a later version */
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
	struct frame *parent; /* caller; without cycles after frames_finish; NULL: outermost */
	const struct frames_text *name; /* never NULL after frames_finish */
	const struct frames_text *file; /* NULL: not known */
	enum frame_kind kind;
	uint32_t line; /* this and first_line: 0 = not known */
	uint32_t first_line;
	uint32_t depth; /* after frames_finish: from 1, at most FRAMES_DEPTH_MAX */
	uint32_t number; /* in order of appearance, from 0 */
	bool is_told; /* its stack record has come */
	char id[]; /* not NUL-terminated */
};

struct frames {
	struct frame *table; /* uthash, in order of appearance */
	struct frames_text *texts; /* uthash */
	struct frame *unknown; /* stands for missing frames; set by frames_finish */
	struct frame *cut;
	size_t count;
	size_t number_count; /* after frames_finish: count, plus unknown and cut, the last two */
	size_t text_count;
	uint64_t untold_count; /* frames without a record, after frames_finish */
	uint64_t cycle_count; /* caller cycles broken */
	uint64_t left_out; /* lookups of frames that did not fit: they are unknown */
	uint64_t seed;
};

void frames_init(struct frames *frames);
void frames_deinit(struct frames *frames);

/* Adds a stack record. The first record of a frame counts; one without an id is left out. 0,
 * -ENOMEM. */
int frames_add(struct frames *frames, const struct record_view *record);

/* The innermost frame of a sample record; its own record may come later. NULL: there is no room, or
 * it has no id. 0, -ENOMEM. */
int frames_find_sampled(struct frames *frames, const struct record_view *record,
			struct frame **ret_frame);

/* After frames_finish: the innermost frame of Ruby code in the stack that ends with the frame of an
 * id. NULL: there is none, or frames is NULL. */
const struct frame *frames_method(const struct frames *frames, struct record_text id);

/* The stored copy of a text. NULL: there is no room. 0, -ENOMEM. */
int frames_text(struct frames *frames, struct record_text text,
		const struct frames_text **ret_text);

/* After the last record. 0, -ENOMEM. */
int frames_finish(struct frames *frames);

/* "ruby", "c", ... */
const char *frame_kind_name(enum frame_kind kind);
