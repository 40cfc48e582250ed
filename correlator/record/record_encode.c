/* SPDX-License-Identifier: GPL-2.0-only */
#include "record/record_encode.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <msgpack.h>

#include "base/clock.h"
#include "base/text.h"
#include "record/check.h"
#include "record/entry_scan.h"
#include "record/record_fields.h"

enum {
	EVENT_TIME_TYPE = 0,
	EVENT_TIME_BYTES = 8,
	MAP16_MARK = 0xde,
	MAP16_BYTES = 3,
};

/* Fluent Bit uses the two largest second values to mark groups of records. */
static const uint64_t EVENT_TIME_SECONDS_MAX = UINT32_MAX - 2;

struct record_encoder {
	msgpack_sbuffer bytes;
	msgpack_packer packer;
	size_t entry_count;
	size_t checked_bytes; /* at the front, up to and including the last check */
	/* The entry under construction: */
	size_t entry_offset;
	size_t map_offset;
	uint16_t field_count;
	int error; /* the first error: 0 or -errno */
};

struct record_encoder *record_encoder_new(void)
{
	struct record_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	msgpack_sbuffer_init(&encoder->bytes);
	msgpack_packer_init(&encoder->packer, &encoder->bytes, msgpack_sbuffer_write);
	return encoder;
}

void record_encoder_free(struct record_encoder *encoder)
{
	if (!encoder)
		return;
	msgpack_sbuffer_destroy(&encoder->bytes);
	free(encoder);
}

const void *record_encoder_bytes(const struct record_encoder *encoder, size_t *ret_size_bytes)
{
	*ret_size_bytes = encoder->bytes.size;
	return encoder->bytes.size > 0 ? encoder->bytes.data : NULL;
}

size_t record_encoder_count(const struct record_encoder *encoder)
{
	return encoder->entry_count;
}

void record_encoder_cut(struct record_encoder *encoder, size_t size_bytes)
{
	const uint8_t *entries = (const uint8_t *)encoder->bytes.data;
	size_t entry_bytes;

	assert(size_bytes <= encoder->bytes.size);
	encoder->bytes.size = size_bytes;
	encoder->entry_count = encoder->checked_bytes = 0;
	for (size_t at = 0; at < size_bytes; at += entry_bytes) {
		if (entry_scan(entries + at, size_bytes - at, &entry_bytes) < 0)
			break;
		if (check_is(entries + at, entry_bytes))
			encoder->checked_bytes = at + entry_bytes;
		else
			encoder->entry_count++;
	}
}

/* Each entry reserves the bytes after it for the check (end_entry). */
void record_encoder_add_check(struct record_encoder *encoder)
{
	size_t size_bytes = encoder->bytes.size - encoder->checked_bytes;
	uint8_t *bytes;

	if (!size_bytes)
		return;
	bytes = (uint8_t *)encoder->bytes.data + encoder->checked_bytes;
	check_write(bytes, size_bytes, bytes, bytes + size_bytes);
	encoder->bytes.size += CHECK_BYTES;
	encoder->checked_bytes = encoder->bytes.size;
}

void record_encoder_reset(struct record_encoder *encoder)
{
	record_encoder_cut(encoder, 0);
}

/* The packer's callback fails only if memory runs out. */
static void note(struct record_encoder *encoder, int packed)
{
	if (packed != 0 && encoder->error == 0)
		encoder->error = -ENOMEM;
}

static void pack_text(struct record_encoder *encoder, const char *text)
{
	char clean[RECORD_STRING_BYTES_MAX + 1];
	size_t size_bytes = text_escape(text, strlen(text), 0, clean, sizeof(clean));

	note(encoder, msgpack_pack_str_with_body(&encoder->packer, clean, size_bytes));
}

static void put_name(struct record_encoder *encoder, const char *name)
{
	if (encoder->field_count == UINT16_MAX && encoder->error == 0)
		encoder->error = -EINVAL;
	encoder->field_count++;
	pack_text(encoder, name);
}

static void put_u64(struct record_encoder *encoder, const char *name, uint64_t value)
{
	put_name(encoder, name);
	note(encoder, msgpack_pack_uint64(&encoder->packer, value > INT64_MAX ? INT64_MAX : value));
}

static void put_i64(struct record_encoder *encoder, const char *name, int64_t value)
{
	put_name(encoder, name);
	note(encoder, msgpack_pack_int64(&encoder->packer, value));
}

