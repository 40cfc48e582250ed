#include "target/ruby/ruby_encoding.h"

#include "base/text.h"

/* encindex.h, unchanged from v2_7_0 to v4_0_1. */
enum ruby_encoding_index {
	ENCODING_BINARY = 0,
	ENCODING_UTF_8 = 1,
	ENCODING_US_ASCII = 2,
	ENCODING_UTF_16BE = 3,
	ENCODING_UTF_16LE = 4,
	ENCODING_UTF_32BE = 5,
	ENCODING_UTF_32LE = 6,
	ENCODING_UTF_16 = 7, /* with a byte order mark */
	ENCODING_UTF_32 = 8,
	ENCODING_UTF8_MAC = 9,
};

struct wide_input {
	const uint8_t *bytes;
	size_t size_bytes;
	size_t unit_bytes; /* 2 or 4 */
	bool is_little;
};

static uint32_t unit_at(const struct wide_input *input, size_t at)
{
	uint32_t unit = 0;

	for (size_t i = 0; i < input->unit_bytes; i++) {
		size_t byte = input->is_little ? input->unit_bytes - 1 - i : i;

		unit = unit << 8 | input->bytes[at + byte];
	}
	return unit;
}

static bool is_surrogate(uint32_t unit, uint32_t first)
{
	return unit >= first && unit < first + 0x400;
}

/*
 * Decodes the character at `at`: returns its bytes, 0 when there is none, -1 when the input ends
 * inside it.
 */
static int wide_next(const struct wide_input *input, size_t at, uint32_t *ret_code_point)
{
	size_t left = input->size_bytes - at;
	uint32_t unit, low;

	if (left < input->unit_bytes)
		return -1;
	unit = unit_at(input, at);
	if (is_surrogate(unit, 0xd800) && input->unit_bytes == 2) {
		if (left < 4)
			return -1;
		low = unit_at(input, at + 2);
		if (!is_surrogate(low, 0xdc00))
			return 0;
		*ret_code_point = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
		return 4;
	}
	if (unit > 0x10ffff || (unit >= 0xd800 && unit <= 0xdfff))
		return 0;
	*ret_code_point = unit;
	return (int)input->unit_bytes;
}

static size_t wide_text(const struct wide_input *input, size_t at, bool is_cut, char *ret_text,
			size_t text_bytes)
{
	struct text_writer writer;
	uint32_t code_point;

	text_writer_init(&writer, ret_text, text_bytes);
	while (at < input->size_bytes && !writer.is_full) {
		int length = wide_next(input, at, &code_point);
		size_t left = input->size_bytes - at;
		size_t used = length > 0 ? (size_t)length : input->unit_bytes;

		if (length < 0 && is_cut)
			break;
		used = used < left ? used : left;
		if (length > 0)
			text_writer_put_code_point(&writer, code_point);
		else
			text_writer_put_escaped(&writer, input->bytes + at, used);
		at += used;
	}
	return writer.length_bytes;
}

/* Takes the byte order from the mark and returns its bytes; without one it is big-endian. */
static size_t skip_mark(struct wide_input *input)
{
	uint32_t code_point;

	for (int is_little = 0; is_little <= 1; is_little++) {
		input->is_little = is_little;
		if (wide_next(input, 0, &code_point) > 0 && code_point == 0xfeff)
			return input->unit_bytes;
	}
	input->is_little = false;
	return 0;
}

size_t ruby_encoding_text(uint8_t encoding, const void *bytes, size_t size_bytes, bool is_cut,
			  char *ret_text, size_t text_bytes)
{
	unsigned int options = is_cut ? TEXT_CUT : 0;
	struct wide_input input = { .bytes = bytes, .size_bytes = size_bytes };
	size_t mark_bytes = 0;

	switch (encoding) {
	case ENCODING_BINARY:
	case ENCODING_UTF_8:
	case ENCODING_US_ASCII:
	case ENCODING_UTF8_MAC:
		return text_escape(bytes, size_bytes, options, ret_text, text_bytes);
	case ENCODING_UTF_16:
	case ENCODING_UTF_16BE:
	case ENCODING_UTF_16LE:
		input.unit_bytes = 2;
		break;
	case ENCODING_UTF_32:
	case ENCODING_UTF_32BE:
	case ENCODING_UTF_32LE:
		input.unit_bytes = 4;
		break;
	default:
		return text_escape(bytes, size_bytes, options | TEXT_ASCII, ret_text, text_bytes);
	}
	input.is_little = encoding == ENCODING_UTF_16LE || encoding == ENCODING_UTF_32LE;
	if (encoding == ENCODING_UTF_16 || encoding == ENCODING_UTF_32)
		mark_bytes = skip_mark(&input);
	return wide_text(&input, mark_bytes, is_cut, ret_text, text_bytes);
}
