/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/export/profile_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/display.h"

int profile_tables_init(struct profile_tables *tables, const struct profile_format *format,
			void *context, const struct frames *frames)
{
	*tables = (struct profile_tables){
		.format = format,
		.context = context,
		.location_of = calloc(frames->number_count, sizeof(uint64_t)),
	};
	if (!tables->location_of)
		return -ENOMEM;
	numbering_init(&tables->texts);
	numbering_init(&tables->functions);
	numbering_init(&tables->locations);
	return 0;
}

void profile_tables_deinit(struct profile_tables *tables)
{
	numbering_deinit(&tables->texts);
	numbering_deinit(&tables->functions);
	numbering_deinit(&tables->locations);
	free(tables->location_of);
}

int profile_tables_begin(struct profile_tables *tables)
{
	const struct profile_format *format = tables->format;
	int r = format->put_function(tables->context, PROFILE_NOT_SAMPLED, format->not_sampled,
				     PROFILE_TEXT_EMPTY, 0);

	return r == 0 ? format->put_location(tables->context, PROFILE_NOT_SAMPLED,
					     PROFILE_NOT_SAMPLED, 0)
		      : r;
}

int profile_tables_text(struct profile_tables *tables, const struct frames_text *text,
			uint64_t *ret_number)
{
	char escaped[FRAMES_TEXT_ESCAPED_BYTES];
	uint64_t number;
	int r;

	*ret_number = PROFILE_TEXT_EMPTY;
	if (!text)
		return 0;
	r = numbering_find(&tables->texts, &(struct numbering_key){ text, NULL, 0 }, &number);
	if (r > 0) {
		(void)display_escape(text->bytes, text->size_bytes, escaped, sizeof(escaped));
		r = tables->format->put_text(tables->context, escaped);
	}
	if (r == 0)
		*ret_number = number + tables->format->own_text_count;
	return r;
}

static int find_function(struct profile_tables *tables, const struct frame *frame,
			 uint64_t *ret_number)
{
	uint64_t number, name, file;
	int r = numbering_find(
		&tables->functions,
		&(struct numbering_key){ frame->name, frame->file, frame->first_line }, &number);

	if (r < 0)
		return r;
	*ret_number = number + PROFILE_NOT_SAMPLED + 1;
	if (r == 0)
		return 0;
	r = profile_tables_text(tables, frame->name, &name);
	if (r == 0)
		r = profile_tables_text(tables, frame->file, &file);
	return r == 0 ? tables->format->put_function(tables->context, *ret_number, name, file,
						     frame->first_line)
		      : r;
}

int profile_tables_location(struct profile_tables *tables, const struct frame *frame,
			    uint64_t *ret_number)
{
	uint64_t *known = &tables->location_of[frame->number], function, number;
	struct numbering_key key = { 0 };
	int r = 0;

	if (*known == 0) {
		r = find_function(tables, frame, &function);
		if (r < 0)
			return r;
		key.number = function << 32 | frame->line;
		r = numbering_find(&tables->locations, &key, &number);
		if (r < 0)
			return r;
		*known = number + PROFILE_NOT_SAMPLED + 1;
		r = r > 0 ? tables->format->put_location(tables->context, *known, function,
							 frame->line)
			  : 0;
	}
	*ret_number = *known;
	return r;
}
