/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/target/otel/otel_process_context.h"

#include <errno.h>
#include <stdlib.h>

#include "unit_test.h"

#include "recorder/target/forged_otel.h"

static const char *const names[] = { "http.route", "endpoint" };

TEST(process_context_parses_all_fields)
{
	static struct forged_message message;
	static struct otel_process_context context;

	forged_process_context(&message, "tls_v1", names, 2);
	assert_int_equal(otel_process_context_parse(message.bytes, message.size_bytes, &context),
			 0);
	assert_true(otel_schema_is_known(&context.schema_version));
	assert_true(otel_text_is(&context.service_name, "shop"));
	assert_true(otel_text_is(&context.service_instance_id, "shop-7"));
	assert_true(otel_text_is(&context.environment_name, "staging"));
	assert_int_equal(context.key_count, 2);
	assert_true(otel_text_is(&context.keys[0], "http.route"));
	assert_true(otel_text_is(&context.keys[1], "endpoint"));
}

TEST(process_context_knows_only_supported_schemas)
{
	static const char *const versions[] = { "", "tls_v2", "tls_v1 ", "tls_v", "tlsdesc_v1" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct otel_text text = { versions[i], strlen(versions[i]) };

		assert_false(otel_schema_is_known(&text));
	}
	assert_false(otel_schema_is_known(&(struct otel_text){ NULL, 0 }));
	assert_true(otel_schema_is_known(&(struct otel_text){ "tlsdesc_v1_dev", 14 }));
}

TEST(process_context_rejects_truncation_within_a_part)
{
	static struct forged_message message;
	static struct otel_process_context context;
	size_t whole = 0;

	forged_process_context(&message, "tls_v1", names, 2);
	for (size_t size = 0; size < message.size_bytes; size++) {
		/* A block of its own: a read beyond it is seen by the sanitizer. */
		uint8_t *bytes = malloc(size ? size : 1);
		int r;

		assert_non_null(bytes);
		memcpy(bytes, message.bytes, size);
		r = otel_process_context_parse(bytes, size, &context);
		assert_true(r == 0 || r == -EBADMSG);
		whole += r == 0;
		free(bytes);
	}
	/* Nothing; the resource alone; that and the schema. */
	assert_int_equal(whole, 3);
}

TEST(process_context_skips_unknown_fields)
{
	static struct forged_message message, inner;
	static struct otel_process_context context;

	message.size_bytes = 0;
	forged_varint(&message, 9 << 3 | 0);
	forged_varint(&message, UINT64_MAX);
	forged_varint(&message, 10 << 3 | 1);
	for (size_t i = 0; i < 8; i++)
		forged_byte(&message, 0xff);
	forged_varint(&message, 11 << 3 | 5);
	for (size_t i = 0; i < 4; i++)
		forged_byte(&message, 0xff);
	forged_bytes_field(&message, 12, "x", 1);
	/* Fields of ours with another wire type. */
	forged_varint(&message, 1 << 3 | 0);
	forged_varint(&message, 1);
	/* An attribute without a value, and one with a number. */
	inner.size_bytes = 0;
	forged_bytes_field(&inner, 1, "threadlocal.schema_version", 26);
	forged_message_field(&message, 2, &inner);
	forged_text_attribute(&message, 2, "threadlocal.schema_version", "tls_v1");
	assert_int_equal(otel_process_context_parse(message.bytes, message.size_bytes, &context),
			 0);
	assert_true(otel_text_is(&context.schema_version, "tls_v1"));
	assert_int_equal(context.key_count, 0);
}

/* Another field of bytes, which would be damage, and each of ours as a number. */
static void add_others(struct forged_message *message)
{
	forged_bytes_field(message, 9, "\x0b", 1);
	for (uint32_t number = 1; number <= 5; number++) {
		forged_varint(message, number << 3 | 0);
		forged_varint(message, 5);
	}
}

TEST(process_context_skips_unknown_fields_in_each_part)
{
	static struct forged_message message, resource, key_value, value, map, name;
	static struct otel_process_context context;

	message.size_bytes = resource.size_bytes = key_value.size_bytes = 0;
	value.size_bytes = map.size_bytes = name.size_bytes = 0;
	add_others(&resource);
	forged_text_attribute(&resource, 1, "service.name", "shop");
	add_others(&resource);
	forged_bytes_field(&name, 1, "endpoint", 8);
	add_others(&map);
	forged_message_field(&map, 1, &name);
	add_others(&map);
	add_others(&value);
	forged_message_field(&value, 5, &map);
	forged_bytes_field(&key_value, 1, "threadlocal.attribute_key_map", 29);
	forged_message_field(&key_value, 2, &value);
	add_others(&key_value);
	add_others(&message);
	forged_message_field(&message, 1, &resource);
	forged_message_field(&message, 2, &key_value);
	add_others(&message);
	assert_int_equal(otel_process_context_parse(message.bytes, message.size_bytes, &context),
			 0);
	assert_true(otel_text_is(&context.service_name, "shop"));
	assert_int_equal(context.key_count, 1);
	assert_true(otel_text_is(&context.keys[0], "endpoint"));
}