static void put_bool(struct record_encoder *encoder, const char *name, bool value)
{
	put_name(encoder, name);
	note(encoder,
	     value ? msgpack_pack_true(&encoder->packer) : msgpack_pack_false(&encoder->packer));
}

static void put_optional_text(struct record_encoder *encoder, const char *name, const char *text)
{
	if (!text)
		return;
	put_name(encoder, name);
	pack_text(encoder, text);
}

static void put_text(struct record_encoder *encoder, const char *name, const char *text)
{
	if (!text && encoder->error == 0)
		encoder->error = -EINVAL;
	put_optional_text(encoder, name, text);
}

static void put_texts(struct record_encoder *encoder, const char *name, const char *const *texts,
		      size_t count)
{
	put_name(encoder, name);
	note(encoder, msgpack_pack_array(&encoder->packer, count));
	for (size_t i = 0; i < count; i++)
		pack_text(encoder, texts[i]);
}

static void pack_event_time(struct record_encoder *encoder, uint64_t wall_ns)
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
	note(encoder,
	     msgpack_pack_ext_with_body(&encoder->packer, bytes, sizeof(bytes), EVENT_TIME_TYPE));
}

/* The map is always a map16: its size is known only at the end, and is patched in then. */
static void begin_entry(struct record_encoder *encoder, uint64_t wall_ns)
{
	static const char map_head[MAP16_BYTES] = { (char)MAP16_MARK };

	if (encoder->bytes.size - encoder->checked_bytes >= CHECK_SPAN_BYTES)
		record_encoder_add_check(encoder);
	encoder->entry_offset = encoder->bytes.size;
	encoder->field_count = 0;
	encoder->error = 0;
	note(encoder, msgpack_pack_array(&encoder->packer, 2));
	pack_event_time(encoder, wall_ns);
	encoder->map_offset = encoder->bytes.size;
	note(encoder, msgpack_sbuffer_write(&encoder->bytes, map_head, sizeof(map_head)));
}

/* Reserves bytes after the encoded ones for a check. */
static void reserve(struct record_encoder *encoder)
{
	static const char room[CHECK_BYTES];
	size_t size_bytes = encoder->bytes.size;

	if (encoder->bytes.alloc - size_bytes >= sizeof(room))
		return;
	note(encoder, msgpack_sbuffer_write(&encoder->bytes, room, sizeof(room)));
	encoder->bytes.size = size_bytes;
}

static int end_entry(struct record_encoder *encoder)
{
	char *map_head;

	reserve(encoder);
	if (encoder->error < 0) {
		encoder->bytes.size = encoder->entry_offset;
		return encoder->error;
	}
	map_head = encoder->bytes.data + encoder->map_offset;
	map_head[1] = (char)(encoder->field_count >> 8);
	map_head[2] = (char)(encoder->field_count & 0xff);
	encoder->entry_count++;
	return 0;
}

static void put_flags(struct record_encoder *encoder, const char *name, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ CPU_RECORD_TRUNCATED, "truncated" },
		{ CPU_RECORD_INHERITED, "inherited" },
		{ CPU_RECORD_OVERFLOW, "overflow" },
		{ CPU_RECORD_UNKNOWN, "unknown" },
		{ CPU_RECORD_MIXED_THREADS, "mixed_threads" },
		{ CPU_RECORD_INHERITED_BY_EXEC, "inherited_by_exec" },
	};
	enum {
		NAME_COUNT = sizeof(names) / sizeof(names[0])
	};
	const char *set[NAME_COUNT];
	size_t set_count = 0;

	for (size_t i = 0; i < NAME_COUNT; i++) {
		if (flags & names[i].flag)
			set[set_count++] = names[i].name;
	}
	if (set_count > 0)
		put_texts(encoder, name, set, set_count);
}

