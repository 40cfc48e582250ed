/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/report/html/page_code.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include <utlist.h>

#include "base/cleanup.h"
#include "reader/report/html/page_column.h"
#include "reader/report/json_part.h"

/* The frames of samples, renumbered for the page; texts have the numbers of page_names. */
struct code {
	const struct page_data *data;
	const struct frame *
		*by_number; /* by the frame's number in the recording; NULL: not in a sample */
	uint32_t *number_of; /* on the page, from 1; 0: none */
	size_t frame_count;
	struct page_names texts;
};

static void code_deinit(struct code *code)
{
	free(code->by_number);
	free(code->number_of);
	page_names_deinit(&code->texts);
}

static const struct frame *frame_of(const struct code *code, const struct page_sample *sample)
{
	return stacks_shown_frame(sample->measure,
				  sample->frame ? sample->frame : code->data->frames.unknown);
}

static void note_frames(struct code *code, const struct page_request *request)
{
	for (size_t i = 0; i < request->sample_count; i++)
		for (const struct frame *frame = frame_of(code, &request->samples[i]);
		     frame && !code->by_number[frame->number]; frame = frame->parent)
			code->by_number[frame->number] = frame;
}

static int code_init(struct code *code, const struct page_data *data)
{
	size_t all = data->frames.number_count;
	const struct page_request *request;

	*code = (struct code){ .data = data };
	page_names_init(&code->texts, FRAMES_TEXTS_MAX);
	code->by_number = (const struct frame **)calloc(all, sizeof(const struct frame *));
	code->number_of = calloc(all, sizeof(*code->number_of));
	if (!code->by_number || !code->number_of)
		return -ENOMEM;
	DL_FOREACH(data->requests, request)
		note_frames(code, request);
	note_frames(code, &data->nobody);
	for (size_t i = 0; i < all; i++)
		if (code->by_number[i])
			code->number_of[i] = (uint32_t)++code->frame_count;
	return 0;
}

static int put_text(struct code *code, struct page_column *column, const struct frames_text *text)
{
	uint32_t number = PAGE_NO_NAME;
	int r = text ? page_names_put(&code->texts,
				      (struct record_text){ text->bytes, text->size_bytes },
				      &number)
		     : 0;

	page_column_put(column, number);
	return r;
}

static int print_texts_of(struct code *code, bool is_file, FILE *out)
{
	struct page_column column;
	int r = 0;

	page_column_open(&column, is_file ? "file" : "name", out);
	for (size_t i = 0; i < code->data->frames.number_count && r == 0; i++)
		if (code->by_number[i])
			r = put_text(code, &column,
				     is_file ? code->by_number[i]->file : code->by_number[i]->name);
	page_column_close(&column);
	return r;
}

enum frame_number {
	FRAME_PARENT,
	FRAME_KIND,
	FRAME_FIRST_LINE,
	_FRAME_NUMBER_MAX,
};

static void print_frame_column(const struct code *code, enum frame_number which, FILE *out)
{
	static const char *const names[_FRAME_NUMBER_MAX] = { "parent", "kind", "first_line" };
	struct page_column column;

	page_column_open(&column, names[which], out);
	for (size_t i = 0; i < code->data->frames.number_count; i++) {
		const struct frame *frame = code->by_number[i];

		if (!frame)
			continue;
		page_column_put(&column, which == FRAME_KIND	     ? (int64_t)frame->kind
					 : which == FRAME_FIRST_LINE ? frame->first_line
					 : frame->parent ? code->number_of[frame->parent->number]
							 : 0);
	}
	page_column_close(&column);
}

static int print_frames(struct code *code, FILE *out)
{
	int r;

	(void)fprintf(out, ",\n\"frames\":{\"count\":%zu", code->frame_count);
	for (int which = 0; which < _FRAME_NUMBER_MAX; which++)
		print_frame_column(code, (enum frame_number)which, out);
	r = print_texts_of(code, false, out);
	if (r == 0)
		r = print_texts_of(code, true, out);
	(void)fputs("},\n\"kinds\":[", out);
	for (int kind = 0; kind < _FRAME_KIND_MAX; kind++)
		(void)fprintf(out, "%s\"%s\"", kind > 0 ? "," : "",
			      frame_kind_name((enum frame_kind)kind));
	(void)fputs("],\n\"texts\":[", out);
	for (size_t i = 0; i < code->texts.count && r == 0; i++)
		r = json_part_print(i > 0 ? "," : "",
				    json_part_bytes(code->texts.texts[i].bytes,
						    code->texts.texts[i].size_bytes),
				    0, out);
	(void)fputc(']', out);
	return r;
}

enum sample_number {
	SAMPLE_TIME,
	SAMPLE_GROUP,
	SAMPLE_PART,
	SAMPLE_FRAME,
	SAMPLE_SAMPLES,
	SAMPLE_STANDS_FOR,
	SAMPLE_MEASURE,
	_SAMPLE_MAX,
};

static int64_t sample_number(const struct code *code, const struct page_sample *sample, int which)
{
	const int64_t numbers[_SAMPLE_MAX] = {
		[SAMPLE_TIME] = (int64_t)page_times_find(&code->data->times, sample->wall_ns),
		[SAMPLE_GROUP] = sample->group,
		[SAMPLE_PART] = sample->part,
		[SAMPLE_FRAME] = code->number_of[frame_of(code, sample)->number],
		[SAMPLE_SAMPLES] = (int64_t)sample->samples,
		[SAMPLE_STANDS_FOR] = (int64_t)sample->stands_for_ns,
		[SAMPLE_MEASURE] = sample->measure,
	};

	return numbers[which];
}

static void put_samples(const struct code *code, const struct page_request *request, int which,
			struct page_column *column)
{
	for (size_t i = 0; i < request->sample_count; i++)
		page_column_put(column, sample_number(code, &request->samples[i], which));
}

/* A request's samples are consecutive; nobody's come last. */
static void print_samples(const struct code *code, FILE *out)
{
	static const char *const names[_SAMPLE_MAX] = {
		[SAMPLE_TIME] = "time",	      [SAMPLE_GROUP] = "group",
		[SAMPLE_PART] = "part",	      [SAMPLE_FRAME] = "frame",
		[SAMPLE_SAMPLES] = "samples", [SAMPLE_STANDS_FOR] = "stands_for",
		[SAMPLE_MEASURE] = "measure",
	};
	const struct page_request *request;
	struct page_column column;

	(void)fprintf(out, ",\n\"samples\":{\"count\":%zu", code->data->sample_count);
	page_column_open(&column, "of_request", out);
	DL_FOREACH(code->data->requests, request)
		page_column_put(&column, (int64_t)request->sample_count);
	page_column_close(&column);
	for (int which = 0; which < _SAMPLE_MAX; which++) {
		page_column_open(&column, names[which], out);
		DL_FOREACH(code->data->requests, request)
			put_samples(code, request, which, &column);
		put_samples(code, &code->data->nobody, which, &column);
		page_column_close(&column);
	}
	(void)fputc('}', out);
}

int page_code_print(const struct page_data *data, FILE *out)
{
	_cleanup_(code_deinit) struct code code = { 0 };
	int r;

	if (data->sample_count == 0)
		return 0;
	r = code_init(&code, data);
	if (r < 0)
		return r;
	(void)fprintf(out, ",\n\"code\":{\"dropped\":%" PRIu64, data->dropped_samples);
	r = print_frames(&code, out);
	print_samples(&code, out);
	(void)fputc('}', out);
	return r;
}
