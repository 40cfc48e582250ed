/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a process publishes of itself as OpenTelemetry has it: first a thread's record with its
 * attributes, then the process's header and payload.
 */
#include <errno.h>

#include "fuzz.h"
#include "recorder/target/otel/otel_process_context.h"

static void walk_attributes(struct fuzz_input *input)
{
	uint8_t attributes[OTEL_ATTRIBUTES_ROOM] = { 0 };
	uint8_t key_of_index[OTEL_INDEXES];
	uint32_t known_indexes = fuzz_take_u8(input);
	uint16_t offsets[OTEL_OFFSET_SLOTS];
	uint16_t size_bytes;

	for (size_t i = 0; i < sizeof(key_of_index); i++)
		key_of_index[i] = (uint8_t)(i % (KEYS_MAX + 1));
	fuzz_take(input, &size_bytes, sizeof(size_bytes));
	fuzz_take(input, attributes,
		  size_bytes < OTEL_ATTRIBUTES_BYTES_MAX ? size_bytes : OTEL_ATTRIBUTES_BYTES_MAX);
	(void)otel_record_walk(attributes, size_bytes, key_of_index, known_indexes, offsets);
	for (size_t slot = 0; slot < OTEL_OFFSET_SLOTS; slot++) {
		uint32_t at = offsets[slot] ? offsets[slot] - 1u : 0;

		FUZZ_REQUIRE(at + OTEL_ATTRIBUTE_HEADER_BYTES <= OTEL_ATTRIBUTES_BYTES_MAX);
		FUZZ_REQUIRE(!offsets[slot] ||
			     at + OTEL_ATTRIBUTE_HEADER_BYTES + attributes[at + 1] <= size_bytes);
	}
}

static void require_inside(const struct otel_text *text, const struct fuzz_input *payload)
{
	const uint8_t *bytes = (const uint8_t *)text->bytes;

	FUZZ_REQUIRE(!bytes || (bytes >= payload->data && text->size_bytes <= payload->size_bytes &&
				bytes + text->size_bytes <= payload->data + payload->size_bytes));
}

static void parse_process(struct fuzz_input *input)
{
	uint8_t header_bytes[OTEL_HEADER_BYTES];
	struct otel_process_context context;
	struct otel_process_header header;

	fuzz_take(input, header_bytes, sizeof(header_bytes));
	if (otel_process_header_parse(header_bytes, &header) == 0)
		FUZZ_REQUIRE(header.payload_bytes > 0 &&
			     header.payload_bytes <= OTEL_PAYLOAD_BYTES_MAX);
	if (otel_process_context_parse(input->data, input->size_bytes, &context) < 0)
		return;
	require_inside(&context.schema_version, input);
	require_inside(&context.service_name, input);
	require_inside(&context.service_instance_id, input);
	require_inside(&context.environment_name, input);
	FUZZ_REQUIRE(context.key_count <= OTEL_INDEXES);
	for (size_t i = 0; i < context.key_count; i++)
		require_inside(&context.keys[i], input);
	(void)otel_schema_is_known(&context.schema_version);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };

	walk_attributes(&input);
	parse_process(&input);
	return 0;
}
