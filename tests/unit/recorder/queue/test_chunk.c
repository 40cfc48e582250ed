/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

#include "recorder/queue/chunk.h"

static void chunk_id_is_base64_of_its_random_bytes(void **state)
{
	static const uint8_t counted[CHUNK_ID_RANDOM_BYTES] = { 0, 1, 2,  3,  4,  5,  6,  7,
								8, 9, 10, 11, 12, 13, 14, 15 };
	uint8_t ones[CHUNK_ID_RANDOM_BYTES];
	char id[CHUNK_ID_BYTES];

	(void)state;
	chunk_id_write(counted, id);
	assert_string_equal(id, "AAECAwQFBgcICQoLDA0ODw==");
	memset(ones, 0xff, sizeof(ones));
	chunk_id_write(ones, id);
	assert_string_equal(id, "/////////////////////w==");
}

static void chunk_ids_drawn_are_distinct(void **state)
{
	char ids[100][CHUNK_ID_BYTES];

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		assert_int_equal(chunk_id_draw(ids[i]), 0);
		assert_int_equal(strlen(ids[i]), CHUNK_ID_BYTES - 1);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(ids[i], ids[j]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chunk_id_is_base64_of_its_random_bytes),
		cmocka_unit_test(chunk_ids_drawn_are_distinct),
	};

	return cmocka_run_group_tests_name("chunk", tests, NULL, NULL);
}
