#include "record/record_encode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "record/entry.h"
#include "record/record_fields.h"

struct record_encoder {
	struct entry_buffer entries;
};

struct record_encoder *record_encoder_new(void)
{
	struct record_encoder *encoder = calloc(1, sizeof(*encoder));

	if (!encoder)
		return NULL;
	entry_buffer_init(&encoder->entries);
	return encoder;
}

void record_encoder_free(struct record_encoder *encoder)
{
	if (!encoder)
		return;
	entry_buffer_deinit(&encoder->entries);
	free(encoder);
}

const void *record_encoder_bytes(const struct record_encoder *encoder, size_t *ret_size_bytes)
{
	const msgpack_sbuffer *bytes = &encoder->entries.bytes;

	*ret_size_bytes = bytes->size;
	return bytes->size > 0 ? bytes->data : NULL;
}

size_t record_encoder_count(const struct record_encoder *encoder)
{
	return encoder->entries.entry_count;
}

void record_encoder_reset(struct record_encoder *encoder)
{
	msgpack_sbuffer_clear(&encoder->entries.bytes);
	encoder->entries.entry_count = 0;
}

static void put_flags(struct entry_buffer *entry, const char *name, uint32_t flags)
{
	static const struct {
		uint32_t flag;
		const char *name;
	} names[] = {
		{ CPU_RECORD_TRUNCATED, "truncated" },
		{ CPU_RECORD_INHERITED, "inherited" },
		{ CPU_RECORD_OVERFLOW, "overflow" },
		{ CPU_RECORD_UNKNOWN, "unknown" },
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
		entry_texts(entry, name, set, set_count);
}

static void put_counters(struct entry_buffer *entry, const uint64_t counts[_COUNTER_MAX])
{
	static const char *const names[_COUNTER_MAX] = {
#define COUNTER_FIELD(name, field, text) [COUNTER_##name] = field,
		COUNTER_LIST(COUNTER_FIELD)
#undef COUNTER_FIELD
	};

	for (size_t i = 0; i < _COUNTER_MAX; i++)
		entry_u64(entry, names[i], counts[i]);
}

static void put_fill(struct entry_buffer *entry, const char *name, const struct self_fill *fill)
{
	char limit_name[32];

	if (fill->limit == 0)
		return;
	(void)snprintf(limit_name, sizeof(limit_name), "%s_max", name);
	entry_u64(entry, name, fill->used);
	entry_u64(entry, limit_name, fill->limit);
}

static void put_program(struct entry_buffer *entry, const struct self_program *program)
{
	char name[sizeof("bpf__runs") + SELF_PROGRAM_NAME_BYTES];

	(void)snprintf(name, sizeof(name), "bpf_%s_runs", program->name);
	entry_u64(entry, name, program->run_count);
	(void)snprintf(name, sizeof(name), "bpf_%s_ns", program->name);
	entry_u64(entry, name, program->run_ns);
}

static void put_number(struct entry_buffer *entry, const struct record_field_info *field,
		       uint64_t value)
{
	if (value > 0 || field->presence != RECORD_PRESENCE_KNOWN)
		entry_u64(entry, field->name, value);
}

static void put_fields(struct entry_buffer *entry, const struct record_kind_info *kind,
		       const void *record);

static void put_field(struct entry_buffer *entry, const struct record_field_info *field,
		      const void *member)
{
	/* A list is a pointer and a count, one behind the other (RECORD_DECLARE_TEXTS and so on).
	 */
	const size_t *count = (const size_t *)((const char *)member + sizeof(void *));

	switch (field->type) {
	case RECORD_TYPE_U32:
		return put_number(entry, field, *(const uint32_t *)member);
	case RECORD_TYPE_U64:
		return put_number(entry, field, *(const uint64_t *)member);
	case RECORD_TYPE_S64:
		return entry_i64(entry, field->name, *(const int64_t *)member);
	case RECORD_TYPE_BOOL:
		return entry_bool(entry, field->name, *(const bool *)member);
	case RECORD_TYPE_SWITCH:
		return;
	case RECORD_TYPE_TEXT:
		if (field->presence == RECORD_PRESENCE_KNOWN)
			entry_optional_text(entry, field->name, *(const char *const *)member);
		else
			entry_text(entry, field->name, *(const char *const *)member);
		return;
	case RECORD_TYPE_TEXTS:
		return entry_texts(entry, field->name, *(const char *const *const *)member, *count);
	case RECORD_TYPE_KEYS:
		for (size_t i = 0; i < *count; i++) {
			const struct record_key *key =
				*(const struct record_key *const *)member + i;

			entry_optional_text(entry, key->name, key->value);
		}
		return;
	case RECORD_TYPE_FLAGS:
		return put_flags(entry, field->name, *(const uint32_t *)member);
	case RECORD_TYPE_COUNTERS:
		return put_counters(entry, member);
	case RECORD_TYPE_FILL:
		return put_fill(entry, field->name, member);
	case RECORD_TYPE_PROGRAMS:
		for (size_t i = 0; i < *count; i++)
			put_program(entry, *(const struct self_program *const *)member + i);
		return;
	case RECORD_TYPE_DELIVERY:
		return put_fields(entry, &record_delivery_info, member);
	}
}

static void put_fields(struct entry_buffer *entry, const struct record_kind_info *kind,
		       const void *record)
{
	for (size_t i = 0; i < kind->field_count; i++) {
		const struct record_field_info *field = &kind->fields[i];

		if (field->presence != RECORD_PRESENCE_IF ||
		    *(const bool *)((const char *)record + field->switch_offset))
			put_field(entry, field, (const char *)record + field->offset);
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
	struct entry_buffer *entry = &encoder->entries;
	const struct record_common *common = record; /* each begins so */

	if (kind == RECORD_KIND_SELF && !has_good_programs(record))
		return -EINVAL;
	entry_begin(entry, common->wall_ns);
	entry_u64(entry, "schema", RECORD_SCHEMA);
	entry_text(entry, "kind", record_kinds[kind].name);
	put_fields(entry, &record_common_info, common);
	put_fields(entry, &record_kinds[kind], record);
	return entry_end(entry);
}