static void put_counters(struct record_encoder *encoder, const uint64_t counts[_COUNTER_MAX])
{
	static const char *const names[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, kind, text) [COUNTER_##name] = field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};

	for (size_t i = 0; i < _COUNTER_MAX; i++)
		put_u64(encoder, names[i], counts[i]);
}

static void put_fill(struct record_encoder *encoder, const char *name, const struct self_fill *fill)
{
	char limit_name[32];

	if (fill->limit == 0)
		return;
	(void)snprintf(limit_name, sizeof(limit_name), "%s_max", name);
	put_u64(encoder, name, fill->used);
	put_u64(encoder, limit_name, fill->limit);
}

static void put_program(struct record_encoder *encoder, const struct self_program *program)
{
	char name[sizeof("bpf__runs") + SELF_PROGRAM_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "bpf_%s_runs", program->name);
	put_u64(encoder, name, program->run_count);
	(void)snprintf(name, sizeof(name), "bpf_%s_ns", program->name);
	put_u64(encoder, name, program->run_ns);
}

static void put_number(struct record_encoder *encoder, const struct record_field_info *field,
		       uint64_t value)
{
	if (value > 0 || field->presence != RECORD_PRESENCE_KNOWN)
		put_u64(encoder, field->name, value);
}

static void put_text_field(struct record_encoder *encoder, const struct record_field_info *field,
			   const char *text)
{
	if (field->presence == RECORD_PRESENCE_KNOWN)
		put_optional_text(encoder, field->name, text);
	else
		put_text(encoder, field->name, text);
}

static void put_fields(struct record_encoder *encoder, const struct record_kind_info *kind,
		       const void *record);

static void put_field(struct record_encoder *encoder, const struct record_field_info *field,
		      const void *member)
{
	/* A list is a pointer followed by a count (RECORD_DECLARE_TEXTS and so on). */
	const size_t *count = (const size_t *)((const char *)member + sizeof(void *));

	switch (field->type) {
	case RECORD_TYPE_U32:
		return put_number(encoder, field, *(const uint32_t *)member);
	case RECORD_TYPE_U64:
	case RECORD_TYPE_WALL:
		return put_number(encoder, field, *(const uint64_t *)member);
	case RECORD_TYPE_S64:
		if (*(const int64_t *)member != 0 || field->presence != RECORD_PRESENCE_KNOWN)
			put_i64(encoder, field->name, *(const int64_t *)member);
		return;
	case RECORD_TYPE_BOOL:
		return put_bool(encoder, field->name, *(const bool *)member);
	case RECORD_TYPE_SWITCH:
		return;
	case RECORD_TYPE_TEXT:
		return put_text_field(encoder, field, *(const char *const *)member);
	case RECORD_TYPE_EVENT:
		return put_text_field(encoder, field,
				      process_event_name(*(const enum process_event *)member));
	case RECORD_TYPE_MODE:
		return put_text_field(encoder, field,
				      watch_mode_name(*(const enum watch_mode *)member));
	case RECORD_TYPE_TEXTS:
		if (*count > 0 || field->presence != RECORD_PRESENCE_KNOWN)
			put_texts(encoder, field->name, *(const char *const *const *)member,
				  *count);
		return;
	case RECORD_TYPE_KEYS:
		for (size_t i = 0; i < *count; i++) {
			const struct record_key *key =
				*(const struct record_key *const *)member + i;

			put_optional_text(encoder, key->name, key->value);
		}
		return;
	case RECORD_TYPE_FLAGS:
		return put_flags(encoder, field->name, *(const uint32_t *)member);
	case RECORD_TYPE_COUNTERS:
		return put_counters(encoder, member);
	case RECORD_TYPE_FILL:
		return put_fill(encoder, field->name, member);
	case RECORD_TYPE_PROGRAMS:
		for (size_t i = 0; i < *count; i++)
			put_program(encoder, *(const struct self_program *const *)member + i);
		return;
	case RECORD_TYPE_DELIVERY:
		return put_fields(encoder, &record_delivery_info, member);
	}
}

static void put_fields(struct record_encoder *encoder, const struct record_kind_info *kind,
		       const void *record)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct record_field_info *field = &kind->fields[i];

		if (field->presence != RECORD_PRESENCE_IF ||
		    *(const bool *)((const char *)record + field->switch_offset))
			put_field(encoder, field, (const char *)record + field->offset);
	}
}

static bool has_good_programs(const struct self_record *record)
{
	if (record->programs_count > SELF_PROGRAMS_MAX)
		return false;
	for (size_t i = 0; i < record->programs_count; i++) {
		const char *name = record->programs[i].name;

		if (!name || strlen(name) > SELF_PROGRAM_NAME_BYTES)
			return false;
	}
	return true;
}

int record_encode_kind(struct record_encoder *encoder, enum record_kind kind, const void *record)
{
	const struct record_common *common = record; /* every record begins with it */

	if (kind == RECORD_KIND_SELF && !has_good_programs(record))
		return -EINVAL;
	begin_entry(encoder, common->wall_ns);
	put_u64(encoder, "schema", RECORD_SCHEMA);
	put_text(encoder, "kind", record_kinds[kind].name);
	put_fields(encoder, &record_common_info, common);
	put_fields(encoder, &record_kinds[kind], record);
	return end_entry(encoder);
}
