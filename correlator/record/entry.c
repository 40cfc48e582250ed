#include "record/entry.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "record/record_encode.h"

enum {
	EVENT_TIME_TYPE = 0,
	EVENT_TIME_BYTES = 8,
	MAP16_MARK = 0xde,
	MAP16_BYTES = 3,
};

/* Fluent Bit takes the two largest second values for the marks of a group of records. */
static const uint64_t EVENT_TIME_SECONDS_MAX = UINT32_MAX - 2;

void entry_buffer_init(struct entry_buffer *buffer)
{
	*buffer = (struct entry_buffer){ 0 };
	msgpack_sbuffer_init(&buffer->bytes);
	msgpack_packer_init(&buffer->packer, &buffer->bytes, msgpack_sbuffer_write);
}

void entry_buffer_deinit(struct entry_buffer *buffer)
{
	msgpack_sbuffer_destroy(&buffer->bytes);
}

/* The packer's callback fails only for want of memory. */
static void note(struct entry_buffer *buffer, int packed)
{
	if (packed != 0 && buffer->error == 0)
		buffer->error = -ENOMEM;
}

static void pack_text(struct entry_buffer *buffer, const char *text)
{
	char clean[RECORD_STRING_BYTES_MAX + 1];
	size_t size_bytes = text_escape(text, strlen(text), 0, clean, sizeof(clean));

	note(buffer, msgpack_pack_str_with_body(&buffer->packer, clean, size_bytes));
}

static void put_name(struct entry_buffer *buffer, const char *name)
{
	if (buffer->field_count == UINT16_MAX && buffer->error == 0)
		buffer->error = -EINVAL;
	buffer->field_count++;
	pack_text(buffer, name);
}

void entry_u64(struct entry_buffer *buffer, const char *name, uint64_t value)
{
	put_name(buffer, name);
	note(buffer, msgpack_pack_uint64(&buffer->packer, value > INT64_MAX ? INT64_MAX : value));
}

void entry_i64(struct entry_buffer *buffer, const char *name, int64_t value)
{
	put_name(buffer, name);
	note(buffer, msgpack_pack_int64(&buffer->packer, value));
}

void entry_bool(struct entry_buffer *buffer, const char *name, bool value)
{
	put_name(buffer, name);
	note(buffer,
	     value ? msgpack_pack_true(&buffer->packer) : msgpack_pack_false(&buffer->packer));
}

void entry_optional_text(struct entry_buffer *buffer, const char *name, const char *text)
{
	if (!text)
		return;
	put_name(buffer, name);
	pack_text(buffer, text);
}

void entry_text(struct entry_buffer *buffer, const char *name, const char *text)
{
	if (!text && buffer->error == 0)
		buffer->error = -EINVAL;
	entry_optional_text(buffer, name, text);
}

void entry_texts(struct entry_buffer *buffer, const char *name, const char *const *texts,
		 size_t count)
{
	put_name(buffer, name);
	note(buffer, msgpack_pack_array(&buffer->packer, count));
	for (size_t i = 0; i < count; i++)
		pack_text(buffer, texts[i]);
}

static void pack_event_time(struct entry_buffer *buffer, uint64_t wall_ns)
{
	uint64_t seconds = wall_ns / NS_PER_S;
	uint64_t nanoseconds = wall_ns % NS_PER_S;
	uint8_t bytes[EVENT_TIME_BYTES];

	if (seconds > EVENT_TIME_SECONDS_MAX)
		seconds = EVENT_TIME_SECONDS_MAX;
	for (int i = 0; i < 4; i++) {
		bytes[i] = (uint8_t)(seconds >> (24 - 8 * i));
		bytes[4 + i] = (uint8_t)(nanoseconds >> (24 - 8 * i));
	}
	note(buffer,
	     msgpack_pack_ext_with_body(&buffer->packer, bytes, sizeof(bytes), EVENT_TIME_TYPE));
}

/* The map is always a map16: its size is known only at the end, and is patched in then. */
void entry_begin(struct entry_buffer *buffer, uint64_t wall_ns)
{
	static const char map_head[MAP16_BYTES] = { (char)MAP16_MARK };

	buffer->entry_offset = buffer->bytes.size;
	buffer->field_count = 0;
	buffer->error = 0;
	note(buffer, msgpack_pack_array(&buffer->packer, 2));
	pack_event_time(buffer, wall_ns);
	buffer->map_offset = buffer->bytes.size;
	note(buffer, msgpack_sbuffer_write(&buffer->bytes, map_head, sizeof(map_head)));
}

int entry_end(struct entry_buffer *buffer)
{
	char *map_head;

	if (buffer->error < 0) {
		buffer->bytes.size = buffer->entry_offset;
		return buffer->error;
	}
	map_head = buffer->bytes.data + buffer->map_offset;
	map_head[1] = (char)(buffer->field_count >> 8);
	map_head[2] = (char)(buffer->field_count & 0xff);
	buffer->entry_count++;
	return 0;
}
