/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/forward/forward_message.h"

#include <assert.h>
#include <string.h>

#include "recorder/forward/wire_value.h"

struct buffer {
	uint8_t *bytes;
	size_t capacity_bytes;
	size_t size_bytes;
};

static int write_buffer(void *user, const char *bytes, size_t size_bytes)
{
	struct buffer *buffer = user;

	assert(size_bytes <= buffer->capacity_bytes - buffer->size_bytes);
	memcpy(buffer->bytes + buffer->size_bytes, bytes, size_bytes);
	buffer->size_bytes += size_bytes;
	return 0;
}

static void pack_text(msgpack_packer *packer, const char *text)
{
	(void)msgpack_pack_str_with_body(packer, text, strlen(text));
}

static size_t pack_head(struct forward_message *message, const struct forward_payload *payload)
{
	struct buffer buffer = { message->head, sizeof(message->head), 0 };
	msgpack_packer packer;

	msgpack_packer_init(&packer, &buffer, write_buffer);
	(void)msgpack_pack_array(&packer, 3);
	pack_text(&packer, payload->tag);
	(void)msgpack_pack_bin(&packer, payload->size_bytes);
	return buffer.size_bytes;
}

static size_t pack_tail(struct forward_message *message, const struct forward_payload *payload)
{
	struct buffer buffer = { message->tail, sizeof(message->tail), 0 };
	msgpack_packer packer;

	msgpack_packer_init(&packer, &buffer, write_buffer);
	(void)msgpack_pack_map(&packer, 1U + (payload->chunk_id != NULL) + payload->is_gzip);
	pack_text(&packer, "size");
	(void)msgpack_pack_uint32(&packer, payload->entries);
	if (payload->chunk_id) {
		pack_text(&packer, "chunk");
		pack_text(&packer, payload->chunk_id);
	}
	if (payload->is_gzip) {
		pack_text(&packer, "compressed");
		pack_text(&packer, "gzip");
	}
	return buffer.size_bytes;
}

void forward_message_build(struct forward_message *message, const struct forward_payload *payload)
{
	assert(strlen(payload->tag) <= FORWARD_TAG_BYTES_MAX);
	assert(payload->size_bytes <= UINT32_MAX);
	assert(!payload->chunk_id || strlen(payload->chunk_id) <= FORWARD_CHUNK_ID_BYTES_MAX);
	message->parts[0] = (struct iovec){ message->head, pack_head(message, payload) };
	message->parts[1] = (struct iovec){ (void *)payload->bytes, payload->size_bytes };
	message->parts[2] = (struct iovec){ message->tail, pack_tail(message, payload) };
}

static enum forward_reply classify(const msgpack_object *value, const char *chunk_id)
{
	const msgpack_object *ack = wire_value_field(value, "ack");

	if (ack)
		return wire_value_is(ack, chunk_id) ? FORWARD_REPLY_ACK : FORWARD_REPLY_WRONG_ACK;
	if (value->type == MSGPACK_OBJECT_MAP)
		return FORWARD_REPLY_REFUSAL;
	if (value->type == MSGPACK_OBJECT_ARRAY && value->via.array.size > 0 &&
	    wire_value_is(&value->via.array.ptr[0], "HELO"))
		return FORWARD_REPLY_HELLO;
	return FORWARD_REPLY_OTHER;
}

int forward_reply_parse(const uint8_t *bytes, size_t available_bytes, const char *chunk_id,
			enum forward_reply *ret_reply, size_t *ret_reply_bytes)
{
	msgpack_unpacked unpacked;
	int r = wire_value_decode(bytes, available_bytes, &unpacked, ret_reply_bytes);

	if (r < 0)
		return r;
	*ret_reply = classify(&unpacked.data, chunk_id);
	msgpack_unpacked_destroy(&unpacked);
	return 0;
}
