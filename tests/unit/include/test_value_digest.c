/* SPDX-License-Identifier: GPL-2.0-only */
#include <correlator/value_digest.h>

#include <string.h>

#include "unit_test.h"

enum {
	LONGEST = 3 * VALUE_DIGEST_BYTES_MAX
};

/* As the kernel does it: chunk by chunk, each in zeroed room. */
static uint64_t digest(const char *text, size_t length)
{
	struct context_hash_state state;
	struct value_chunk chunk;
	uint32_t bytes, index;
	__u64 offset;

	value_digest_init(&state, length);
	for (index = 0; (bytes = value_chunk_locate(index, length, &offset)) > 0; index++) {
		assert_true(bytes <= sizeof(chunk) && offset + bytes <= length);
		memset(&chunk, 0, sizeof(chunk));
		memcpy(&chunk, text + offset, bytes);
		value_digest_add(&state, &chunk);
	}
	assert_true(index <= VALUE_CHUNKS_MAX);
	return context_hash_final(&state);
}

TEST(value_digest_covers_every_byte_within_limit)
{
	static const size_t lengths[] = { 129, 135, 256, 257, 4095, VALUE_DIGEST_BYTES_MAX };
	char text[VALUE_DIGEST_BYTES_MAX];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		uint64_t whole = digest(text, lengths[i]);

		for (size_t at = 0; at < lengths[i]; at++) {
			text[at] = 'y';
			assert_true(digest(text, lengths[i]) != whole);
			text[at] = 'x';
		}
		assert_true(digest(text, lengths[i]) == whole);
	}
}

TEST(value_digest_covers_length_and_end_of_longer_value)
{
	static char text[LONGEST];
	uint64_t whole;

	memset(text, 'x', sizeof(text));
	whole = digest(text, LONGEST);
	assert_true(digest(text, LONGEST - 1) != whole);
	for (size_t at = LONGEST - VALUE_BYTES_MAX; at < LONGEST; at++) {
		text[at] = 'y';
		assert_true(digest(text, LONGEST) != whole);
		text[at] = 'x';
	}
	/* What is read of it is bounded. */
	text[LONGEST / 2] = 'y';
	assert_true(digest(text, LONGEST) == whole);
}

TEST(value_digest_is_stable_across_recordings)
{
	char text[200];

	memset(text, 'a', sizeof(text));
	assert_true(digest(text, sizeof(text)) == 0xd03e62b139162265ULL);
}

TEST(value_chunk_stays_inside_value)
{
	const uint64_t lengths[] = { 0, 1, 128, 129, 1ULL << 62, UINT64_MAX };
	__u64 offset = 0;

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		for (uint32_t index = 0; index < 2 * VALUE_CHUNKS_MAX; index++) {
			uint32_t bytes = value_chunk_locate(index, lengths[i], &offset);

			assert_true(bytes <= VALUE_BYTES_MAX && bytes <= lengths[i]);
			assert_true(offset <= lengths[i] - bytes);
			offset = 0;
		}
}
