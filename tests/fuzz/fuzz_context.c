/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel programs' reading of a context, from the state table's header to the digest of a long
 * value, compiled natively, over memory that changes between any two reads. First the layouts, the
 * keys, and the pointer.
 */
#include "bpf/native_kernel.h"

#include "context.bpf.h"
#include "fuzz_memory.h"
#include "fuzz_text.h"
#include "recorder/target/ruby/ruby_value.h"

enum {
	/* Header twice, then for each key the object, a symbol's name, each at up to three places,
	 * and the text in chunks. */
	READS_MAX = 3 + KEYS_MAX * (6 + VALUE_CHUNKS_MAX),
};

/* The second key is an attribute of the request that the first one tells from others. */
const volatile struct session_config session = { .late_keys = 1 << 1, .request_key = 1 };

static struct fuzz_memory memory;

long native_read_user(void *buffer, __u32 size_bytes, const void *address)
{
	int r = fuzz_memory_read(&memory, (uint64_t)address, buffer, size_bytes);

	if (r < 0)
		memset(buffer, 0, size_bytes);
	return r;
}

/* There are no maps: what would be counted is not. */
void *native_find(const void *map, const void *key)
{
	(void)map;
	(void)key;
	return NULL;
}

static void take_config(struct fuzz_input *input, struct process_config *config)
{
	uint8_t options = fuzz_take_u8(input);

	config->flags = PROCESS_READY;
	config->string_layout = options & 1 ? STRING_LAYOUT_LONG : STRING_LAYOUT_FLAGS;
	config->bignum_embed_mask = options & 2 ? 0x1ff : 7;
	config->key_count = 2 + (options >> 2) % (KEYS_MAX - 1);
	for (size_t i = 0; i < config->key_count; i++)
		config->key_ids[i] = fuzz_take_u8(input);
}

static void require_sound(const struct value_snapshot *value)
{
	char text[VALUE_TEXT_BYTES];
	int r = ruby_value_text(value, NULL, NULL, text);

	/* -EINVAL would be a snapshot that userspace takes for damaged. */
	FUZZ_REQUIRE(r == 0 || r == 1 || r == -ENODATA);
	FUZZ_REQUIRE((r == 1) == (r >= 0 && (value->flags & VALUE_TRUNCATED) &&
				  value->kind != VALUE_KIND_UNREADABLE));
	if (r >= 0)
		fuzz_require_clean(text, sizeof(text));
	/* What is not hashed must be the same whenever the hash is. */
	for (uint32_t i = value->length_bytes; i < (value->length_bytes + 7u) / 8 * 8; i++)
		FUZZ_REQUIRE(value->bytes[i] == 0);
}

/* Over what an earlier context has left there. */
static uint64_t resolve(struct thread_state *thread, const struct process_config *config,
			uint64_t pointer, int leftover)
{
	memset(thread, leftover, sizeof(*thread));
	thread->is_at_switch = 0;
	thread->config = *config;
	thread->life = thread->image = 1;
	thread->state_pointer = pointer;
	memory.reads = 0;
	return context_resolve(thread);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	static struct thread_state thread;
	struct fuzz_input input = { data, size_bytes };
	struct process_config config = { 0 };
	uint64_t pointer, hash, late_hash;

	take_config(&input, &config);
	pointer = fuzz_take_u64(&input);
	fuzz_memory_init(&memory, &input);
	hash = resolve(&thread, &config, pointer, 0x00);
	late_hash = thread.snapshot.late_hash;
	FUZZ_REQUIRE(hash == resolve(&thread, &config, pointer, 0xff));
	FUZZ_REQUIRE(late_hash == thread.snapshot.late_hash);
	FUZZ_REQUIRE(memory.reads <= READS_MAX);
	FUZZ_REQUIRE((hash == CONTEXT_HASH_NONE) == (pointer == 0));
	FUZZ_REQUIRE(hash >= CONTEXT_HASH_FIRST || !late_hash);
	if (hash < CONTEXT_HASH_FIRST)
		return 0;
	FUZZ_REQUIRE(thread.snapshot.key_count == config.key_count);
	for (uint32_t i = 0; i < config.key_count; i++)
		require_sound(&thread.snapshot.values[i]);
	(void)context_table_digest(&thread);
	return 0;
}
