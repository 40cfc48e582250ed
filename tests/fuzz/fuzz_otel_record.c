/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel programs' reading of OpenTelemetry's record, from its header to the digest of a long
 * attribute, compiled natively, over memory that changes between any two reads. First the wanted
 * keys, how many indexes are known, and the pointer.
 */
#include "bpf/native_kernel.h"

#include "fuzz_memory.h"
#include "fuzz_text.h"
#include "otel.bpf.h"
#include "recorder/target/ruby/ruby_value.h"

enum {
	READS_MAX = 2, /* the header, the attributes */
};

static struct fuzz_memory memory;

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	int r = fuzz_memory_read(&memory, (uint64_t)address, buffer, size_bytes);

	if (r < 0)
		memset(buffer, 0, size_bytes);
	return r;
}

/* There are no maps: what would be counted or published is not. */
void *native_find(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

static void take_config(struct fuzz_input *input, struct otel_config *config)
{
	config->trace_key = fuzz_take_u8(input) % (KEYS_MAX + 1);
	config->span_key = fuzz_take_u8(input) % (KEYS_MAX + 1);
	config->reads_attributes = fuzz_take_u8(input) & 1;
	config->known_indexes = fuzz_take_u8(input);
	/* A key is an ID or an attribute. */
	for (size_t i = 0; i < OTEL_INDEXES; i++) {
		uint8_t key = i % (KEYS_MAX + 1);

		config->key_of_index[i] =
			key == config->trace_key || key == config->span_key ? 0 : key;
	}
}

static void require_sound(const struct value_snapshot *value)
{
	char text[VALUE_TEXT_BYTES];
	int r = ruby_value_text(value, NULL, NULL, text);

	FUZZ_REQUIRE(r == 0 || r == 1 || r == -ENODATA);
	FUZZ_REQUIRE((r == 1) == !!(value->flags & VALUE_TRUNCATED));
	if (r >= 0)
		fuzz_require_clean(text, sizeof(text));
	for (uint32_t i = value->length_bytes; i < (value->length_bytes + 7u) / 8 * 8; i++)
		FUZZ_REQUIRE(value->bytes[i] == 0);
}

/* Over what an earlier record has left there. */
static uint64_t read_hash(struct otel_thread *otel, const struct otel_config *config,
			  uint64_t pointer, int leftover)
{
	struct thread_state *thread = calloc(1, sizeof(*thread));
	uint64_t hash = CONTEXT_HASH_UNKNOWN;

	FUZZ_REQUIRE(thread);
	memset(otel, leftover, sizeof(*otel));
	/* Never written: zero, as storage is when it is new. */
	for (size_t i = 0; i < KEYS_MAX; i++) {
		otel->values[i].type = 0;
		memset(otel->values[i].reserved, 0, sizeof(otel->values[i].reserved));
	}
	otel->config = *config;
	memory.reads = 0;
	if (otel_read_record(thread, otel, pointer) == OTEL_READING_RECORD) {
		FUZZ_REQUIRE(otel->record_bytes <= OTEL_RECORD_BYTES_MAX);
		otel_walk(thread, otel);
		hash = otel_hash(otel) ^ otel_digest(otel);
		for (size_t i = 0; i < KEYS_MAX; i++)
			require_sound(&otel->values[i]);
	}
	free(thread);
	return hash;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct otel_thread otel;
	struct fuzz_input input = { data, size_bytes };
	struct otel_config config = { .known_indexes = 0 };
	uint64_t pointer, hash;

	take_config(&input, &config);
	pointer = fuzz_take_u64(&input);
	fuzz_memory_init(&memory, &input);
	hash = read_hash(&otel, &config, pointer, 0x00);
	FUZZ_REQUIRE(hash == read_hash(&otel, &config, pointer, 0xff));
	FUZZ_REQUIRE(memory.reads <= READS_MAX);
	return 0;
}
