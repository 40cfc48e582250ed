/* SPDX-License-Identifier: GPL-2.0-only */
#include "recorder/queue/chunk.h"

#include <openssl/evp.h>

#include "base/random.h"

void chunk_id_write(const uint8_t random[static CHUNK_ID_RANDOM_BYTES],
		    char ret_id[static CHUNK_ID_BYTES])
{
	(void)EVP_EncodeBlock((unsigned char *)ret_id, random, CHUNK_ID_RANDOM_BYTES);
}

int chunk_id_draw(char ret_id[static CHUNK_ID_BYTES])
{
	uint8_t random[CHUNK_ID_RANDOM_BYTES];
	int r = random_bytes(random, sizeof(random));

	if (r == 0)
		chunk_id_write(random, ret_id);
	return r;
}
