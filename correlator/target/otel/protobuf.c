#include "target/otel/protobuf.h"

#include <errno.h>

enum {
	VARINT_BYTES_MAX = 10,
	WIRE_TYPE_BITS = 3,
};

#define FIELD_NUMBER_MAX ((1U << 29) - 1)

static int read_varint(struct protobuf_reader *reader, uint64_t *ret_value)
{
	uint64_t value = 0;

	for (unsigned int i = 0; i < VARINT_BYTES_MAX && reader->position < reader->end; i++) {
		uint8_t byte = *reader->position++;

		value |= (uint64_t)(byte & 0x7f) << (7 * i);
		if (byte & 0x80)
			continue;
		*ret_value = value;
		return 0;
	}
	return -EBADMSG;
}

static int take(struct protobuf_reader *reader, uint64_t size_bytes,
		struct protobuf_reader *ret_bytes)
{
	if (size_bytes > (uint64_t)(reader->end - reader->position))
		return -EBADMSG;
	ret_bytes->position = reader->position;
	reader->position += size_bytes;
	ret_bytes->end = reader->position;
	return 0;
}

static int read_value(struct protobuf_reader *reader, struct protobuf_field *field)
{
	uint64_t value;
	int r;

	switch (field->wire_type) {
	case PROTOBUF_VARINT:
		return read_varint(reader, &value);
	case PROTOBUF_FIXED64:
		return take(reader, sizeof(uint64_t), &field->bytes);
	case PROTOBUF_FIXED32:
		return take(reader, sizeof(uint32_t), &field->bytes);
	case PROTOBUF_BYTES:
		r = read_varint(reader, &value);
		return r < 0 ? r : take(reader, value, &field->bytes);
	default:
		return -EBADMSG;
	}
}

int protobuf_next(struct protobuf_reader *reader, struct protobuf_field *ret_field)
{
	struct protobuf_field field = { .number = 0 };
	uint64_t tag;
	int r;

	if (reader->position >= reader->end)
		return 0;
	r = read_varint(reader, &tag);
	if (r < 0)
		return r;
	if (tag >> WIRE_TYPE_BITS == 0 || tag >> WIRE_TYPE_BITS > FIELD_NUMBER_MAX)
		return -EBADMSG;
	field.number = (uint32_t)(tag >> WIRE_TYPE_BITS);
	field.wire_type = (uint32_t)tag & ((1U << WIRE_TYPE_BITS) - 1);
	r = read_value(reader, &field);
	if (r < 0)
		return r;
	*ret_field = field;
	return 1;
}
