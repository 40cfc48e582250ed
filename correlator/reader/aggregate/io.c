/* SPDX-License-Identifier: GPL-2.0-only */
#include "reader/aggregate/io.h"

#include <string.h>

/* A name is one of these, the kind of file up to a NUL, and the peer. */
enum {
	CONNECTED = '-',
	ACCEPTED = 'a',
};

/* The front of a text, up to a NUL. */
static struct record_text cut(struct record_text text, size_t bytes_max)
{
	if (text.size_bytes > bytes_max)
		text.size_bytes = bytes_max;
	return (struct record_text){ text.bytes, strnlen(text.bytes, text.size_bytes) };
}

static bool is_accepted(const struct record_view *record)
{
	const struct record_field *field = record_view_at(record, RECORD_PLACE(io, is_accepted));

	return field && field->value == RECORD_VALUE_BOOL && field->integer != 0;
}

static size_t write_end(const struct record_view *record, struct record_text peer,
			char ret_name[static TALLY_NAME_BYTES_MAX])
{
	struct record_text on = { "?", 1 };

	(void)record_view_text_at(record, RECORD_PLACE(io, on), &on);
	on = cut(on, TALLY_TEXT_BYTES_MAX);
	if (peer.size_bytes > TALLY_TEXT_BYTES_MAX)
		peer.size_bytes = TALLY_TEXT_BYTES_MAX;
	ret_name[0] = is_accepted(record) ? ACCEPTED : CONNECTED;
	memcpy(ret_name + 1, on.bytes, on.size_bytes);
	ret_name[1 + on.size_bytes] = '\0';
	memcpy(ret_name + 1 + on.size_bytes + 1, peer.bytes, peer.size_bytes);
	return 1 + on.size_bytes + 1 + peer.size_bytes;
}

static size_t write_name(const struct record_view *record,
			 char ret_name[static TALLY_NAME_BYTES_MAX])
{
	struct record_text peer = { "", 0 };

	(void)record_view_text_at(record, RECORD_PLACE(io, peer), &peer);
	return write_end(record, peer, ret_name);
}

/* All further peers of this kind of file. */
static size_t write_rest(const struct record_view *record,
			 char ret_name[static TALLY_NAME_BYTES_MAX])
{
	static const char others[] = "(others)";

	return write_end(record, (struct record_text){ others, sizeof(others) - 1 }, ret_name);
}

struct io_end io_end_of(const struct tally_name *name)
{
	const char *on = name->text.bytes + 1;
	size_t on_bytes = strlen(on), before_peer = 1 + on_bytes + 1;

	return (struct io_end){ { on, on_bytes },
				{ name->text.bytes + before_peer,
				  name->text.size_bytes - before_peer },
				name->text.bytes[0] == ACCEPTED };
}

const struct tally_subject io_subject = {
	.kind = RECORD_KIND_IO,
	.write_name = write_name,
	.write_rest = write_rest,
	.number_count = _IO_NUMBER_MAX,
	.places = { [IO_CALLS] = RECORD_PLACE(io, calls),
		    [IO_IN_BYTES] = RECORD_PLACE(io, in_bytes),
		    [IO_OUT_BYTES] = RECORD_PLACE(io, out_bytes),
		    [IO_CONNECTS] = RECORD_PLACE(io, connects),
		    [IO_CONNECT_NS] = RECORD_PLACE(io, connect_ns),
		    [IO_ANSWERS] = RECORD_PLACE(io, answers),
		    [IO_ANSWER_NS] = RECORD_PLACE(io, answer_ns) },
	.sort_first = IO_IN_BYTES,
	.sort_count = 2,
	.lost_field = "io_lost",
};