/* As a text, and as something else. */
TEST(process_context_without_key_list_has_no_keys)
{
	static struct forged_message message, key_value, value;
	static struct otel_process_context context;

	for (uint32_t number = 1; number <= 2; number++) {
		message.size_bytes = key_value.size_bytes = value.size_bytes = 0;
		forged_bytes_field(&value, number, "\x0a\x00", 2);
		forged_bytes_field(&key_value, 1, "threadlocal.attribute_key_map", 29);
		forged_message_field(&key_value, 2, &value);
		forged_message_field(&message, 2, &key_value);
		assert_int_equal(
			otel_process_context_parse(message.bytes, message.size_bytes, &context), 0);
		assert_int_equal(context.key_count, 0);
	}
}

TEST(process_context_takes_last_of_repeated_fields)
{
	static struct forged_message message;
	static struct otel_process_context context;

	message.size_bytes = 0;
	forged_key_map(&message, names, 2);
	forged_key_map(&message, names + 1, 1);
	forged_text_attribute(&message, 2, "threadlocal.schema_version", "tls_v1");
	forged_text_attribute(&message, 2, "threadlocal.schema_version", "tls_v9");
	assert_int_equal(otel_process_context_parse(message.bytes, message.size_bytes, &context),
			 0);
	assert_int_equal(context.key_count, 1);
	assert_true(otel_text_is(&context.keys[0], "endpoint"));
	assert_false(otel_schema_is_known(&context.schema_version));
}

TEST(process_context_drops_keys_beyond_index_limit)
{
	static struct forged_message message;
	static struct otel_process_context context;
	static const char *many[OTEL_INDEXES + 44];

	for (size_t i = 0; i < sizeof(many) / sizeof(many[0]); i++)
		many[i] = i == OTEL_INDEXES - 1 ? "last" : "k";
	message.size_bytes = 0;
	forged_key_map(&message, many, sizeof(many) / sizeof(many[0]));
	assert_int_equal(otel_process_context_parse(message.bytes, message.size_bytes, &context),
			 0);
	assert_int_equal(context.key_count, OTEL_INDEXES);
	assert_true(otel_text_is(&context.keys[OTEL_INDEXES - 1], "last"));
}

TEST(process_context_rejects_damaged_bytes)
{
	static const struct {
		const char *bytes;
		size_t size_bytes;
	} cases[] = {
		{ "\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 }, /* a length of 2^64 - 1 */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 }, /* too long a number */
		{ "\x0b\x0c", 2 }, /* a group */
		{ "\x0e", 1 }, /* wire type 6 */
		{ "\x02\x00", 2 }, /* field 0 */
		{ "\x12\x02\x12\x05", 4 }, /* a value longer than what it is in */
	};
	static struct otel_process_context context;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			otel_process_context_parse(cases[i].bytes, cases[i].size_bytes, &context),
			-EBADMSG);
}

/* Damage in a part refuses the whole, whatever is good behind it. */
TEST(process_context_rejects_damaged_part_before_valid_rest)
{
	static struct forged_message message, resource, bad_value, map, value;
	static struct otel_process_context context;
	static const uint8_t damage[] = { 0x0b };

	/* In the resource; in its attribute; in an attribute; in a name; in the list of names. */
	for (int where = 0; where < 5; where++) {
		message.size_bytes = resource.size_bytes = bad_value.size_bytes = 0;
		map.size_bytes = value.size_bytes = 0;
		if (where == 0) {
			forged_bytes_field(&message, 1, damage, 1);
		} else if (where == 1) {
			forged_bytes_field(&resource, 1, damage, 1);
			forged_text_attribute(&resource, 1, "service.name", "x");
			forged_message_field(&message, 1, &resource);
		} else if (where == 2) {
			forged_bytes_field(&bad_value, 2, damage, 1);
			forged_bytes_field(&bad_value, 1, "a", 1);
			forged_message_field(&message, 2, &bad_value);
		} else {
			if (where == 3)
				forged_bytes_field(&map, 1, damage, 1);
			else
				forged_byte(&map, 0x0b);
			forged_bytes_field(&map, 1, "", 0);
			forged_message_field(&value, 5, &map);
			forged_bytes_field(&bad_value, 1, "threadlocal.attribute_key_map", 29);
			forged_message_field(&bad_value, 2, &value);
			forged_message_field(&message, 2, &bad_value);
		}
		forged_text_attribute(&message, 2, "threadlocal.schema_version", "tls_v1");
		context.key_count = 77;
		assert_int_equal(
			otel_process_context_parse(message.bytes, message.size_bytes, &context),
			-EBADMSG);
		assert_int_equal(context.key_count, 77);
	}
}

