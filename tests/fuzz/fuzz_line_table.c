/* SPDX-License-Identifier: GPL-2.0-only */
/* An iseq's line table, of both kinds, over memory that changes while it is read. */
#include <errno.h>

#include "fuzz_memory.h"
#include "recorder/symbolize/line_table.h"

enum {
	READS_MAX = 33 + 1, /* of a list of 2^32 by halves, and the entry */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size_bytes)
{
	struct fuzz_input input = { data, size_bytes };
	struct fuzz_memory memory;
	struct memory_reader reader = fuzz_memory_reader(&memory);
	struct line_table table = { 0 };
	uint32_t position, line = UINT32_MAX;
	int r;

	table.kind = fuzz_take_u8(&input) % 4;
	table.entry_bytes = fuzz_take_u8(&input);
	fuzz_take(&input, &table.count, sizeof(table.count));
	fuzz_take(&input, &position, sizeof(position));
	table.entries = fuzz_take_u64(&input);
	table.positions = fuzz_take_u64(&input);
	fuzz_memory_init(&memory, &input);
	r = line_table_find(&reader, &table, position, &line);
	FUZZ_REQUIRE(r == 0 || r == -ENOENT || r == -EINVAL || r == -EFAULT);
	FUZZ_REQUIRE((r == 0) == (line <= INT32_MAX));
	FUZZ_REQUIRE(memory.reads <= READS_MAX);
	return 0;
}
