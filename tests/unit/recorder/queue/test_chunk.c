/* SPDX-License-Identifier: GPL-2.0-only */
#include <string.h>

#include "unit_test.h"

#include "recorder/queue/chunk.h"

TEST(chunk_id_is_base64_of_its_random_bytes)
{
	static const uint8_t counted[CHUNK_ID_RANDOM_BYTES] = { 0, 1, 2,  3,  4,  5,  6,  7,
								8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t ones[CHUNK_ID_RANDOM_BYTES];
	char id[CHUNK_ID_BYTES];

	chunk_id_write(counted, id);
	assert_string_equal(id, "AAECAwQFBgcICQoLDA0ODw==");
	memset(ones, 0xff, sizeof(ones));
	chunk_id_write(ones, id);
	assert_string_equal(id, "/////////////////////w==");
}

TEST(chunk_ids_drawn_are_distinct)
{
	char ids[100][CHUNK_ID_BYTES];

	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(chunk_id_draw(ids[i]), 0);
		assert_int_equal(strlen(ids[i]), CHUNK_ID_BYTES - 1);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
	}
}
