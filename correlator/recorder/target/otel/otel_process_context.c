/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/otel/otel_process_context.h"

#include <errno.h>
#include <string.h>

/*
 * The wire format of protobuf (protobuf.dev, "Encoding"), read field by field: allocates nothing,
 * reads nothing beyond the bytes, and results point into them.
 */
enum protobuf_wire_type {
	PROTOBUF_VARINT = 0,
	PROTOBUF_FIXED64 = 1,
	PROTOBUF_BYTES = 2, /* string, bytes, a message, packed numbers */
	PROTOBUF_FIXED32 = 5,
};

struct protobuf_reader {
	const uint8_t *position;
	const uint8_t *end;
};

struct protobuf_field {
	uint32_t number;
	uint32_t wire_type; /* enum protobuf_wire_type */
	struct protobuf_reader bytes; /* contents, if PROTOBUF_BYTES */
};

enum {
	VARINT_BYTES_MAX = 10,
	WIRE_TYPE_BITS = 3,
};

#define FIELD_NUMBER_MAX ((1U << 29) - 1)

/* Field numbers, opentelemetry/proto/{common,resource}/v1 and OTEP 4719. */
enum {
	PROCESS_CONTEXT_RESOURCE = 1,
	PROCESS_CONTEXT_ATTRIBUTES = 2,
	RESOURCE_ATTRIBUTES = 1,
	KEY_VALUE_KEY = 1,
	KEY_VALUE_VALUE = 2,
	ANY_VALUE_STRING = 1,
	ANY_VALUE_ARRAY = 5,
	ARRAY_VALUE_VALUES = 1,
};

/* The parts of an AnyValue that are used here. */
struct any_value {
	struct otel_text text;
	struct protobuf_reader array; /* position NULL = no array */
};

typedef int (*key_value_fn)(struct otel_process_context *context, const struct otel_text *key,
			    const struct any_value *value);

bool otel_text_is(const struct otel_text *text, const char *string)
{
	return text->bytes && text->size_bytes == strlen(string) &&
	       memcmp(text->bytes, string, text->size_bytes) == 0;
}

bool otel_schema_is_known(const struct otel_text *version)
{
	return otel_text_is(version, "tls_v1") || otel_text_is(version, "tlsdesc_v1_dev");
}

int otel_process_header_parse(const uint8_t bytes[static OTEL_HEADER_BYTES],
			      struct otel_process_header *ret_header)
{
	static const char signature[] = "OTEL_CTX";
	struct otel_process_header header;
	uint32_t version;

	if (memcmp(bytes, signature, sizeof(signature) - 1) != 0)
		return -ENODATA;
	memcpy(&version, bytes + 8, sizeof(version));
	memcpy(&header.payload_bytes, bytes + 12, sizeof(header.payload_bytes));
	memcpy(&header.published_ns, bytes + 16, sizeof(header.published_ns));
	memcpy(&header.payload_address, bytes + 24, sizeof(header.payload_address));
	/* Checked before the version: a writer may be in the middle of the very first header. */
	if (!header.published_ns)
		return -EAGAIN;
	if (version != OTEL_HEADER_VERSION)
		return -EPROTONOSUPPORT;
	if (!header.payload_bytes || header.payload_bytes > OTEL_PAYLOAD_BYTES_MAX)
		return -EMSGSIZE;
	*ret_header = header;
	return 0;
}

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

/*
 * Reads the next field of a message. 1; 0 at the end; -EBADMSG: truncated, an invalid field number,
 * or an unknown wire type (including groups, which no current message has).
 */
static int protobuf_next(struct protobuf_reader *reader, struct protobuf_field *ret_field)
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

static struct otel_text text_of(const struct protobuf_reader *bytes)
{
	return (struct otel_text){ (const char *)bytes->position,
				   (size_t)(bytes->end - bytes->position) };
}

