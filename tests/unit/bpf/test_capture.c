/* SPDX-License-Identifier: GPL-2.0-only */
/* How a value of a key is copied, and what reading long ones may cost: bpf/capture.bpf.h. */
#include "bpf/two_tasks.h"

#include "unit_test.h"

UNIT_TEST_ALONE;

enum {
	KEY = 300 << 4 | 1,
	T_STRING = 5,
	NOEMBED = 1 << 13,
	LONG_BYTES = VALUE_DIGEST_BYTES_MAX + 900,
	NS_PER_BYTE = 64,
	BURST_BYTES = 256 * 1024,
};

static struct thread_state *const thread = &kernel.states[0];
static struct value_snapshot *const value = &kernel.states[0].snapshot.values[0];

static int set_up(void **state)
{
	(void)begin_two_tasks(state);
	memset(digests_paid_ns, 0, sizeof(digests_paid_ns));
	thread->config.key_ids[0] = KEY;
	thread->config.key_count = 1;
	thread->header.capacity = 1;
	thread->pairs[0].key = KEY;
	/* What an earlier value has left. */
	memset(value, 0xa5, sizeof(*value));
	memset(&thread->chunk, 0xa5, sizeof(thread->chunk));
	return 0;
}

static uint64_t string(const void *text, size_t length)
{
	uint64_t address = forged_take(&memory, length);
	const uint64_t words[] = { T_STRING | NOEMBED, FORGED_BASE, length, address, 0 };

	forged_write(&memory, address, text, length);
	return forged_words(&memory, words, 5);
}

static void capture(uint64_t object)
{
	thread->pairs[0].value = object;
	assert_int_equal(capture_key(thread, &thread->config, 0), 0);
}

#define FIXTURE_TEST(test) TEST_WITH(test, set_up, NULL)

FIXTURE_TEST(capture_absent_key_clears_previous_value)
{
	thread->pairs[0].key = KEY + 16;
	capture(21);
	assert_int_equal(value->kind, VALUE_KIND_ABSENT);
	assert_int_equal(value->flags, 0);
	assert_int_equal(value->length_bytes, 0);
	assert_int_equal(value->type, 0);
	assert_int_equal(value->encoding, 0);
	assert_int_equal(value->raw, 0);
	assert_int_equal(thread->is_unread, 0);
}

/* They are hashed by words. */
FIXTURE_TEST(capture_zero_pads_last_word_of_text)
{
	char text[VALUE_BYTES_MAX];

	memset(text, 't', sizeof(text));
	for (size_t length = 1; length < sizeof(text); length++) {
		(void)set_up(state);
		capture(string(text, length));
		assert_int_equal(value->length_bytes, length);
		assert_memory_equal(value->bytes, text, length);
		for (size_t i = length; i & 7; i++)
			assert_int_equal(value->bytes[i], 0);
	}
}

FIXTURE_TEST(capture_digest_zero_pads_last_chunk)
{
	struct value_chunk chunks[2] = { 0 };
	struct context_hash_state hash;
	char text[200];

	memset(text, 't', sizeof(text));
	memcpy(chunks, text, sizeof(text));
	value_digest_init(&hash, sizeof(text));
	value_digest_add(&hash, &chunks[0]);
	value_digest_add(&hash, &chunks[1]);
	capture(string(text, sizeof(text)));
	assert_int_equal(value->flags, VALUE_TRUNCATED);
	assert_int_equal(value->raw, context_hash_final(&hash));
}

FIXTURE_TEST(capture_strips_tags_from_addresses)
{
	const uint64_t tag = UINT64_C(0x5a) << 56;
	uint64_t address = forged_take(&memory, 16);
	const uint64_t words[] = { T_STRING | NOEMBED, FORGED_BASE, 5, address | tag, 0 };

	forged_write(&memory, address, "/cart", 5);
	capture(forged_words(&memory, words, 5) | tag);
	assert_int_equal(value->length_bytes, 5);
	assert_memory_equal(value->bytes, "/cart", 5);
}

/* How many are read at switches before one is put off. */
static size_t read_at_switches(uint64_t object)
{
	size_t count = 0;

	thread->is_at_switch = 1;
	thread->is_put_off = 0;
	for (;; count++) {
		capture(object);
		if (thread->is_put_off)
			return count;
		assert_int_not_equal(value->raw, 0);
	}
}

FIXTURE_TEST(capture_at_switch_limits_long_values_by_budget)
{
	static char text[LONG_BYTES];
	uint64_t object = string(text, sizeof(text));

	assert_int_equal(read_at_switches(object), BURST_BYTES / VALUE_DIGEST_BYTES_MAX + 1);
	assert_int_equal(value->raw, 0);
	/* Elsewhere nobody waits for it. */
	thread->is_put_off = thread->is_at_switch = 0;
	capture(object);
	assert_int_equal(thread->is_put_off, 0);
	assert_int_not_equal(value->raw, 0);
	/* With time comes more. */
	kernel.now_ns += 2 * VALUE_DIGEST_BYTES_MAX * NS_PER_BYTE;
	assert_int_equal(read_at_switches(object), 2);
	/* Others have their own. */
	thread->config.family++;
	assert_int_equal(read_at_switches(object), BURST_BYTES / VALUE_DIGEST_BYTES_MAX + 1);
}

FIXTURE_TEST(capture_functions_ignore_invalid_arguments)
{
	struct context_hash_state hash;

	context_hash_init(&hash, &(struct context_hash_key){ .words = { 1, 2 } });
	assert_int_equal(capture_digest_chunk(NULL, &thread->chunk), 0);
	assert_int_equal(capture_digest_chunk(&hash, NULL), 0);
	assert_int_equal(capture_digest(NULL, value, FORGED_BASE, 200), 0);
	assert_int_equal(capture_digest(thread, NULL, FORGED_BASE, 200), 0);
	assert_int_equal(capture_find(NULL, KEY), -1);
	assert_int_equal(capture_key(NULL, &thread->config, 0), 0);
	assert_int_equal(capture_key(thread, NULL, 0), 0);
	assert_int_equal(capture_key(thread, &thread->config, KEYS_MAX), 0);
	assert_int_equal(capture_hash_key(NULL, 0, &hash), 0);
	assert_int_equal(capture_hash_key(thread, 0, NULL), 0);
	assert_int_equal(capture_late_keys(NULL, &hash), 0);
	assert_int_equal(capture_late_keys(thread, NULL), 0);
}

FIXTURE_TEST(capture_hashes_no_late_keys_without_request_key)
{
	static const uint32_t keys[] = { 0, KEYS_MAX + 1 };
	struct context_hash_state hash, before;

	native_session.late_keys = 1;
	context_hash_init(&hash, &(struct context_hash_key){ .words = { 1, 2 } });
	before = hash;
	capture(string("/cart", 5));
	for (size_t i = 0; i < 2; i++) {
		native_session.request_key = keys[i];
		assert_int_equal(capture_late_keys(thread, &hash), 0);
		assert_memory_equal(&hash, &before, sizeof(hash));
		assert_int_equal(thread->snapshot.late_hash, 0);
	}
	/* The last one that there may be: it is blank, so what is late is the context's. */
	native_session.request_key = KEYS_MAX;
	assert_int_equal(capture_late_keys(thread, &hash), 0);
	assert_memory_not_equal(&hash, &before, sizeof(hash));
}