TEST(process_context_rejects_field_number_from_2_to_the_29)
{
	static struct forged_message message;
	static struct otel_process_context context;

	for (int more = 0; more < 2; more++) {
		message.size_bytes = 0;
		forged_varint(&message, (((1ULL << 29) - 1 + (uint64_t)more) << 3) | 2);
		forged_varint(&message, 0);
		assert_int_equal(
			otel_process_context_parse(message.bytes, message.size_bytes, &context),
			more ? -EBADMSG : 0);
	}
}

/* A value is one of several kinds, the last of which counts; others of the same number do not. */
TEST(process_context_ignores_value_that_is_not_text)
{
	static struct forged_message message, key_value, value;
	static struct otel_process_context context;

	for (int kind = 0; kind < 4; kind++) {
		message.size_bytes = key_value.size_bytes = value.size_bytes = 0;
		if (kind == 0) {
			forged_bytes_field(&value, 2, "x", 1);
		} else if (kind == 1) {
			forged_varint(&value, 1 << 3 | 0);
			forged_varint(&value, 5);
		} else if (kind == 2) {
			forged_bytes_field(&value, 1, "x", 1);
			forged_bytes_field(&value, 5, "", 0);
		} else {
			forged_bytes_field(&value, 5, "", 0);
			forged_bytes_field(&value, 1, "x", 1);
		}
		forged_bytes_field(&key_value, 1, "threadlocal.schema_version", 26);
		forged_message_field(&key_value, 2, &value);
		forged_message_field(&message, 2, &key_value);
		assert_int_equal(
			otel_process_context_parse(message.bytes, message.size_bytes, &context), 0);
		assert_int_equal(context.schema_version.bytes != NULL, kind == 3);
	}
}

/* Any bytes at all: a number or a refusal, and no read beyond them. */
TEST(process_context_survives_random_damage)
{
	static struct forged_message message;
	static struct otel_process_context context;
	uint32_t noise = 12345;

	for (unsigned int round = 0; round < 20000; round++) {
		size_t at;

		if (round % 100 == 0)
			forged_process_context(&message, "tls_v1", names, 2);
		noise = noise * 1664525 + 1013904223;
		at = (noise >> 8) % message.size_bytes;
		message.bytes[at] = (uint8_t)(noise >> 24);
		(void)otel_process_context_parse(message.bytes, message.size_bytes, &context);
	}
}

TEST(process_context_header_is_validated)
{
	uint8_t bytes[OTEL_HEADER_BYTES] = "OTEL_CTX\x02\0\0\0\x10\0\0\0\x01\0\0\0\0\0\0\0\0\x10";
	struct otel_process_header header;

	assert_int_equal(otel_process_header_parse(bytes, &header), 0);
	assert_int_equal(header.payload_bytes, 16);
	assert_int_equal(header.published_ns, 1);
	assert_int_equal(header.payload_address, 0x1000);
	bytes[12] = 0;
	assert_int_equal(otel_process_header_parse(bytes, &header), -EMSGSIZE);
	bytes[14] = 2; /* 128 KiB */
	assert_int_equal(otel_process_header_parse(bytes, &header), 0);
	assert_int_equal(header.payload_bytes, OTEL_PAYLOAD_BYTES_MAX);
	bytes[12] = 1;
	assert_int_equal(otel_process_header_parse(bytes, &header), -EMSGSIZE);
	bytes[12] = bytes[14] = 0;
	bytes[15] = 0xff;
	assert_int_equal(otel_process_header_parse(bytes, &header), -EMSGSIZE);
	bytes[8] = 3;
	assert_int_equal(otel_process_header_parse(bytes, &header), -EPROTONOSUPPORT);
	bytes[16] = 0;
	assert_int_equal(otel_process_header_parse(bytes, &header), -EAGAIN);
	bytes[0] = 'o';
	assert_int_equal(otel_process_header_parse(bytes, &header), -ENODATA);
}