/* A oneof: the last value set counts. */
static int parse_any_value(struct protobuf_reader reader, struct any_value *ret_value)
{
	struct any_value value = { .text = { NULL, 0 } };
	struct protobuf_field field;
	int r;

	while ((r = protobuf_next(&reader, &field)) > 0) {
		bool is_bytes = field.wire_type == PROTOBUF_BYTES;

		memset(&value, 0, sizeof(value));
		if (field.number == ANY_VALUE_STRING && is_bytes)
			value.text = text_of(&field.bytes);
		else if (field.number == ANY_VALUE_ARRAY && is_bytes)
			value.array = field.bytes;
	}
	if (r == 0)
		*ret_value = value;
	return r;
}

static int parse_key_value(struct otel_process_context *context, struct protobuf_reader reader,
			   key_value_fn on_key_value)
{
	struct any_value value = { .text = { NULL, 0 } };
	struct otel_text key = { NULL, 0 };
	struct protobuf_field field;
	int r;

	while ((r = protobuf_next(&reader, &field)) > 0) {
		if (field.wire_type != PROTOBUF_BYTES)
			continue;
		if (field.number == KEY_VALUE_KEY)
			key = text_of(&field.bytes);
		else if (field.number == KEY_VALUE_VALUE)
			r = parse_any_value(field.bytes, &value);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : on_key_value(context, &key, &value);
}

/* An element that is not a string takes up an index, too. */
static int parse_key_map(struct otel_process_context *context, struct protobuf_reader reader)
{
	struct protobuf_field field;
	struct any_value value;
	int r;

	context->key_count = 0;
	while ((r = protobuf_next(&reader, &field)) > 0) {
		if (field.number != ARRAY_VALUE_VALUES || field.wire_type != PROTOBUF_BYTES)
			continue;
		r = parse_any_value(field.bytes, &value);
		if (r < 0)
			return r;
		if (context->key_count < OTEL_INDEXES)
			context->keys[context->key_count++] = value.text;
	}
	return r;
}

static int on_attribute(struct otel_process_context *context, const struct otel_text *key,
			const struct any_value *value)
{
	if (otel_text_is(key, "threadlocal.schema_version"))
		context->schema_version = value->text;
	else if (otel_text_is(key, "threadlocal.attribute_key_map") && value->array.position)
		return parse_key_map(context, value->array);
	return 0;
}

static int on_resource_attribute(struct otel_process_context *context, const struct otel_text *key,
				 const struct any_value *value)
{
	if (otel_text_is(key, "service.name"))
		context->service_name = value->text;
	else if (otel_text_is(key, "service.instance.id"))
		context->service_instance_id = value->text;
	else if (otel_text_is(key, "deployment.environment.name"))
		context->environment_name = value->text;
	return 0;
}

static int parse_resource(struct otel_process_context *context, struct protobuf_reader reader)
{
	struct protobuf_field field;
	int r;

	while ((r = protobuf_next(&reader, &field)) > 0) {
		if (field.number == RESOURCE_ATTRIBUTES && field.wire_type == PROTOBUF_BYTES)
			r = parse_key_value(context, field.bytes, on_resource_attribute);
		if (r < 0)
			return r;
	}
	return r;
}

int otel_process_context_parse(const void *payload, size_t size_bytes,
			       struct otel_process_context *ret_context)
{
	const uint8_t *bytes = payload;
	struct protobuf_reader reader = { bytes, bytes + size_bytes };
	struct otel_process_context context = { .key_count = 0 };
	struct protobuf_field field;
	int r;

	while ((r = protobuf_next(&reader, &field)) > 0) {
		if (field.wire_type != PROTOBUF_BYTES)
			continue;
		if (field.number == PROCESS_CONTEXT_RESOURCE)
			r = parse_resource(&context, field.bytes);
		else if (field.number == PROCESS_CONTEXT_ATTRIBUTES)
			r = parse_key_value(&context, field.bytes, on_attribute);
		if (r < 0)
			return r;
	}
	if (r == 0)
		*ret_context = context;
	return r;
}
