/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/profile/frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/random.h"

static const char *const kind_names[_FRAME_KIND_MAX] = { "unknown", "ruby",   "c",  "gc",
							 "native",  "kernel", "cut" };

const char *frame_kind_name(enum frame_kind kind)
{
	return kind_names[kind];
}

void frames_init(struct frames *frames)
{
	*frames = (struct frames){ .seed = random_seed() };
}

void frames_deinit(struct frames *frames)
{
	struct frame *frame, *next_frame;
	struct frames_text *text, *next_text;

	HASH_ITER(hh, frames->table, frame, next_frame) {
		HASH_DELETE(hh, frames->table, frame);
		free(frame);
	}
	HASH_ITER(hh, frames->texts, text, next_text) {
		HASH_DELETE(hh, frames->texts, text);
		free(text);
	}
	free(frames->unknown);
	free(frames->cut);
	*frames = (struct frames){ 0 };
}

int frames_text(struct frames *frames, struct record_text wanted,
		const struct frames_text **ret_text)
{
	size_t size_bytes = wanted.size_bytes < FRAMES_TEXT_BYTES_MAX ? wanted.size_bytes
								      : FRAMES_TEXT_BYTES_MAX;
	unsigned int hash = hash_table_key(frames->seed, wanted.bytes, size_bytes);
	struct frames_text *text;

	HASH_FIND_BYHASHVALUE(hh, frames->texts, wanted.bytes, size_bytes, hash, text);
	if (!text && frames->text_count < FRAMES_TEXTS_MAX) {
		text = malloc(sizeof(*text) + size_bytes + 1);
		if (!text)
			return -ENOMEM;
		if (size_bytes > 0)
			memcpy(text->bytes, wanted.bytes, size_bytes);
		text->bytes[size_bytes] = '\0';
		text->size_bytes = size_bytes;
		HASH_ADD_KEYPTR_BYHASHVALUE(hh, frames->texts, text->bytes, size_bytes, hash, text);
		if (!text->hh.tbl) {
			free(text);
			return -ENOMEM;
		}
		frames->text_count++;
	}
	*ret_text = text;
	return 0;
}

/* Finds or adds the frame of an id; *ret_frame as in frames_find_sampled. 0, -ENOMEM. */
static int find(struct frames *frames, struct record_text id, struct frame **ret_frame)
{
	unsigned int hash = hash_table_key(frames->seed, id.bytes, id.size_bytes);
	struct frame *frame = NULL;

	*ret_frame = NULL;
	if (id.size_bytes == 0 || id.size_bytes > FRAMES_TEXT_BYTES_MAX)
		return 0;
	HASH_FIND_BYHASHVALUE(hh, frames->table, id.bytes, id.size_bytes, hash, frame);
	if (frame) {
		*ret_frame = frame;
		return 0;
	}
	if (frames->count >= FRAMES_MAX) {
		frames->left_out++;
		return 0;
	}
	frame = calloc(1, sizeof(*frame) + id.size_bytes);
	if (!frame)
		return -ENOMEM;
	memcpy(frame->id, id.bytes, id.size_bytes);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, frames->table, frame->id, id.size_bytes, hash, frame);
	if (!frame->hh.tbl) {
		free(frame);
		return -ENOMEM;
	}
	frame->number = (uint32_t)frames->count++;
	*ret_frame = frame;
	return 0;
}

int frames_find_sampled(struct frames *frames, const struct record_view *record,
			struct frame **ret_frame)
{
	struct record_text id = { 0 };

	(void)record_view_text_at(record, RECORD_PLACE(sample, stack_id), &id);
	return find(frames, id, ret_frame);
}

const struct frame *frames_method(const struct frames *frames, struct record_text id)
{
	struct frame *frame = NULL;

	if (frames && id.size_bytes > 0)
		HASH_FIND_BYHASHVALUE(hh, frames->table, id.bytes, id.size_bytes,
				      hash_table_key(frames->seed, id.bytes, id.size_bytes), frame);
	while (frame && frame->kind != FRAME_KIND_RUBY)
		frame = frame->parent;
	return frame;
}

static enum frame_kind kind_of(const struct record_view *record)
{
	struct record_text name;

