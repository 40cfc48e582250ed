/* SPDX-License-Identifier: GPL-2.0-only */
/* Builds protobuf as a publisher of OpenTelemetry's process context writes it, and as none would.
 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	FORGED_MESSAGE_BYTES = 16 * 1024
};

struct forged_message {
	uint8_t bytes[FORGED_MESSAGE_BYTES];
	size_t size_bytes;
};

static inline void forged_byte(struct forged_message *message, uint8_t byte)
{
	assert(message->size_bytes < FORGED_MESSAGE_BYTES);
	message->bytes[message->size_bytes++] = byte;
}

static inline void forged_varint(struct forged_message *message, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		forged_byte(message, (uint8_t)(value | 0x80));
	forged_byte(message, (uint8_t)value);
}

static inline void forged_bytes_field(struct forged_message *message, uint32_t number,
				      const void *bytes, size_t size_bytes)
{
	forged_varint(message, number << 3 | 2);
	forged_varint(message, size_bytes);
	for (size_t i = 0; i < size_bytes; i++)
		forged_byte(message, ((const uint8_t *)bytes)[i]);
}

static inline void forged_message_field(struct forged_message *message, uint32_t number,
					const struct forged_message *inner)
{
	forged_bytes_field(message, number, inner->bytes, inner->size_bytes);
}

/* KeyValue { key, value: AnyValue { string_value } } as field `number`. */
static inline void forged_text_attribute(struct forged_message *message, uint32_t number,
					 const char *key, const char *text)
{
	static struct forged_message key_value, value;

	key_value.size_bytes = value.size_bytes = 0;
	forged_bytes_field(&value, 1, text, strlen(text));
	forged_bytes_field(&key_value, 1, key, strlen(key));
	forged_message_field(&key_value, 2, &value);
	forged_message_field(message, number, &key_value);
}

/* The same with AnyValue { array_value { values: strings } }. */
static inline void forged_key_map(struct forged_message *message, const char *const *names,
				  size_t count)
{
	static struct forged_message key_value, value, array, any;
	static const char key[] = "threadlocal.attribute_key_map";

	key_value.size_bytes = value.size_bytes = array.size_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		any.size_bytes = 0;
		forged_bytes_field(&any, 1, names[i], strlen(names[i]));
		forged_message_field(&array, 1, &any);
	}
	forged_message_field(&value, 5, &array);
	forged_bytes_field(&key_value, 1, key, sizeof(key) - 1);
	forged_message_field(&key_value, 2, &value);
	forged_message_field(message, 2, &key_value);
}

/* A whole ProcessContext. */
static inline void forged_process_context(struct forged_message *message, const char *schema,
					  const char *const *names, size_t count)
{
	static struct forged_message resource;

	resource.size_bytes = message->size_bytes = 0;
	forged_text_attribute(&resource, 1, "service.name", "shop");
	forged_text_attribute(&resource, 1, "service.instance.id", "shop-7");
	forged_text_attribute(&resource, 1, "deployment.environment.name", "staging");
	forged_message_field(message, 1, &resource);
	forged_text_attribute(message, 2, "threadlocal.schema_version", schema);
	forged_key_map(message, names, count);
}