	if (!record_view_text_at(record, RECORD_PLACE(stack, frame_kind), &name))
		return FRAME_KIND_UNKNOWN;
	for (int kind = 0; kind < _FRAME_KIND_MAX; kind++)
		if (record_text_is(name, kind_names[kind]))
			return (enum frame_kind)kind;
	return FRAME_KIND_UNKNOWN;
}

static uint32_t line_of(const struct record_view *record, size_t place)
{
	int64_t line;

	if (!record_view_count_at(record, place, &line) || line > UINT32_MAX)
		return 0;
	return (uint32_t)line;
}

int frames_add(struct frames *frames, const struct record_view *record)
{
	struct record_text id, text;
	struct frame *frame, *parent = NULL;
	int r;

	if (!record_view_text_at(record, RECORD_PLACE(stack, stack_id), &id))
		return 0;
	r = find(frames, id, &frame);
	if (r < 0 || !frame || frame->is_told)
		return r;
	if (record_view_text_at(record, RECORD_PLACE(stack, parent_id), &text))
		r = find(frames, text, &parent);
	if (r == 0 && record_view_text_at(record, RECORD_PLACE(stack, name), &text) &&
	    text.size_bytes > 0)
		r = frames_text(frames, text, &frame->name);
	if (r == 0 && record_view_text_at(record, RECORD_PLACE(stack, file), &text) &&
	    text.size_bytes > 0)
		r = frames_text(frames, text, &frame->file);
	if (r < 0)
		return r;
	frame->parent = parent;
	frame->kind = kind_of(record);
	frame->line = line_of(record, RECORD_PLACE(stack, line));
	frame->first_line = line_of(record, RECORD_PLACE(stack, first_line));
	frame->is_told = true;
	return 0;
}

/* Makes a frame that has no record. 0, -ENOMEM. */
static int make(struct frames *frames, const char *name, enum frame_kind kind,
		struct frame **ret_frame)
{
	struct frame *frame = *ret_frame ? *ret_frame : calloc(1, sizeof(*frame));
	int r;

	if (!frame)
		return -ENOMEM;
	*ret_frame = frame; /* kept on failure, too: a retry reuses it */
	frame->kind = kind;
	frame->depth = 1;
	frame->number = (uint32_t)(frames->count + (kind == FRAME_KIND_CUT));
	r = frames_text(frames, (struct record_text){ name, strlen(name) }, &frame->name);
	return r == 0 && !frame->name ? -ENOMEM : r;
}

enum {
	/* Depth of a frame whose callers are being walked: no chain is this deep. */
	DEPTH_IN_WORK = UINT32_MAX
};

/* Sets the depths of a frame and its callers. path has room for all frames. */
static void settle(struct frames *frames, struct frame *frame, struct frame **path)
{
	size_t count = 0;

	for (; frame && frame->depth == 0; frame = frame->parent) {
		frame->depth = (uint32_t)DEPTH_IN_WORK;
		path[count++] = frame;
	}
	if (frame && frame->depth == (uint32_t)DEPTH_IN_WORK) {
		path[count - 1]->parent = frames->unknown;
		frames->cycle_count++;
	}
	while (count-- > 0) {
		frame = path[count];
		if (frame->parent && frame->parent->depth >= FRAMES_DEPTH_MAX)
			frame->parent = frames->cut;
		frame->depth = frame->parent ? frame->parent->depth + 1 : 1;
	}
}

int frames_finish(struct frames *frames)
{
	struct frame **path = calloc(frames->count + 1, sizeof(*path));
	struct frame *frame, *next;
	int r = path ? make(frames, "[unknown]", FRAME_KIND_UNKNOWN, &frames->unknown) : -ENOMEM;

	if (r == 0)
		r = make(frames, "[cut]", FRAME_KIND_CUT, &frames->cut);
	if (r < 0) {
		free(path);
		return r;
	}
	frames->untold_count = 0;
	HASH_ITER(hh, frames->table, frame, next) {
		frames->untold_count += !frame->is_told;
		if (!frame->name)
			frame->name = frames->unknown->name;
		settle(frames, frame, path);
	}
	free(path);
	frames->number_count = frames->cut->number + 1;
	return 0;
}
